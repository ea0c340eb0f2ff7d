/**
 * The storage engine of the daemons that tests start: SQLite, or PostgreSQL in the project `postgres` of
 * vitest.config.ts, which runs scenarios again. All databases are on one server, which the test run starts.
 */
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import {
  createServer,
  findPostgresPrograms,
  serverIn,
  temporaryFolder,
  urlIn,
} from '../../appliance/crashtest/postgres-server.ts'

/** An empty database with the newest schema. Copying it takes less time than the migrations. */
const TEMPLATE = 'posthaste_template'
/** Each daemon has up to 20 connections, and several test files run at the same time. */
const SETTINGS = ['max_connections=400']

/** Vitest calls it once, if the run includes tests of this project. Returns a function that stops the server. */
export async function setup(): Promise<() => Promise<void>> {
  const place = { programs: findPostgresPrograms(), folder: await temporaryFolder(), safe: true }
  const server = await createServer({ ...place, settings: SETTINGS })
  await server.start()
  await server.run('createdb', [TEMPLATE])
  // Loaded only here, because most tests don't need the storage.
  const { openPostgres } = await import('../../appliance/storage/postgres/postgres.ts')
  await (await openPostgres({ url: server.urlOf(TEMPLATE) })).close()
  process.env.TEST_SERVER = place.folder
  return () => server.close()
}

/** Databases that this process has created, by data directory. */
const created = new Map<string, Promise<string>>()

/**
 * Returns the `[storage]` settings for a daemon with this data directory: those of the test, or of the daemon's own
 * database on PostgreSQL.
 */
export async function storageSettings<T extends object>(
  dataDir: string,
  own: T,
): Promise<T & { engine?: 'postgres'; url?: string }> {
  if (process.env.TEST_ENGINE !== 'postgres' || 'engine' in own) return own
  let url = created.get(dataDir)
  if (!url) {
    url = createDatabase(dataDir)
    created.set(dataDir, url)
  }
  return { ...own, engine: 'postgres', url: await url }
}

async function createDatabase(dataDir: string): Promise<string> {
  const folder = process.env.TEST_SERVER!
  const name = `test_${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const server = await serverIn({ programs: findPostgresPrograms(), folder, safe: true })
  await server.run('createdb', ['-T', TEMPLATE, name])
  return urlIn([folder], name)
}

/** Scenarios that need SQLite, or choose their engine: they don't run again on PostgreSQL. */
const OWN_ENGINE =
  /^test\/scenarios\/(?:attacks|certificates-nodes|crashtest|example-nodes|faults-|frameworks|installed-|moving-kill|mta-sts|postgres|rolling-upgrade|simulation|stuck-exchanger|upgrade-kill)/

/** Scenarios whose storage paths differ most, which each run of all tests repeats on PostgreSQL. */
const REPEATED = ['broadcasts', 'queue', 'suppressions', 'topic-mail', 'tracking']

/**
 * Returns the scenarios that run on PostgreSQL, too.
 * @param all whether to return all that can
 */
export const postgresScenarios = (root: string, all: boolean): string[] =>
  all
    ? globSync('test/scenarios/*.test.ts', { cwd: root }).filter((file) => !OWN_ENGINE.test(file))
    : REPEATED.map((name) => `test/scenarios/${name}.test.ts`)
