/**
 * Turns stored events into webhook deliveries. The cursor moves in the transaction that stores them, so that a crash
 * neither loses an event nor sends it twice.
 */
import type { Clock } from '../clock/clock.ts'
import { isAfter, type SuppressedDelivery, type Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createDeliveries } from './fan-out.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

/** Events per step. */
const STEP = 500
/** Pause between runs while events keep arriving (milliseconds), so that they are handled together. */
const REST_MS = 20

export interface OutboxDeps {
  storage: Pick<Storage, 'readOutbox' | 'fanOutWebhooks'>
  clock: Clock
  log: Logger
  /** How often to look for events of other processes, in milliseconds. */
  pollMs: number
  /** Default: this process is the only one. */
  duties?: Duties | undefined
  /** Called when deliveries are due. */
  onStored: () => void
}

/** Logs deliveries that are never attempted. Logs the recipient's domain instead of the address. */
function logSuppressed(suppressed: readonly SuppressedDelivery[], log: Logger): void {
  for (const { teamId, emailId, deliveryId, recipient } of suppressed) {
    const domain = recipient.slice(recipient.lastIndexOf('@') + 1)
    const about = { email_id: emailId, team_id: teamId, delivery: deliveryId, domain }
    log.info({ ...about, state: 'suppressed' }, 'delivery')
  }
}

/** Creates the outbox; it begins with `start()`. */
export function createOutbox({ storage, clock, log, pollMs, duties, onStored }: OutboxDeps): Worker {
  const onDuty = createDutyCheck(duties, 'outbox')
  const step = async (): Promise<boolean> => {
    const { from, to, events, webhooks, suppressed } = await storage.readOutbox({ limit: STEP }, clock.now())
    if (!isAfter(to, from) || !(await onDuty())) return false
    const deliveries = createDeliveries(events, webhooks, clock.now())
    const stored = await storage.fanOutWebhooks({ from, to, deliveries }, clock.now())
    if (stored) logSuppressed(suppressed, log)
    if (stored && deliveries.length > 0) onStored()
    return events.length === STEP
  }
  const trouble = 'webhooks are delayed: the storage is not responding; no event is lost'
  return createWorker({ step, clock, log, pollMs, restMs: REST_MS, trouble })
}
