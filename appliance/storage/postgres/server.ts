/** Checks of a server and database before use. Pure, except for the query. */
import { StorageRefused } from '../engine/failures.ts'
import type { Connection } from '../connection.ts'

/** Settings that decide whether mail is safe in a database. */
export interface ServerState {
  /** 150004 is 15.4. */
  version: number
  fsync: string
  commit: string
  pages: string
  encoding: string
  collation: string
  standby: boolean
  readOnly: string
}

/** The oldest version that is tested. */
const OLDEST = 15

/** Collations that sort text by bytes or code points, which key ranges need. */
const ORDERED = ['C', 'POSIX', 'C.UTF-8', 'C.utf8']

const QUESTION = `select current_setting('server_version_num')::integer as version, current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
    pg_encoding_to_char(encoding) as encoding, datcollate as collation, pg_is_in_recovery() as standby,
    current_setting('default_transaction_read_only') as "readOnly"
  from pg_database where datname = current_database()`

/** Returns why the database can't be used and how to fix it; undefined: it can. */
export function refusalOf(state: ServerState): string | undefined {
  const major = Math.floor(state.version / 10_000)
  if (major < OLDEST)
    return `The database server is PostgreSQL ${major}. Posthaste needs version ${OLDEST} or newer.`
  if (state.standby)
    return 'The database server is a standby, which takes no writes. Set storage.url to the primary server.'
  if (state.readOnly !== 'off')
    return 'The database takes no writes (default_transaction_read_only is on). Turn it off for the user or the database of storage.url.'
  if (state.fsync !== 'on') return unsafe('fsync', state.fsync)
  if (state.pages !== 'on') return unsafe('full_page_writes', state.pages)
  if (state.commit === 'off') return unsafe('synchronous_commit', state.commit)
  if (state.encoding !== 'UTF8')
    return `The database has the encoding ${state.encoding}. Create one with UTF8: ${CREATE}`
  if (!ORDERED.includes(state.collation))
    return `The database has the collation ${state.collation}, which orders text by a language. Create one that orders by bytes: ${CREATE}`
  return undefined
}

const CREATE = 'createdb --template=template0 --encoding=UTF8 --locale=C posthaste'

const unsafe = (setting: string, value: string): string =>
  `The database server runs with ${setting} = ${value}, so accepted mail could be lost when it stops. Set ${setting} = on.`

/**
 * Checks that the server can't lose accepted mail, and can be written to.
 * @throws StorageRefused
 */
export function refuseServer(db: Connection): void {
  const refusal = refusalOf(db.prepare<[], ServerState>(QUESTION).get()!)
  if (refusal !== undefined) throw new StorageRefused(`${refusal} Nothing was changed.`)
}
