/**
 * Reads messages to signed return paths one by one and stores their effects. Messages are read from the table of unread
 * mail, so those received before a crash are read after the restart.
 */
import type { Clock } from '../clock/clock.ts'
import type { Storage, UnreadReturnedMessage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { isReportTooEarly, isPrematureFailure, evaluateReturnedMail } from './returned-verdict.ts'
import { createReturnedMailReader, type ReturnedMailTables } from './reading/returned-reader.ts'

export interface ReturnedMailWorkerDeps {
  storage: Pick<Storage, 'beginReturned' | 'nextReturned' | 'postponeReturned' | 'settleReturned'>
  clock: Clock
  log: Logger
  tables: () => ReturnedMailTables
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

export function createReturnedMailWorker(deps: ReturnedMailWorkerDeps): Worker {
  const { storage, clock, log, pollMs = 60_000 } = deps
  const reader = createReturnedMailReader(clock, deps.tables)
  const onDuty = createDutyCheck(deps.duties, 'returned mail')

  /** Reads a message and stores its effects. Postpones a premature message if `mayWait` is set. */
  async function settle(message: UnreadReturnedMessage, mayWait: boolean): Promise<void> {
    const { id, emailId, deliveries, rcptTo, returnPath, attempts } = message
    const returned = attempts > MOST_ATTEMPTS ? null : await reader.read(new Uint8Array(message.bytes))
    const toReturnPath = rcptTo.toLowerCase() === returnPath.toLowerCase()
    const judged = evaluateReturnedMail(returned, { deliveries, toReturnPath }, deps.tables().rules)
    if (mayWait && isPrematureFailure(judged.report, deliveries)) return postpone(message)
    await storage.settleReturned({ id, ...judged }, clock.now())
    const effects = judged.report.entries.map(({ effect }) => effect)
    log.info(
      { message_id: id, email_id: emailId, kind: judged.report.kind, effects },
      'read a returned message',
    )
  }

  async function postpone({ id }: UnreadReturnedMessage): Promise<void> {
    const now = clock.now()
    await storage.postponeReturned({ id, dueAt: now + RETRY_MS }, now)
  }

  const step = async (): Promise<boolean> => {
    const now = clock.now()
    if (!(await onDuty())) return false
    const message = await storage.beginReturned({}, now)
    if (!message) return false
    const mayWait = now - message.receivedAt < PATIENCE_MS
    if (mayWait && isReportTooEarly(message.deliveries)) await postpone(message)
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
