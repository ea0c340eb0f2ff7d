import { parentPort, receiveMessageOnPort, type Transferable } from 'node:worker_threads'
import { watchSpareMemory } from '../../watch/spare-memory.ts'
import { StorageRefused } from './failures.ts'
import type { Batch, Call, Outcome } from './group-commit.ts'

/** What the main thread says to a storage thread; `close` comes last. */
export type Request = { kind: 'calls'; calls: Call[] } | { kind: 'close' }

/** What a storage thread answers: first `ready` or `refused`, then outcomes; its end is the end of the thread. */
export type Report =
  | { kind: 'ready'; methods: MethodRef[] }
  | { kind: 'refused'; message: string }
  | ({ kind: 'outcomes' } & Batch)

/** A method that a thread runs, and the noun that lists it (nouns.ts). */
export interface MethodRef {
  noun: string
  name: string
}

/** What a storage thread does with calls, most `most` at once, and when it is told to end. */
export interface Service {
  most: number
  /** The methods of the port that it runs. */
  methods: MethodRef[]
  execute(calls: Call[]): Promise<Batch>
  close(): void
}

/**
 * The life of a storage thread: opens, then answers calls in the order in which they came, taking together what
 * arrived while the last batch ran. An error that escapes ends the thread, and the main thread hears of it.
 */
export function serve(open: () => Service): void {
  const port = parentPort
  if (!port) throw new Error('This file runs as a thread of the storage, not by itself.')
  const report = (message: Report, transfer: Transferable[] = []): void => port.postMessage(message, transfer)
  let service: Service
  try {
    service = open()
  } catch (error) {
    if (!(error instanceof StorageRefused)) throw error
    report({ kind: 'refused', message: error.message })
    port.close()
    return
  }

  const leaveMemory = watchSpareMemory()
  const waiting: Call[] = []
  let running = false
  let closing = false
  const take = (request: Request): void => {
    if (request.kind === 'calls') waiting.push(...request.calls)
    else closing = true
  }
  const drain = async (): Promise<void> => {
    running = true
    for (;;) {
      while (waiting.length < service.most) {
        const next = receiveMessageOnPort(port)
        if (!next) break
        take(next.message as Request)
      }
      if (waiting.length === 0) break
      const batch = await service.execute(waiting.splice(0, service.most))
      report({ kind: 'outcomes', ...batch }, batch.outcomes.flatMap(transferable))
    }
    running = false
    if (!closing) return
    leaveMemory()
    service.close()
    port.close()
  }
  port.on('message', (request: Request) => {
    take(request)
    if (!running) void drain()
  })
  report({ kind: 'ready', methods: service.methods })
}

/** Bytes that own their whole buffer move to the other thread; a view of a larger one is copied by the clone. */
function transferable(outcome: Outcome): Transferable[] {
  if (!('value' in outcome) || !(outcome.value instanceof Uint8Array)) return []
  const { buffer, byteLength } = outcome.value
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
