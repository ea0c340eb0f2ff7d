import type { Clock } from '../clock/clock.ts'
import type { RequestLog, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

/** How long a request waits so that several can be written together, in milliseconds. */
const WAIT = 200
/** Number of requests that are written immediately, without waiting. */
const BATCH = 100
/** Maximum number of bytes of bodies per batch, because the writing thread also writes mail. */
const BATCH_BYTES = 512 * 1024
/**
 * Maximum number of requests held while the disk is slow. More are dropped, because the log must not use memory that
 * mail needs.
 */
const MOST_HELD = 5000
const MOST_BYTES = 16 * 1024 * 1024

/** Buffers requests for storage. A crash loses the requests of the last 200 ms. It never loses mail. */
export interface RequestLogBuffer {
  /** Adds a request; never waits, never throws. */
  add(entry: RequestLog): void
  /** Resolves when every request added so far was written or dropped. */
  flush(): Promise<void>
}

/** Writes requests in batches, one batch at a time. Drops requests that can't be written, and logs how many. */
export function createRequestLogBuffer({
  storage,
  clock,
  log,
}: {
  storage: Pick<Storage, 'saveLogs'>
  clock: Clock
  log: Logger
}): RequestLogBuffer {
  const held: RequestLog[] = []
  let bytes = 0
  let dropped = 0
  let cancel: (() => void) | undefined
  let writing: Promise<void> | undefined

  const take = (): RequestLog[] => {
    let size = 0
    const end = held.findIndex((entry, index) => index >= BATCH || (size += sizeOf(entry)) > BATCH_BYTES)
    // A single entry is always within the limit, because bodies are.
    const batch = held.splice(0, end === -1 ? held.length : Math.max(1, end))
    bytes -= batch.reduce((sum, entry) => sum + sizeOf(entry), 0)
    return batch
  }

  const write = async (): Promise<void> => {
    cancel?.()
    cancel = undefined
    while (held.length > 0) {
      const batch = take()
      try {
        await storage.saveLogs({ logs: batch }, clock.now())
      } catch (err) {
        // Unlike mail, the entries aren't retried, because that would fill the memory while the disk is full.
        log.error({ err, requests: batch.length }, 'could not write request logs; they are lost')
      }
    }
    if (dropped > 0) log.warn({ requests: dropped }, 'dropped request logs: the storage is too slow')
    dropped = 0
    writing = undefined
  }

  const flush = async (): Promise<void> => {
    await writing
    if (held.length > 0) await (writing ??= write())
  }

  return {
    add(entry) {
      if (held.length >= MOST_HELD || bytes >= MOST_BYTES) {
        dropped += 1
        return
      }
      held.push(entry)
      bytes += sizeOf(entry)
      if (writing) return
      if (held.length >= BATCH || bytes >= BATCH_BYTES) writing = write()
      else cancel ??= clock.after(WAIT, () => void (writing ??= write()))
    },
    flush,
  }
}

const sizeOf = ({ requestBody, responseBody }: RequestLog): number =>
  (requestBody?.length ?? 0) + (responseBody?.length ?? 0)
