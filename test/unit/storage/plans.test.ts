import Database from 'better-sqlite3'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createStepRecorder } from '../../../appliance/storage/automations/running.ts'
import { dropQueue } from '../../../appliance/storage/queue/drop.ts'
import { holdQueue, place, releaseQueue, retryQueue } from '../../../appliance/storage/queue/queue.ts'
import { createLeaseFunction, nextDue } from '../../../appliance/storage/spool/lease.ts'
import { listEmails } from '../../../appliance/storage/emails.ts'
import { countWebhookRequests } from '../../../appliance/storage/webhooks/deliveries.ts'
import { CHOICE_SQL } from '../../../appliance/storage/spool/due-queues.ts'
import { type Connection, openWriter } from '../../../appliance/storage/sqlite/connection.ts'
import { createSqliteKysely } from '../../../appliance/storage/sqlite/dialect.ts'
import { applyMigrations, shippedMigrations } from '../../../appliance/storage/sqlite/migrate.ts'
import { leaseArgs, T0 } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

const WAITING = 200_000

let db: Connection
let file: string

/** Fills the queue with 200,000 due deliveries to five destinations, 40 per email. */
function fill(): void {
  db.pragma('foreign_keys = off')
  db.exec(`
    create temp table numbers as
      with recursive n (i) as (select 0 union all select i + 1 from n where i < ${WAITING - 1}) select i from n;
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
      reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at,
      created_at) select printf('e%06d', i), 't', 'd', null, 'rest', '', '[]', '[]', '[]', '[]', '', '[]',
      '[]', '[]', '', 'back@example', 0, 'queued', null, null, 0 from numbers where i < ${WAITING / 40};
    insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at, queue,
      stream, domain, due_at, expires_at)
      select printf('e%06d', i / 40), printf('r%06d', i), 't', 'a@x', 'to', 'default', 'p' || (i % 5), 'waiting', 0, 0, 0,
      'default/p' || (i % 5) || '/t/t', 'transactional', 'x', ${T0} - ${WAITING} + i, ${T0} * 2 from numbers;
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

describe('query plans with 200,000 queued deliveries', () => {
  test.each([
    [
      'heads',
      { now: T0, most: 100 },
      ['SEARCH deliveries USING INDEX deliveries_due (stream=? AND due_at<?)'],
      ['SEARCH deliveries USING INDEX deliveries_due (stream=? AND due_at<?)'],
    ],
    [
      'queues',
      { ranges: '[]', now: T0, most: 10 },
      ['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH first USING COVERING INDEX deliveries_queue (queue>? AND queue<?)'],
      ['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH first USING COVERING INDEX deliveries_queue (queue>? AND queue<?)'],
    ],
    [
      'round',
      { after: '', last: 'z', skipped: '[]', window: 9, most: 10 },
      ['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH first USING COVERING INDEX deliveries_queue (queue>? AND queue<?)'],
      ['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH first USING COVERING INDEX deliveries_queue (queue>? AND queue<?)'],
    ],
    [
      'rows',
      { queues: '[]', now: T0, most: 10 },
      ['SEARCH deliveries USING INDEX deliveries_queue (queue=? AND due_at<?)'],
      ['SEARCH other USING COVERING INDEX sqlite_autoindex_deliveries_1 (email_id=?)'],
    ],
    [
      'siblings',
      { rows: '[]', now: T0, most: 10 },
      ['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH deliveries USING INDEX sqlite_autoindex_deliveries_1 (email_id=?)'],
    ],
  ] as const)('for leasing: %s', (name, values, ...expected) => {
    const details = plan(CHOICE_SQL[name], values)
    expect(details.filter((detail) => / (d|first|other|deliveries)\b/.test(detail))).toEqual(expected.flat())
  })

  /** Returns the query plans of all statements that a method runs. */
  async function plansOf(
    method: (db: ReturnType<typeof createSqliteKysely>) => Promise<unknown>,
  ): Promise<string[]> {
    const spoken: string[] = []
    const watched = new Database(file, { verbose: (sql) => spoken.push(String(sql)) })
    watched.exec('begin')
    await method(createSqliteKysely(watched))
    watched.exec('rollback')
    watched.close()
    return spoken.filter((sql) => !/^(begin|rollback)/.test(sql)).flatMap((sql) => plan(sql, []))
  }

  test('an index is used for the next due time, with and without closed destinations', async () => {
    const closed = ['default/p0', 'default/p1', 'default/p2', 'default/p3', 'default/p4']
    for (const details of [
      await plansOf((kysely) => nextDue(kysely, { closed: [] }, T0)),
      await plansOf((kysely) => nextDue(kysely, { closed }, T0)),
    ]) {
      expect(details.filter((detail) => detail.includes('deliveries'))).not.toHaveLength(0)
      for (const detail of details)
        expect(detail).not.toMatch(/SCAN (?!closed|queues|first|\d+-ROW VALUES|\d+ CONSTANT|CONSTANT)/)
    }
  })

  test.each([
    ['place', (kysely) => place(kysely, { domain: 'x', provider: 'p1' }, T0)],
    ['hold', (kysely) => holdQueue(kysely, { domain: 'x' }, T0)],
    ['hold everything', (kysely) => holdQueue(kysely, {}, T0)],
    ['release', (kysely) => releaseQueue(kysely, { teamId: 't' }, T0)],
    ['retry', (kysely) => retryQueue(kysely, { emailId: 'e000001' }, T0)],
    ['drop', (kysely) => dropQueue(kysely, { state: 'waiting', limit: 10 }, T0)],
  ] satisfies [string, (kysely: ReturnType<typeof createSqliteKysely>) => Promise<unknown>][])(
    'for a step of a bulk change: %s',
    async (_name, method) => {
      const details = await plansOf(method)
      expect(details.filter((detail) => detail.includes('deliveries'))).not.toHaveLength(0)
      for (const detail of details)
        expect(detail).not.toMatch(/SCAN (?!\d+-ROW VALUES|json_each)|TEMP B-TREE/)
    },
  )

  test('an index is used for a page of emails', async () => {
    const spoken: string[] = []
    const watched = new Database(file, { readonly: true, verbose: (sql) => spoken.push(String(sql)) })
    await listEmails(createSqliteKysely(watched), { teamId: 't', limit: 20, after: 'e000900' })
    watched.close()
    expect(spoken.flatMap((sql) => plan(sql, []))).toEqual([
      'SEARCH emails USING INDEX emails_team (team_id=? AND id<?)',
    ])
  })

  test('an index is used for the requests of a day to a webhook', async () => {
    const spoken: string[] = []
    const watched = new Database(file, { readonly: true, verbose: (sql) => spoken.push(String(sql)) })
    await countWebhookRequests(createSqliteKysely(watched), {
      teamId: 't',
      webhookId: 'w',
      since: T0,
      most: 10,
    })
    watched.close()
    expect(spoken.flatMap((sql) => plan(sql, []))).toEqual([
      'SEARCH webhook_attempts USING INDEX webhook_attempts_webhook (webhook_id=? AND id>?)',
    ])
  })

  test('for the email of a step of an automation', () => {
    const spoken: string[] = []
    const watched = new Database(file, { verbose: (sql) => spoken.push(String(sql)) })
    expect(createStepRecorder(watched)({ runId: 'r', key: 'k', output: {} })).toBe(false)
    watched.close()
    const details = spoken.flatMap((sql) => plan(sql, []))
    expect(details).toContain('SEARCH c USING INDEX sqlite_autoindex_contacts_1 (team_id=? AND id=?)')
    for (const detail of details) expect(detail).not.toMatch(/SCAN/)
  })

  test('a lease of 13 messages returns the oldest with the other recipients of their emails', () => {
    const leased = createLeaseFunction(db)(leaseArgs({ limit: 13 }), T0)
    expect(leased).toHaveLength(104)
    expect(new Set(leased.map(({ emailId }) => emailId))).toEqual(new Set(['e000000', 'e000001', 'e000002']))
  })

  test('a lease finds the one open destination behind four closed ones', () => {
    const room = { 'default/p0': 0, 'default/p1': 0, 'default/p2': 0, 'default/p4': 0 }
    const leased = createLeaseFunction(db)(leaseArgs({ room, limit: 300, recipients: 1, roomElse: 300 }), T0)
    expect(leased).toHaveLength(300)
    expect(new Set(leased.map(({ provider }) => provider))).toEqual(new Set(['p3']))
  })
})
