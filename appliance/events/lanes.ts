/**
 * Sends due webhook deliveries, with a lane per endpoint so that one that hangs or fails delays no other. Storage keeps
 * the due deliveries; lanes only keep those in flight.
 */
import type { Clock } from '../clock/clock.ts'
import { computeNextWebhookAttempt, WEBHOOK_RETRY_DELAYS } from '../mail/webhook.ts'
import type { LeasedWebhookDelivery, Storage, WebhookAttempt } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { PostClient } from '../wire/post.ts'
import { attemptWebhook } from './attempt.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

/**
 * Concurrent requests: in total, to one endpoint, and to one that has failed `FAILING` times in a row, so that its
 * timeouts don't use up the total.
 */
const MOST = 500
const EACH = 20
const WHEN_FAILING = 1
const FAILING = 3

const DAY = 24 * 3_600_000
/**
 * An endpoint that only fails for this many days is disabled. Deliveries are retried for at most 28 hours, so its owner
 * has lost several.
 */
const DEAD_DAYS = 5
/** Minimum number of failures before that, because a single event in a quiet week says little. */
const DEAD_FAILURES = 10

/**
 * Lease of an attempt in milliseconds, longer than its timeout. If the process is killed, the attempt is repeated after
 * this time.
 */
const LEAST_LEASE = 30_000
/** Real milliseconds between two runs. Deliveries that become due meanwhile are leased together. */
const REST_MS = 5
/** How long a stop waits for requests in flight, in real milliseconds. */
const DRAIN_MS = 5000

export interface LanesDeps {
  storage: Pick<Storage, 'leaseWebhookDeliveries' | 'settleWebhookAttempt'>
  poster: PostClient
  clock: Clock
  log: Logger
  /** The User-Agent header. */
  agent: string
  pollMs: number
  /** Returns a random number in [0, 1). */
  random: () => number
}

/**
 * Creates the lanes; they begin with `start()`. `stop` gives requests in flight five seconds to finish; unfinished ones
 * are repeated later.
 */
export function createLanes(deps: LanesDeps): Worker {
  const { storage, clock, log, poster } = deps
  const flights = new Set<Promise<void>>()
  const inFlight = new Map<string, number>()
  const pauses = WEBHOOK_RETRY_DELAYS.map((pause) => Math.max(pause, LEAST_LEASE))
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

/** The fields of every log line about a webhook delivery. */
const aboutOf = ({ webhookId, teamId, emailId, id, type, attempt }: LeasedWebhookDelivery) => ({
  webhook_id: webhookId,
  team_id: teamId,
  email_id: emailId,
  delivery: id,
  event: type,
  attempt,
})

/** Stores an attempt and its consequences. */
async function settle(
  leased: LeasedWebhookDelivery,
  attempt: WebhookAttempt,
  { storage, clock, log, random }: LanesDeps,
): Promise<void> {
  const { webhookId, teamId, attempt: attemptNumber, endpoint } = leased
  const now = clock.now()
  const success = attempt.error === null
  const dueAt = computeNextWebhookAttempt(attemptNumber, now, random())
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
