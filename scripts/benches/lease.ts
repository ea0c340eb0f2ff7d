/** Measures how long a lease blocks the writer thread, depending on the size of the spool. Asserts nothing. */
import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatQueueName, type QueueNameParts } from '../../appliance/mail/queue.ts'
import type { LeaseArgs } from '../../appliance/storage/storage.ts'
import { holdQueue, place } from '../../appliance/storage/queue/queue.ts'
import { createLeaseFunction, nextDue } from '../../appliance/storage/spool/lease.ts'
import { createSqliteKysely } from '../../appliance/storage/sqlite/dialect.ts'
import { applyMigrations, shippedMigrations } from '../../appliance/storage/sqlite/migrate.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '200000' } } })
const ROWS = Number(values.rows)
const NOW = Date.UTC(2026, 0, 1)
const LEASES = 200

type Row = (i: number) => { queue: QueueNameParts; dueAt: number }

const queue = (provider: string, team: number, stream: QueueNameParts['stream']): QueueNameParts => ({
  pool: 'default',
  provider,
  stream,
  teamId: `0199c0de-7a10-7c3e-9b6f-${String(team).padStart(12, '0')}`,
})
const streamOf = (i: number): QueueNameParts['stream'] => (i % 4 === 0 ? 'transactional' : 'broadcast')
const due = NOW - 10_000_000

interface Scenario {
  name: string
  rows: number
  row: Row
  closed?: string[]
}

const few: Row = (i) => ({ queue: queue(`p${i % 5}`, i % 3, streamOf(i)), dueAt: due + i })
const scenarios: Scenario[] = [
  { name: `${ROWS} deliveries in 30 queues`, rows: ROWS, row: few },
  {
    name: `${ROWS} deliveries in 30 queues, four of five destinations closed`,
    rows: ROWS,
    row: few,
    closed: ['p0', 'p1', 'p2', 'p3'].map((provider) => `default/${provider}`),
  },
  {
    name: '50000 queues of one delivery, each its own destination',
    rows: 50_000,
    row: (i) => ({ queue: queue(`?d${i}.example`, i % 100, streamOf(i)), dueAt: due + i }),
  },
  {
    name: '50000 queues of one delivery, 50000 teams to one destination',
    rows: 50_000,
    row: (i) => ({ queue: queue('google', i, streamOf(i)), dueAt: due + i }),
  },
  {
    name: `${ROWS} to a closed destination, before 50000 destinations of which one is due`,
    rows: ROWS + 50_000,
    row: (i) =>
      i < ROWS
        ? { queue: queue('google', i % 3, streamOf(i)), dueAt: due + i }
        : {
            queue: queue(`?d${i}.example`, 1, 'broadcast'),
            dueAt: i === ROWS + 20_000 ? NOW - 1 : NOW + 60_000,
          },
    closed: ['default/google'],
  },
]

function fill(db: Database.Database, { rows, row }: Scenario): void {
  const email = db.prepare(`
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header, reply_to,
      subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at, created_at)
    values (?, 't', 'd', null, 'rest', '', '[]', '[]', '[]', '[]', '', '[]', '[]', '[]', '', '', 0, 'sent', null, 1, 0)`)
  const delivery = db.prepare(`
    insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at,
      queue, stream, domain, due_at, expires_at)
    values (?, ?, ?, 'a@x', 'to', ?, ?, 'waiting', 0, 0, 0, ?, ?, ?, ?, 0)`)
  db.transaction(() => {
    for (let i = 0; i < rows; i++) {
      const { queue: name, dueAt } = row(i)
      // Spreads IDs like random ones within a millisecond, so that neighbors in a queue aren't neighbors on disk.
      const id = `0199c0de-7a10-7c3e-9b6f-${String((i * 7919) % rows).padStart(12, '0')}`
      const { pool, provider, stream, teamId } = name
      email.run(id)
      delivery.run(
        id,
        id,
        teamId,
        pool,
        provider,
        formatQueueName(name),
        stream,
        `${provider}.example`,
        dueAt,
      )
    }
  })()
}

const middle = (sorted: number[], share: number): string =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(0).padStart(7)

/** Returns the duration of each run in microseconds, sorted. */
async function timed(times: number, run: () => unknown): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const begun = process.hrtime.bigint()
    await run()
    took.push(Number(process.hrtime.bigint() - begun) / 1000)
  }
  return took.sort((a, b) => a - b)
}

async function measure(db: Database.Database, scenario: Scenario): Promise<void> {
  const { name, closed = [] } = scenario
  const kysely = createSqliteKysely(db)
  const show = (what: string, took: number[]) =>
    console.log(`  ${what.padEnd(34)} median ${middle(took, 0.5)} µs   p99 ${middle(took, 0.99)} µs`)
  console.log(`\n${name}`)
  for (const limit of [1, 20, 200]) {
    const lease = createLeaseFunction(db)
    let leased = 0
    db.exec('begin')
    const took = await timed(LEASES, () => {
      const room = Object.fromEntries(closed.map((destination) => [destination, 0]))
      const args: LeaseArgs = {
        owner: 'x',
        limit,
        room,
        roomElse: 20,
        leaseUntil: NOW + 1e6,
        retryDelays: [1e6],
      }
      leased += lease(args, NOW).length
    })
    db.exec('rollback')
    show(`lease of ${limit} (${(leased / LEASES).toFixed(1)} came)`, took)
  }
  show('next due time', await timed(20, () => nextDue(kysely, { closed }, NOW)))
  db.exec('begin')
  let after: string | undefined
  const domain = `${scenario.row(1).queue.provider}.example`
  const steps = await timed(10, async () => {
    after = (await place(kysely, { domain, provider: 'moved', after }, NOW)).next ?? undefined
  })
  show('place, a step', steps)
  let held: string | undefined
  show(
    'hold, a step',
    await timed(10, async () => {
      held = (await holdQueue(kysely, { after: held }, NOW)).next ?? undefined
    }),
  )
  db.exec('rollback')
}

const folder = mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
try {
  for (const [i, scenario] of scenarios.entries()) {
    const db = new Database(join(folder, `${i}.db`))
    db.pragma('journal_mode = wal')
    applyMigrations(db, shippedMigrations())
    db.pragma('foreign_keys = off')
    fill(db, scenario)
    await measure(db, scenario)
    db.close()
  }
} finally {
  rmSync(folder, { recursive: true })
}
