/** Converts the configuration to the settings of the PostgreSQL engine. */
import { readFileSync } from 'node:fs'
import { describePostgresUrl, splitPostgresUrl, type Config } from '../config/config.ts'
import type { PostgresTarget } from '../storage/postgres/postgres.ts'
import { StartupError } from '../wire/listeners.ts'

/** Hosts whose connections don't leave this machine. */
const LOCAL = /^(|localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Returns the configured database; undefined with SQLite. Reads the password and the certificate authorities.
 * @throws StartupError if a file can't be read
 */
export function loadPostgresTarget({ storage }: Pick<Config, 'storage'>): PostgresTarget | undefined {
  if (storage.engine !== 'postgres') return undefined
  const urls = splitPostgresUrl(storage.url!)!
  const { password_file: passwordFile, tls_ca: caFile } = storage
  if (passwordFile !== undefined) {
    const password = encodeURIComponent(read('storage.password_file', passwordFile).split(/\r?\n/, 1)[0]!)
    for (const url of urls) url.password = password
  }
  const isLocal = urls.every((url) => url.searchParams.has('host') || LOCAL.test(url.hostname))
  const { tls = isLocal && caFile === undefined ? 'off' : 'verify' } = storage
  const [url, ...others] = urls.map(({ href }) => href)
  const servers = others.length === 0 ? { url: url! } : { url: url!, others }
  if (tls === 'off') return servers
  const ca = caFile === undefined ? undefined : read('storage.tls_ca', caFile)
  return { ...servers, tls: { verify: tls === 'verify', ca } }
}

function read(key: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${key} cannot be read: ${(error as Error).message}.`)
  }
}

/** Returns a display name of the database, without user and password. */
export function databaseName({ storage, data_dir: dataDir }: Pick<Config, 'storage' | 'data_dir'>): string {
  if (storage.engine !== 'postgres') return dataDir
  return describePostgresUrl(storage.url!)
}
