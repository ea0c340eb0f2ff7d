/** A connection to the server, with the settings of both threads. */
import { isIP } from 'node:net'
import pg from 'pg'
import { isUnusable } from './failures.ts'
import { choosePrimary } from './primary.ts'

/** Timeouts in milliseconds: for connecting, and for the execution of a statement. */
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000
/**
 * Maximum time for which a node that freezes within a transaction keeps its locks, in milliseconds. Other nodes free its
 * leases after 15 s.
 */
const IDLE_MS = 10_000
/** Maximum time to wait for a response, in milliseconds. A reachable server ends the statement earlier. */
const RESPONSE_MS = STATEMENT_MS + 10_000
/** Idle time before the first keep-alive probe, in milliseconds. */
const KEEP_ALIVE_MS = 20_000

/** The types int8 and numeric. They arrive as text, because they may exceed a JavaScript number; our values don't. */
const WIDE: readonly number[] = [20, 1700]

/** Where the database is. Plain data, because it is sent to threads. */
export interface PostgresTarget {
  /** URL of the form `postgres://user:password@host/name`. */
  url: string
  /** URLs of other servers with the same data, of which one may have become the primary. */
  others?: readonly string[] | undefined
  /**
   * TLS options; undefined for an unencrypted connection. `verify`: whether the certificate must be valid for the host.
   * `ca`: the authorities in PEM, or those of Node if undefined.
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
 * Connects to the server, or to the one of several that takes writes. `pipeline`: send each statement at once, without
 * waiting for the results of earlier ones. Rejects with an error of the server or the network.
 */
export async function connect(target: PostgresTarget, options: { pipeline?: boolean } = {}): Promise<Client> {
  const { url, others = [], tls } = target
  const open = (one: Pick<PostgresTarget, 'url' | 'tls'>) => connectTo(one, options)
  if (others.length === 0) return open({ url, tls })
  return choosePrimary(
    [url, ...others].map((one) => ({ url: one, tls })),
    target,
    open,
  )
}

async function connectTo(
  target: Pick<PostgresTarget, 'url' | 'tls'>,
  { pipeline = false }: { pipeline?: boolean },
): Promise<Client> {
  const client = Object.assign(
    new pg.Client({
      pipeline,
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
 * Closes a connection that can't be used after an error of its statement. Otherwise, a late result could be mistaken for
 * that of another statement, and a transaction could begin on a connection that the server is about to close.
 */
export function closeIfUnusable(client: Client, error: unknown): void {
  if (!client.lost && isUnusable(error)) closeClient(client)
}

/** Closes a connection, whatever its state. */
export function closeClient(client: Client): void {
  client.lost = true
  void client.end().catch(() => undefined)
}
