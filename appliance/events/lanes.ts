/**
 * Sends what is due: a lane for each endpoint, so that one that hangs or fails holds up nobody else. What is due stands in the storage;
 * here is only what is under way.
 */
import type { Clock } from '../clock/clock.ts'
import { nextWebhookAttempt, RETRY_PAUSES } from '../mail/webhook.ts'
import type { LeasedWebhookDelivery, Storage, WebhookAttempt } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Poster } from '../wire/post.ts'
import { attemptWebhook } from './attempt.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

/** Requests under way: in all, to one endpoint, and to one that has failed `FAILING` times in a row, which must not fill the rest with its silence. */
const MOST = 500
const EACH = 20
const WHEN_FAILING = 1
const FAILING = 3

const DAY = 24 * 3_600_000
/** An endpoint that only fails for so long is disabled: no delivery is tried for longer than 28 hours, so its owner lost several. */
const DEAD_DAYS = 5
/** And at least so often: a single event in a quiet week says little. */
const DEAD_FAILURES = 10

/** An attempt whose end is never written down (a kill) is made again after this time at the earliest: past its deadline. */
const LEAST_LEASE = 30_000
/** Real time between two looks (milliseconds): what became due meanwhile is leased together. */
const REST_MS = 5
/** How long a stop waits for requests under way, in real milliseconds. */
const DRAIN_MS = 5000

export interface LanesDeps {
  storage: Pick<Storage, 'leaseWebhookDeliveries' | 'settleWebhookAttempt'>
  poster: Poster
  clock: Clock
  log: Logger
  /** `User-Agent`. */
  agent: string
  pollMs: number
  /** Dice: a number in [0, 1). */
  random: () => number
}

/** Builds the lanes; they begin with `start()`. `stop` lets requests under way finish for five seconds; others are made again later. */
export function createLanes(deps: LanesDeps): Worker {
  const { storage, clock, log, poster } = deps
  const flights = new Set<Promise<void>>()
  const inFlight = new Map<string, number>()
  const pauses = RETRY_PAUSES.map((pause) => Math.max(pause, LEAST_LEASE))
  let cut = false

  const fly = async (leased: LeasedWebhookDelivery): Promise<void> => {
    const { webhookId } = leased
    inFlight.set(webhookId, (inFlight.get(webhookId) ?? 0) + 1)
    try {
      const attempt = await attemptWebhook(leased, deps)
      if (!cut) await settle(leased, attempt, deps)
    } catch (error) {
      log.error({ err: error, ...aboutOf(leased) }, 'could not record a webhook attempt; it will be repeated')
    }
    const left = inFlight.get(webhookId)! - 1
    if (left === 0) inFlight.delete(webhookId)
    else inFlight.set(webhookId, left)
  }
  const step = async (): Promise<boolean> => {
    const limit = MOST - flights.size
    if (limit <= 0) return false
    const room = { limit, each: EACH, failing: WHEN_FAILING, failures: FAILING }
    const args = { ...room, inFlight: Object.fromEntries(inFlight), pauses }
    for (const leased of await storage.leaseWebhookDeliveries(args, clock.now())) {
      const flight = fly(leased).finally(() => {
        flights.delete(flight)
        worker.wake()
      })
      flights.add(flight)
    }
    return false
  }
  const trouble = 'webhooks are delayed: the storage is not responding; they stay due'
  const worker = createWorker({ ...deps, step, restMs: REST_MS, trouble })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, DRAIN_MS)))
      await Promise.race([Promise.all(flights), late])
      clearTimeout(timer)
      cut = true
      poster.close()
      await Promise.all(flights)
    },
  }
}

/** What every line about a webhook delivery carries. */
const aboutOf = ({ webhookId, teamId, emailId, id, type, attempt }: LeasedWebhookDelivery) => ({
  ...{ webhook_id: webhookId, team_id: teamId, email_id: emailId, delivery: id, event: type, attempt },
})

/** Writes down an attempt, with what follows from it. */
async function settle(
  leased: LeasedWebhookDelivery,
  attempt: WebhookAttempt,
  { storage, clock, log, random }: LanesDeps,
): Promise<void> {
  const { webhookId, teamId, attempt: attemptNumber, endpoint } = leased
  const now = clock.now()
  const success = attempt.error === null
  const dueAt = nextWebhookAttempt(attemptNumber, now, random())
  const reason = `Every attempt failed for ${DEAD_DAYS} days. Last error: ${attempt.error ?? ''}`
  const disable = { failingBefore: now - DEAD_DAYS * DAY, leastFailures: DEAD_FAILURES, reason }
  const outcome = success ? { success } : { success, dueAt }
  const { disabled } = await storage.settleWebhookAttempt({ attempt, attemptNumber, outcome, disable }, now)
  const about = { ...aboutOf(leased), status: attempt.status, ms: attempt.durationMs }
  if (success) log.debug(about, 'webhook delivery succeeded')
  else log.info({ ...about, error: attempt.error }, 'webhook attempt failed')
  if (!success && dueAt === null) log.warn(about, 'webhook delivery failed; it can be replayed')
  if (disabled)
    log.warn({ webhook_id: webhookId, team_id: teamId, endpoint }, 'disabled a webhook: it failed for days')
}
