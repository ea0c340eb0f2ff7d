/**
 * The thread that communicates with the server for the writing thread, which blocks until each result. Therefore, the
 * performance-critical methods are the same synchronous functions on both engines. Reconnects before the next transaction,
 * never within one.
 */
import { workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { connect, closeClient, closeIfUnusable, type Client, type PostgresTarget } from './client.ts'
import { toServerError, isOutdatedPlan, type ServerError } from './failures.ts'
import { type DatabaseLock, openSession } from './server.ts'

/** A statement to send. `name`: prepare the statement under this name, once per connection. */
export interface OutgoingStatement {
  name: string | undefined
  text: string
  values: unknown[]
}

/**
 * The rows of the last statement and the number of rows that each one changed, or the error of the first one that failed.
 * `open`: whether the transaction is still open after the error, so that it must be rolled back.
 */
export type StatementResult =
  | { rows: Record<string, unknown>[]; changes: number[]; command: string }
  | { error: ServerError; open: boolean }

/**
 * Statements to send at once. `begin`: the statement that begins their transaction. `within`: a transaction is open, so
 * they can't be sent on a new connection.
 */
export interface StatementRequest {
  id: number
  begin: OutgoingStatement | undefined
  sent: OutgoingStatement[]
  within: boolean
}

/** The data of this thread. */
export interface PostgresThreadData {
  target: PostgresTarget
  lock: DatabaseLock
  port: MessagePort
  answered: Int32Array
}

const { target, lock, port, answered } = workerData as PostgresThreadData
let client: Client | undefined
let last = Promise.resolve()

async function connected(): Promise<Client> {
  const opened = await connect(target, { pipeline: true })
  try {
    await openSession(opened, lock)
    return opened
  } catch (error) {
    closeClient(opened)
    throw error
  }
}

/**
 * Sends statements without waiting for one before sending the next. Within a transaction, the server refuses those after
 * one that failed. Waits for `begin`, because without it, each of the others would be its own transaction.
 */
async function run({ begin, sent, within }: StatementRequest): Promise<StatementResult> {
  let open = within
  try {
    if (client?.lost !== false) {
      if (within) throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
      client = await connected()
    }
    const on = client
    if (begin) {
      await on.query(begin)
      open = true
    }
    const settled = await Promise.allSettled(sent.map((one) => on.query<Record<string, unknown>>(one)))
    const done = settled.map((one) => {
      if (one.status === 'rejected') throw one.reason
      return one.value
    })
    const { rows, command } = done.at(-1)!
    return { rows, changes: done.map(({ rowCount }) => rowCount ?? 0), command }
  } catch (error) {
    if (client && isOutdatedPlan(error)) closeClient(client)
    else if (client) closeIfUnusable(client, error)
    return { error: toServerError(error), open: open && client?.lost === false }
  }
}

/** Handles a request, then wakes the waiting thread. */
async function answer(request: StatementRequest | 'close'): Promise<void> {
  if (request === 'close') {
    // A lost connection is already closed.
    if (client?.lost === false) await client.end().catch(() => undefined)
    port.close()
  } else port.postMessage({ id: request.id, answer: await run(request) })
  Atomics.store(answered, 0, 1)
  Atomics.notify(answered, 0)
}

port.on('message', (request: StatementRequest | 'close') => {
  last = last.then(() => answer(request))
})
