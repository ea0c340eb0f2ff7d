/** A connection for methods that wait for their statements without blocking their thread. */
import { Kysely } from 'kysely'
import type { Db, Tables } from '../schema.ts'
import { type Client, connect, closeIfUnusable, type PostgresTarget } from './client.ts'
import { emptyListPlugin, engineParts } from './connection.ts'

/** A connection that is opened when needed, and reopened after it was lost. Runs one method at a time. */
export class Session {
  readonly #target: PostgresTarget
  readonly #begin: string
  readonly #kysely: Db
  #client: Client | undefined
  /** Number of further statements that may run without a transaction; undefined within one. */
  #left: number | undefined

  /** @param begin the statement that begins each transaction */
  constructor(target: PostgresTarget, begin: string) {
    this.#target = target
    this.#begin = begin
    this.#kysely = new Kysely<Tables>({
      plugins: [emptyListPlugin],
      dialect: {
        ...engineParts,
        createDriver: () => ({
          init: async () => undefined,
          acquireConnection: async () => ({
            executeQuery: async <R>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => {
              if (this.#left !== undefined && this.#left-- === 0)
                throw new Error('A method of one statement sent another one.')
              const { rows, rowCount } = await this.#client!.query(sql, [...parameters])
              return { rows: rows as R[], numAffectedRows: BigInt(rowCount ?? 0) }
            },
            streamQuery(): never {
              throw new Error('Storage methods do not stream: a page has a limit.')
            },
          }),
          releaseConnection: async () => undefined,
          beginTransaction: async () => undefined,
          commitTransaction: async () => undefined,
          rollbackTransaction: async () => undefined,
          destroy: async () => undefined,
        }),
      },
    })
  }

  /** Runs a method in a transaction. Rejects with an error of the server or the network. */
  async run<T>(method: (db: Db) => Promise<T>): Promise<T> {
    return this.use(async (client) => {
      await client.query(this.#begin)
      try {
        const value = await method(this.#kysely)
        await client.query('commit')
        return value
      } catch (error) {
        closeIfUnusable(client, error)
        // A lost connection has no transaction to end.
        if (!client.lost) await client.query('rollback')
        throw error
      }
    })
  }

  /**
   * Runs a method of one statement, which needs no transaction. This saves two round trips. Rejects with an error of the
   * server or the network.
   */
  async runAlone<T>(method: (db: Db) => Promise<T>): Promise<T> {
    return this.use(async (client) => {
      this.#left = 1
      try {
        return await method(this.#kysely)
      } catch (error) {
        closeIfUnusable(client, error)
        throw error
      } finally {
        this.#left = undefined
      }
    })
  }

  /** Runs `work` with the connection, outside of a transaction. */
  async use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    if (this.#client?.lost !== false) this.#client = await connect(this.#target)
    return work(this.#client)
  }

  async close(): Promise<void> {
    await this.#client?.end()
  }
}
