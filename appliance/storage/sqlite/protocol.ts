import type { Failure } from './failures.ts'

/** One method call on its way to a storage thread. */
export interface Call {
  id: number
  method: string
  args: unknown
  now: number
}

/** What the main thread says to a storage thread; `close` comes last. */
export type Request = { kind: 'calls'; calls: Call[] } | { kind: 'close' }

/** What became of a call. */
export type Outcome = { id: number; value: unknown } | { id: number; failure: Failure }

/** What a storage thread answers: first `ready` or `refused`, then outcomes; its end is the end of the thread. */
export type Report =
  | { kind: 'ready' }
  | { kind: 'refused'; message: string }
  | { kind: 'outcomes'; outcomes: Outcome[]; committed: boolean }
