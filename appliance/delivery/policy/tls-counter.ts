/** Counts TLS results, and writes the counts periodically (RFC 8460 §4). */
import type { Clock } from '../../clock/clock.ts'
import { formatUtcDay } from '../../mail/tls-report.ts'
import type { ReportedPolicy, Storage, TlsCount } from '../../storage/storage.ts'
import type { Logger } from '../../watch/log.ts'

/** Time between two writes, in milliseconds. A crash loses the statistics of this time. */
const FLUSH_MS = 10_000
/** Number of distinct results in memory above which they are written at once. */
const MOST_KINDS = 2000
/** Maximum number of rows per domain and day, and so of failures that a report distinguishes. */
const MOST_ROWS = 100
/** Maximum length of a reason, in characters. */
const REASON_CHARS = 200

/** A session to count, or one that was skipped. */
export interface CountedSession {
  domain: string
  policy: ReportedPolicy
  /** `success`, or a result type of RFC 8460 §4.3. */
  result: string
  sourceIp: string
  mxHost: string
  mxIp: string
  reason: string
}

export interface TlsCounter {
  add(counted: CountedSession): void
  /** Writes pending counts. */
  flush(): Promise<void>
  /** Writes the rest and stops counting. */
  stop(): Promise<void>
}

/** Creates the counter. */
export function createTlsCounter({
  storage,
  clock,
  log,
}: {
  storage: Pick<Storage, 'addTlsResults'>
  clock: Clock
  log: Logger
}): TlsCounter {
  let counts = new Map<string, TlsCount>()
  let cancel: (() => void) | undefined
  let writing = Promise.resolve()
  let stopped = false

  const write = async (): Promise<void> => {
    cancel?.()
    cancel = undefined
    if (counts.size === 0) return
    const results = [...counts.values()]
    counts = new Map()
    try {
      await storage.addTlsResults({ results, most: MOST_ROWS }, clock.now())
    } catch (error) {
      // A failure to write statistics must not stop delivery. Callers that depend on storage report its failures.
      log.error(
        { err: error, kinds: results.length },
        'could not store TLS results; TLS reports will lack them',
      )
    }
  }
  const flush = (): Promise<void> => (writing = writing.then(write))

  return {
    add(counted) {
      if (stopped) return
      // A success needs no details, because no one investigates its cause.
      const plain = counted.result === 'success' ? { sourceIp: '', mxHost: '', mxIp: '', reason: '' } : {}
      const one = { ...counted, ...plain, day: formatUtcDay(clock.now()) }
      one.reason = one.reason.slice(0, REASON_CHARS)
      const { reason: _, ...what } = one
      const key = JSON.stringify(what)
      const known = counts.get(key)
      if (known) known.sessions += 1
      else counts.set(key, { ...one, sessions: 1 })
      if (counts.size >= MOST_KINDS) void flush()
      else cancel ??= clock.after(FLUSH_MS, () => void flush())
    },
    flush,
    async stop() {
      stopped = true
      await flush()
    },
  }
}
