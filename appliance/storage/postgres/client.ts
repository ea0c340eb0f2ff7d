/** A connection to the server, with the settings of both threads. */
import pg from 'pg'

/**
 * Timeouts in milliseconds: for connecting, and for the server to wait for a statement, a lock, or the next command of
 * a transaction.
 */
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000
const IDLE_MS = 60_000

/** int8 and numeric. They arrive as text, because they may exceed a JavaScript number; ours don't. */
const WIDE: readonly number[] = [20, 1700]

/** A connection, and whether it was lost. */
export type Client = pg.Client & { lost: boolean }

const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    WIDE.includes(type) ? Number : (pg.types.getTypeParser(type, format) as typeof Number),
}

/** Connects. Rejects with an error of the server or the network. */
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
