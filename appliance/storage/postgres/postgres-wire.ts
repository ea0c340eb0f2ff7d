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
 * The result of the last statement, or the error of the first one that failed. The statements after that one weren't sent.
 */
export type StatementResult =
  | { rows: Record<string, unknown>[]; changes: number; command: string }
  | { error: ServerError; connected: boolean }

/** Statements to send. `within`: a transaction is open, so they can't be sent on a new connection. */
export interface StatementRequest {
  id: number
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
  const opened = await connect(target)
  try {
    await openSession(opened, lock)
    return opened
  } catch (error) {
    closeClient(opened)
    throw error
  }
}

async function run({ sent, within }: StatementRequest): Promise<StatementResult> {
  try {
    if (client?.lost !== false) {
      if (within) throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
      client = await connected()
    }
    let answer: StatementResult = { rows: [], changes: 0, command: '' }
    for (const one of sent) {
      const { rows, rowCount, command } = await client.query<Record<string, unknown>>(one)
      answer = { rows, changes: rowCount ?? 0, command }
    }
    return answer
  } catch (error) {
    if (client && isOutdatedPlan(error)) closeClient(client)
    else if (client) closeIfUnusable(client, error)
    return { error: toServerError(error), connected: client?.lost === false }
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
