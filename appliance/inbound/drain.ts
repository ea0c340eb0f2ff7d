/**
 * Reads messages to signed return paths one by one and stores their effects. Messages are read from the table of unread
 * mail, so those received before a crash are read after the restart.
 */
import type { Clock } from '../clock/clock.ts'
import type { Storage, UnreadReturned } from '../storage/storage.ts'
import { dutyOf, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { isEarly, isPremature, judgeReturned } from './judge-returned.ts'
import { createReturnedReader, type ReturnedTables } from './reading/returned-reader.ts'

export interface DrainDeps {
  storage: Pick<Storage, 'beginReturned' | 'nextReturned' | 'postponeReturned' | 'settleReturned'>
  clock: Clock
  log: Logger
  tables: () => ReturnedTables
  pollMs?: number
  /** Default: this is the only process. */
  duties?: Duties | undefined
}

/**
 * Maximum number of attempts to read a message before it is set aside as unreadable. An attempt is lost when the
 * process ends for any reason.
 */
const MOST_ATTEMPTS = 10
/** A report can arrive before the result of its attempt is stored. The drain then retries after this time. */
const RETRY_MS = 5000
const PATIENCE_MS = 15 * 60_000

export function createDrain(deps: DrainDeps): Worker {
  const { storage, clock, log, pollMs = 60_000 } = deps
  const reader = createReturnedReader(clock, deps.tables)
  const onDuty = dutyOf(deps.duties, 'returned mail')

  /** Reads a message and stores its effects. Postpones a premature message if `mayWait` is set. */
  async function settle(message: UnreadReturned, mayWait: boolean): Promise<void> {
    const { id, emailId, deliveries, rcptTo, returnPath, attempts } = message
    const returned = attempts > MOST_ATTEMPTS ? null : await reader.read(new Uint8Array(message.bytes))
    const toReturnPath = rcptTo.toLowerCase() === returnPath.toLowerCase()
    const judged = judgeReturned(returned, { deliveries, toReturnPath }, deps.tables().rules)
    if (mayWait && isPremature(judged.report, deliveries)) return postpone(message)
    await storage.settleReturned({ id, ...judged }, clock.now())
    const effects = judged.report.entries.map(({ effect }) => effect)
    log.info(
      { message_id: id, email_id: emailId, kind: judged.report.kind, effects },
      'read a returned message',
    )
  }

  async function postpone({ id }: UnreadReturned): Promise<void> {
    const now = clock.now()
    await storage.postponeReturned({ id, dueAt: now + RETRY_MS }, now)
  }

  const step = async (): Promise<boolean> => {
    const now = clock.now()
    if (!(await onDuty())) return false
    const message = await storage.beginReturned({}, now)
    if (!message) return false
    const mayWait = now - message.receivedAt < PATIENCE_MS
    if (mayWait && isEarly(message.deliveries)) await postpone(message)
    else await settle(message, mayWait)
    return true
  }
  const next = () => storage.nextReturned({}, clock.now())
  const trouble = 'could not read a returned message; will retry'
  const worker = createWorker({ step, next, clock, log, pollMs, trouble })
  return {
    ...worker,
    async stop() {
      const stopped = worker.stop()
      await reader.close()
      await stopped
    },
  }
}
