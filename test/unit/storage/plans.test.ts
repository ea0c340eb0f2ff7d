import Database from 'better-sqlite3'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { nextDue } from '../../../appliance/storage/methods/queue.ts'
import { listEmails } from '../../../appliance/storage/methods/emails.ts'
import { CHOICE_SQL } from '../../../appliance/storage/sqlite/choose.ts'
import { openWriter, type Connection } from '../../../appliance/storage/sqlite/connection.ts'
import { kyselyOn } from '../../../appliance/storage/sqlite/dialect.ts'
import { createLease } from '../../../appliance/storage/sqlite/lease.ts'
import { applyMigrations, shippedMigrations } from '../../../appliance/storage/sqlite/migrate.ts'
import { leaseArgs, T0 } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

const WAITING = 200_000

let db: Connection
let file: string

/** A queue of 200 000 deliveries in five lanes, 40 to an email, all due. */
function fill(): void {
  db.pragma('foreign_keys = off')
  db.exec(`
    create temp table numbers as
      with recursive n (i) as (select 0 union all select i + 1 from n where i < ${WAITING - 1}) select i from n;
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
      reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at,
      created_at) select printf('e%06d', i), 't', 'd', null, 'rest', '', '[]', '[]', '[]', '[]', '', '[]',
      '[]', '[]', '', 'back@example', 0, 'queued', null, null, 0 from numbers where i < ${WAITING / 40};
    insert into recipients (id, team_id, email_id, recipient, field, lane, state, attempts, cause, created_at,
      updated_at) select printf('r%06d', i), 't', printf('e%06d', i / 40), 'a@x', 'to',
      'lane' || (i % 5), 'waiting', 0, null, 0, 0 from numbers;
    insert into deliveries select printf('r%06d', i), 't', printf('e%06d', i / 40), 'lane' || (i % 5), 'x',
      ${T0} - ${WAITING} + i, null, null, 0, 0, 0, ${T0} * 2 from numbers;
  `)
}

beforeAll(async () => {
  file = join(await makePlace(), 'a.db')
  await writeFile(file, '')
  db = openWriter(file)
  applyMigrations(db, shippedMigrations())
  fill()
})

const plan = (sql: string, values: object | unknown[]): string[] =>
  (db.prepare(`explain query plan ${sql}`).all(values) as { detail: string }[]).map(({ detail }) => detail)

describe('with 200 000 deliveries waiting, finding work reads ranges of indexes only', () => {
  test.each([
    ['head', { now: T0, most: 100 }, ['SEARCH deliveries USING COVERING INDEX deliveries_due (due_at<?)']],
    ['nextLane', ['a'], ['SEARCH deliveries USING COVERING INDEX deliveries_lane (lane>?)']],
    [
      'lane',
      { lane: 'lane1', now: T0, most: 10 },
      ['SEARCH deliveries USING COVERING INDEX deliveries_lane (lane=? AND due_at<?)'],
    ],
    [
      'siblings',
      { id: 'r000001', lane: 'lane1', now: T0, most: 10 },
      [
        'SEARCH deliveries USING INDEX deliveries_email (email_id=?)',
        'SCALAR SUBQUERY 1',
        'SEARCH deliveries USING PRIMARY KEY (id=?)',
      ],
    ],
  ] as const)('lease: %s', (name, values, expected) => {
    expect(plan(CHOICE_SQL[name], values)).toEqual(expected)
  })

  test('the next due time, whether lanes are full or not', async () => {
    const spoken: string[] = []
    const watched = new Database(file, { readonly: true, verbose: (sql) => spoken.push(String(sql)) })
    await nextDue(kyselyOn(watched), { fullLanes: [] }, T0)
    await nextDue(kyselyOn(watched), { fullLanes: ['lane0', 'lane1', 'lane2', 'lane3', 'lane4'] }, T0)
    watched.close()
    const details = spoken.flatMap((sql) => plan(sql, []))
    expect(details.filter((detail) => detail.includes('deliveries'))).not.toHaveLength(0)
    for (const detail of details) {
      expect(detail).not.toMatch(/SCAN (?!deliveries USING COVERING INDEX deliveries_due|lanes|firsts)/)
    }
  })

  test('a page of emails', async () => {
    const spoken: string[] = []
    const watched = new Database(file, { readonly: true, verbose: (sql) => spoken.push(String(sql)) })
    await listEmails(kyselyOn(watched), { teamId: 't', limit: 20, after: 'e000900' })
    watched.close()
    expect(spoken.flatMap((sql) => plan(sql, []))).toEqual([
      'SEARCH emails USING INDEX emails_team (team_id=? AND id<?)',
    ])
  })

  test('a lease of a hundred takes the oldest with their siblings', () => {
    const leased = createLease(db)(leaseArgs(), T0)
    expect(leased).toHaveLength(100)
    expect(new Set(leased.map(({ emailId }) => emailId))).toEqual(new Set(['e000000', 'e000001', 'e000002']))
  })

  test('a lease finds the one lane with room behind four that are full', () => {
    const full = ['lane0', 'lane1', 'lane2', 'lane4']
    const leased = createLease(db)(leaseArgs({ fullLanes: full, limit: 300, perLane: 300 }), T0)
    expect(leased).toHaveLength(300)
    expect(new Set(leased.map(({ lane }) => lane))).toEqual(new Set(['lane3']))
  })
})
