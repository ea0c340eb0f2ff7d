/**
 * The thread that talks to the server for the writing thread, which blocks until each result. This way, the hot methods
 * are the same synchronous functions on both engines. Reconnects before the next transaction, never within one.
 */
import { workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { connect, drop, dropIfUnusable, type Client, type PostgresTarget } from './client.ts'
import { dataOf, isOutdatedPlan, type ServerError } from './failures.ts'
import { type DatabaseLock, openSession } from './server.ts'

/** A statement to send. `name`: prepare it under this name, once for each connection. */
export interface Sent {
  name: string | undefined
  text: string
  values: unknown[]
}

/** The result of the last statement, or the error of the first one that failed. Statements after it weren't sent. */
export type Answer =
  | { rows: Record<string, unknown>[]; changes: number; command: string }
  | { error: ServerError; connected: boolean }

/** `within`: a transaction is open, which a new connection would not know. */
export interface Request {
  id: number
  sent: Sent[]
  within: boolean
}

/** The data of this thread. */
export interface WireData {
  target: PostgresTarget
  lock: DatabaseLock
  port: MessagePort
  answered: Int32Array
}

const { target, lock, port, answered } = workerData as WireData
let client: Client | undefined
let last = Promise.resolve()

async function connected(): Promise<Client> {
  const opened = await connect(target)
  try {
    await openSession(opened, lock)
    return opened
  } catch (error) {
    drop(opened)
    throw error
  }
}

async function run({ sent, within }: Request): Promise<Answer> {
  try {
    if (client?.lost !== false) {
      if (within) throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
      client = await connected()
    }
    let answer: Answer = { rows: [], changes: 0, command: '' }
    for (const one of sent) {
      const { rows, rowCount, command } = await client.query<Record<string, unknown>>(one)
      answer = { rows, changes: rowCount ?? 0, command }
    }
    return answer
  } catch (error) {
    if (client && isOutdatedPlan(error)) drop(client)
    else if (client) dropIfUnusable(client, error)
    return { error: dataOf(error), connected: client?.lost === false }
  }
}

/** Handles a request, then wakes the waiting thread. */
async function answer(request: Request | 'close'): Promise<void> {
  if (request === 'close') {
    // A lost connection is already closed.
    if (client?.lost === false) await client.end().catch(() => undefined)
    port.close()
  } else port.postMessage({ id: request.id, answer: await run(request) })
  Atomics.store(answered, 0, 1)
  Atomics.notify(answered, 0)
}

port.on('message', (request: Request | 'close') => {
  last = last.then(() => answer(request))
})
