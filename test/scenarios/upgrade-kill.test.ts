import Database from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shippedMigrations } from '../../appliance/storage/sqlite/migrate.ts'
import { CRASH_POINT_VARIABLE, SCRATCH_MARKER } from '../../appliance/watch/crash-points.ts'
import { startDaemon, writeConfig } from '../world/daemon.ts'
import { PROGRAM } from '../world/program.ts'

/** An upgrade from the oldest schema, with mail in it, is killed halfway. The next start finishes it. */

const EMAILS = 2000
const OLDEST = 1
/** The number of a migration that exists only in this test, so that there always is an upgrade. It leaves a gap. */
const LATER = 9000
const all = shippedMigrations().length

let folder: string
/** A database of the oldest schema whose newest mail is only in its write-ahead log, as after a kill. */
let old: string
let before: string
/** The program with the additional migration. */
let program: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-upgrade-'))
  old = join(folder, 'old')
  await mkdir(old)
  const made = join(folder, 'made.db')
  const fixture = join(import.meta.dirname, '..', 'fixtures', 'schemas', '0001.db.gz')
  await writeFile(made, gunzipSync(readFileSync(fixture)))
  const db = new Database(made)
  db.pragma('journal_mode = wal')
  db.pragma('wal_autocheckpoint = 0')
  fillUp(db)
  await copyFile(made, join(old, 'posthaste.db'))
  await copyFile(`${made}-wal`, join(old, 'posthaste.db-wal'))
  before = mailOf(db)
  db.close()
  program = await makeProgram()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function makeProgram(): Promise<string> {
  const bundle = dirname(PROGRAM)
  const project = dirname(bundle)
  const place = join(folder, 'program')
  await mkdir(place)
  for (const name of ['config', 'node_modules', 'package.json', 'ui'])
    await symlink(join(project, name), join(place, name))
  await cp(bundle, join(place, 'appliance'), { recursive: true })
  const later = join(place, 'appliance', 'storage', 'migrations', 'sqlite', `${LATER}_later.sql`)
  await writeFile(later, 'create table later (id text primary key) strict;')
  return join(place, 'appliance', 'main.js')
}

