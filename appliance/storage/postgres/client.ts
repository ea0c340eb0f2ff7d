/** A connection to the server, with the settings of both threads. */
import { isIP } from 'node:net'
import pg from 'pg'
import { isUnusable } from './failures.ts'
import { choosePrimary } from './primary.ts'

/**
 * Timeouts in milliseconds: for connecting, and for the server to wait for a statement, a lock, or the next command of
 * a transaction.
 */
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000
/** A node that freezes within a transaction keeps its locks for this long. Other nodes free its leases after 15 s. */
const IDLE_MS = 10_000
/** Maximum wait for a response. Only a server that disappeared exceeds it; others end the statement earlier. */
const RESPONSE_MS = STATEMENT_MS + 10_000
/** Idle time before the first probe of a connection. */
const KEEP_ALIVE_MS = 20_000

/** int8 and numeric. They arrive as text, because they may exceed a JavaScript number; ours don't. */
const WIDE: readonly number[] = [20, 1700]

/** Where the database is. Plain data, because it is sent to threads. */
export interface PostgresTarget {
  /** `postgres://user:password@host/name` */
  url: string
  /** URLs of other servers with the same data, of which one may have become the primary. */
  others?: readonly string[] | undefined
  /**
   * Absent: not encrypted. `verify`: whether the certificate must be valid for the host. `ca`: the authorities in PEM;
   * those of Node if absent.
   */
  tls?: { verify: boolean; ca?: string | undefined } | undefined
}

/** A connection, and whether it was lost. */
export type Client = pg.Client & { lost: boolean }

const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    WIDE.includes(type) ? Number : (pg.types.getTypeParser(type, format) as typeof Number),
}

/** Converts the options to those of Node's TLS. */
function tlsOf({ url, tls }: Pick<PostgresTarget, 'url' | 'tls'>): pg.ClientConfig['ssl'] {
  if (tls === undefined) return false
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const name = isIP(host) === 0 ? { servername: host } : { host }
  return { rejectUnauthorized: tls.verify, ...name, ...(tls.ca === undefined ? {} : { ca: tls.ca }) }
}

/**
 * Connects to the server, or to the one of several that takes writes. Rejects with an error of the server or the
 * network.
 */
export async function connect(target: PostgresTarget): Promise<Client> {
  const { url, others = [], tls } = target
  if (others.length === 0) return connectTo({ url, tls })
  return choosePrimary(
    [url, ...others].map((one) => ({ url: one, tls })),
    target,
    connectTo,
  )
}

async function connectTo(target: Pick<PostgresTarget, 'url' | 'tls'>): Promise<Client> {
  const client = Object.assign(
    new pg.Client({
      connectionString: target.url,
      ssl: tlsOf(target),
      application_name: 'posthaste',
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      idle_in_transaction_session_timeout: IDLE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      query_timeout: RESPONSE_MS,
      types,
    }),
    { lost: false },
  )
  const lose = (): void => void (client.lost = true)
  client.on('error', lose)
  client.on('end', lose)
  await client.connect()
  return client
}

/**
 * Closes a connection that can't be used after an error of its statement. A late result must not be taken for that of
 * another statement, and a new transaction must not begin on a connection that the server is about to close.
 */
export function dropIfUnusable(client: Client, error: unknown): void {
  if (!client.lost && isUnusable(error)) drop(client)
}

/** Closes a connection whatever its state. */
export function drop(client: Client): void {
  client.lost = true
  void client.end().catch(() => undefined)
}
