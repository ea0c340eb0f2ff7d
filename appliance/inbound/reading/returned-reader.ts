/** Reads returned messages: small ones at once, others in a thread with bounded memory and time. */
import { createThreads, ThreadEndedError } from '../../capacity/capacity.ts'
import type { Clock } from '../../clock/clock.ts'
import type { BounceRule } from '../../mail/bounce.ts'
import { createClassifier } from '../../mail/classify.ts'
import type { ParsedReturnedMessage, ReturnedMailFormat } from '../../mail/returned.ts'
import { MAX_INLINE_SIZE, classifyReturnedMessage } from './read-returned.ts'

/** A job for the thread. */
export interface ReturnedMailJob extends ReturnedMailTables {
  bytes: Uint8Array
}

/** The tables for reading messages. */
export interface ReturnedMailTables {
  /** config/returned-mail.toml. */
  formats: readonly ReturnedMailFormat[]
  /** The rules of config/returned-mail.toml, followed by those of config/bounces.toml. */
  rules: readonly BounceRule[]
}

export interface ReturnedMailReader {
  /** Reads a message; null if that takes too much time or memory. Refuses: `shutting_down`. */
  read(bytes: Uint8Array): Promise<ParsedReturnedMessage | null>
  close(): Promise<void>
}

/** Heap of the thread in MB. Messages have at most 1 MB. */
const HEAP_MB = 128
const DEADLINE_MS = 10_000

/**
 * Creates the reader.
 *
 * @param tables called for each message, because the tables can be reloaded
 */
export function createReturnedMailReader(clock: Clock, tables: () => ReturnedMailTables): ReturnedMailReader {
  const threads = createThreads<ReturnedMailJob, ParsedReturnedMessage>({
    script: new URL('returned-worker.ts', import.meta.url),
    clock,
    most: 1,
    waiting: 4,
    deadlineMs: DEADLINE_MS,
    heapMb: HEAP_MB,
  })
  return {
    async read(bytes) {
      const { formats, rules } = tables()
      if (bytes.byteLength <= MAX_INLINE_SIZE)
        return classifyReturnedMessage(bytes, { formats, categorize: createClassifier(() => rules) })
      try {
        return await threads.run({ bytes, formats, rules }, null)
      } catch (error) {
        if (error instanceof ThreadEndedError) return null
        throw error
      }
    },
    close: () => threads.close(),
  }
}
