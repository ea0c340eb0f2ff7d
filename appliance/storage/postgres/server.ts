/** Checks of a server and database before use, and information about them for operators. */
import type { Client } from './client.ts'
import { createServerRefusal } from './failures.ts'
import type { DatabaseServer } from '../storage.ts'

/** Settings that determine whether mail is safe in a database. */
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

/** The oldest supported version. Older versions aren't tested. */
const OLDEST = 15

/** Collations that sort text by bytes or code points, which key ranges need. */
const ORDERED = ['C', 'POSIX', 'C.UTF-8', 'C.utf8']

const QUESTION = `select current_setting('server_version_num')::integer as version, current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
    pg_encoding_to_char(encoding) as encoding, datcollate as collation, pg_is_in_recovery() as standby,
    current_setting('default_transaction_read_only') as "readOnly"
  from pg_database where datname = current_database()`

/** Returns why the database can't be used and how to fix it; undefined if it can be used. */
export function explainServerRefusal(state: ServerState): string | undefined {
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
 * Which processes may use the database at the same time as a connection. With a node: other nodes, but no second daemon
 * with the same ID. `alone`: no daemon. Undefined: any process. The server releases the lock when the connection ends.
 */
export type DatabaseLock = 'alone' | { node: string } | undefined

/** Key of the lock that all nodes share. A command that must run without any daemon takes it exclusively. */
const DAEMONS = 7_310_882

/** How long to wait for a lock, in seconds, because the server may notice late that the previous daemon is gone. */
const LOCK_SECONDS = 5

/**
 * Returns the SQL that takes locks. The keep-alive settings let the server notice within a minute that a daemon's machine
 * is gone.
 */
const takeLock = (locks: string): string =>
  `begin; set tcp_keepalives_idle = 20; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 4;
  set local lock_timeout = '${LOCK_SECONDS}s'; select ${locks}; commit`

/**
 * Prepares a new connection for writing. Checks that the server accepts writes and can't lose accepted mail. Each
 * connection is checked, because the settings or the server may have changed.
 * @throws an error whose message is a sentence for people
 */
export async function openSession(client: Client, lock: DatabaseLock): Promise<void> {
  const { rows } = await client.query<ServerState>(QUESTION)
  const refusal = explainServerRefusal(rows[0]!)
  if (refusal !== undefined) throw createServerRefusal(`${refusal} Nothing was changed.`)
  await client.query(USE_INDEXES)
  if (lock === undefined) return
  const shared = `pg_advisory_lock_shared(${DAEMONS})`
  const locks = lock === 'alone' ? `pg_advisory_lock(${DAEMONS})` : `${shared}, ${lockOf(lock.node)}`
  try {
    await client.query(takeLock(locks))
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55P03') throw error
    throw createServerRefusal(lock === 'alone' ? IN_USE : sameNode(lock.node))
  }
}

/**
 * Makes the planner use the indexes that the writing thread's statements are written for. The server plans a statement
 * once and keeps the plan. A plan made while the tables were nearly empty reads and sorts a whole queue. Under serializable
 * isolation, reading a whole table also conflicts with every write of other nodes. `jit = off` prevents the server from
 * compiling statements because of the added cost.
 */
const USE_INDEXES = 'set enable_seqscan = off; set enable_sort = off; set jit = off'

/** Returns the SQL expression that locks a node. The ID contains only hexadecimal digits. */
function lockOf(node: string): string {
  if (!/^[0-9a-f]+$/.test(node))
    throw createServerRefusal(`The node id ${JSON.stringify(node)} is not hexadecimal.`)
  return `pg_advisory_lock(hashtextextended('${node}', ${DAEMONS}))`
}

const IN_USE = 'A daemon uses the database of storage.url. Stop it first, on every node. Nothing was changed.'

const sameNode = (node: string): string =>
  `Another daemon with the node id ${node} uses the database of storage.url, or its secrets are being rekeyed. If data_dir was copied from another machine, delete the file node-id in it. Nothing was changed.`

const FACTS = `select current_setting('server_version') as version, current_database() as database,
    pg_database_size(current_database()) as size,
    (select count(*) from pg_stat_activity where datname = current_database() and application_name = 'posthaste') as own,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as most,
    (select count(*) from pg_stat_replication where sync_state = 'async') as "asyncStandbys"`

/** Reads information about the server. */
export async function loadServerFacts(client: Client): Promise<Omit<DatabaseServer, 'respondedIn'>> {
  type Row = Omit<DatabaseServer, 'connections'> & DatabaseServer['connections']
  const { version, database, size, own, used, most, asyncStandbys } = (await client.query<Row>(FACTS))
    .rows[0]!
  return { version, database, size, asyncStandbys, connections: { own, used, most } }
}
