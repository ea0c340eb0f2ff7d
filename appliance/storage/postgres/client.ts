/** One connection to the server, set up as both threads need it. */
import pg from 'pg'

/** How long to wait for a connection, and the server for a statement, a lock, or the next word of a transaction (milliseconds). */
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000
const IDLE_MS = 60_000

/** int8 and numeric, which come as text, since they may be larger than a number of JavaScript; ours are not. */
const WIDE: readonly number[] = [20, 1700]

/** A connection that knows whether it was lost. */
export type Client = pg.Client & { lost: boolean }

const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    WIDE.includes(type) ? Number : (pg.types.getTypeParser(type, format) as typeof Number),
}

/** Connects. Rejects with the server's error, or the network's. */
export async function connect(url: string): Promise<Client> {
  const client = Object.assign(
    new pg.Client({
      connectionString: url,
      application_name: 'posthaste',
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      idle_in_transaction_session_timeout: IDLE_MS,
      keepAlive: true,
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
