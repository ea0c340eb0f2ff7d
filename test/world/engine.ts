/**
 * The storage engine of the daemons that tests start: SQLite, or PostgreSQL with POSTHASTE_TEST_ENGINE=postgres. All
 * databases are on one server, which the test run starts (scratch.ts).
 */
import { createHash } from 'node:crypto'
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

/** Whether daemons of tests use PostgreSQL unless their test chooses an engine. */
export const usesPostgres = (): boolean => process.env.POSTHASTE_TEST_ENGINE === 'postgres'

/** Starts the server for all tests of this run, if they use PostgreSQL. Returns a function that stops it. */
export async function startTestServer(): Promise<() => Promise<void>> {
  if (!usesPostgres()) return async () => undefined
  const place = { programs: findPostgresPrograms(), folder: await temporaryFolder(), safe: true }
  const server = await createServer({ ...place, settings: SETTINGS })
  await server.start()
  await server.run('createdb', [TEMPLATE])
  // Loaded only here, because most tests don't need the storage.
  const { openPostgres } = await import('../../appliance/storage/postgres/postgres.ts')
  await (await openPostgres({ url: server.urlOf(TEMPLATE) })).close()
  process.env.POSTHASTE_TEST_SERVER = place.folder
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
  if (!usesPostgres() || 'engine' in own) return own
  let url = created.get(dataDir)
  if (!url) {
    url = createDatabase(dataDir)
    created.set(dataDir, url)
  }
  return { ...own, engine: 'postgres', url: await url }
}

async function createDatabase(dataDir: string): Promise<string> {
  const folder = process.env.POSTHASTE_TEST_SERVER!
  const name = `test_${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const server = await serverIn({ programs: findPostgresPrograms(), folder, safe: true })
  await server.run('createdb', ['-T', TEMPLATE, name])
  return urlIn([folder], name)
}