/** Adds mail that is due tomorrow, so that no daemon touches it. */
function fillUp(db: Database.Database): void {
  const now = Date.now()
  const day = 24 * 3_600_000
  const fixture = db.prepare('select team_id, domain_id from emails').get() as Record<string, string>
  const about = { ...fixture, now, due: now + day, end: now + 4 * day }
  const inserts = [
    `insert into emails (id, team_id, domain_id, via, from_header, to_header, cc_header, bcc_header, reply_to, subject, headers, tags,
       attachments, message_id, return_path, size, last_event, created_at)
     values (@id, @team_id, @domain_id, 'rest', 'Shop <shop@example.com>', '["b@y.example"]', '[]', '[]', '[]', 'Kept ' || @id, '[]', '[]',
       '[]', '<' || @id || '@example.com>', @id || '@send.example.com', 2000, 'queued', @now)`,
    "insert into messages values (@id, @team_id, 'row', '<p>Kept</p>', null, randomblob(2000))",
    `insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at, queue, stream,
       domain, due_at, expires_at)
     values (@id, @id || '-r', @team_id, 'b@y.example', 'to', 'default', '?y.example', 'waiting', 0, @now, @now,
       'default/?y.example/t/' || @team_id, 'transactional', 'y.example', @due, @end)`,
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data) values (@id || '-e', @team_id, @id, null, 'email.sent', @now, '{}')`,
  ].map((sql) => db.prepare(sql))
  db.transaction(() => {
    for (let n = 0; n < EMAILS; n++) {
      const id = `kept-${String(n).padStart(6, '0')}`
      for (const insert of inserts) insert.run({ ...about, id })
    }
  })()
}

/** Returns a digest of the mail. */
function mailOf(db: Database.Database): string {
  const rows = db
    .prepare(
      `select e.id, e.subject, e.message_id, m.body, m.html, d.recipient, d.state, d.due_at, d.expires_at, v.type
       from emails e join messages m on m.email_id = e.id join deliveries d on d.email_id = e.id join events v on v.email_id = e.id
       where e.id like 'kept-%' order by e.id`,
    )
    .raw()
    .all()
  const digest = createHash('sha256')
  for (const row of rows as unknown[][])
    for (const value of row) digest.update(Buffer.isBuffer(value) ? value : String(value))
  return `${rows.length} ${digest.digest('hex')}`
}

/** Reads a copy of a database, because opening the original would do the recovery that the next start must do. */
async function lookAt(dataDir: string): Promise<{ schema: number; mail: string; sound: unknown }> {
  const copy = await mkdtemp(join(folder, 'copy-'))
  for (const name of ['posthaste.db', 'posthaste.db-wal'])
    if (existsSync(join(dataDir, name))) await copyFile(join(dataDir, name), join(copy, name))
  return describeDatabase(join(copy, 'posthaste.db'))
}

function describeDatabase(file: string): { schema: number; mail: string; sound: unknown } {
  const db = new Database(file)
  try {
    return {
      schema: db.prepare('select max(number) from migrations').pluck().get() as number,
      mail: mailOf(db),
      sound: db.pragma('integrity_check', { simple: true }),
    }
  } finally {
    db.close()
  }
}

const snapshotsIn = (dataDir: string): string[] => {
  const snapshots = join(dataDir, 'snapshots')
  return existsSync(snapshots) ? readdirSync(snapshots) : []
}

/** Starts the daemon and kills it: at a crash point from within, or from outside once `seen` returns true. */
async function startAndKill(
  config: string,
  { point, seen }: { point?: string; seen?: () => boolean },
): Promise<void> {
  const child = spawn(process.execPath, [program, 'serve', '--config', config], {
    env: { ...process.env, ...(point !== undefined && { [CRASH_POINT_VARIABLE]: point }) },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const watch = setInterval(() => seen?.() === true && child.kill('SIGKILL'), 1)
  const [, signal] = (await ended) as [number | null, NodeJS.Signals | null]
  clearInterval(watch)
  expect(signal).toBe('SIGKILL')
}

const isComplete = (dataDir: string) => (): boolean =>
  snapshotsIn(dataDir).some((name) => !name.includes('.partial-'))

test.each<[string, (dataDir: string) => { point?: string; seen?: () => boolean }]>([
  // On a busy machine, the first look may come after the snapshot is complete.
  ['while the snapshot is being written', (dataDir) => ({ seen: () => snapshotsIn(dataDir).length > 0 })],
  ['when the snapshot is complete', (dataDir) => ({ seen: isComplete(dataDir) })],
  ['after the last migration, before the commit', () => ({ point: `migration:${all}` })],
])(
  'an upgrade killed %s loses nothing, and the next start completes it',
  async (_, when) => {
    const place = await mkdtemp(join(folder, 'place-'))
    const [dataDir, config] = [join(place, 'data'), join(place, 'posthaste.toml')]
    await mkdir(dataDir, { mode: 0o700 })
    for (const name of readdirSync(old)) await copyFile(join(old, name), join(dataDir, name))
    // The daemon kills itself only if this marker exists.
    await writeFile(join(dataDir, SCRATCH_MARKER), '')
    await writeConfig(config, {
      hostname: 'mail.example.com',
      data_dir: dataDir,
      http: { listen: ['127.0.0.1:0'] },
      smtp: { starttls: [], implicit_tls: [] },
      // Nothing listens there, so nothing unrelated to this test happens.
      dns: { servers: ['127.0.0.1:9'] },
    })
    const { point, seen } = when(dataDir)
    await startAndKill(config, { ...(point !== undefined && { point }), ...(seen && { seen }) })
    const killed = await lookAt(dataDir)
    expect(killed).toMatchObject({ mail: before, sound: 'ok' })
    // A single transaction: all or nothing.
    expect(seen ? [OLDEST, LATER] : [OLDEST]).toContain(killed.schema)

    const daemon = await startDaemon(config, program)
    expect(await daemon.end('SIGTERM'), daemon.output().slice(-2000)).toBe(0)
    expect(await lookAt(dataDir)).toEqual({ schema: LATER, mail: before, sound: 'ok' })
    const [kept, ...others] = snapshotsIn(dataDir)
      .filter((name) => /^schema-0001-\d{8}T\d{6}Z\.db$/.test(name))
      .map((name) => join(dataDir, 'snapshots', name))
    expect(others.length).toBeLessThanOrEqual(1)
    expect(describeDatabase(kept!)).toEqual({ schema: OLDEST, mail: before, sound: 'ok' })
  },
  900_000,
)
