/** Rate limiting of requests with a key, and its header fields. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { FastifyReply } from 'fastify'
import type { RateLimiter } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Takes a token from the team's budget for a request. Sets the fields of both generations of IETF drafts that don't
 * conflict (docs/decisions/0006-rate-limit-headers.md). Refuses: `rate_limit_exceeded`.
 */
export function limitRate(reply: FastifyReply, limiter: RateLimiter, teamId: string): void {
  const { perSecond } = limiter
  const { allowed, remaining, resetSeconds, retrySeconds } = limiter.take(teamId)
  setRate(reply, perSecond, remaining, resetSeconds)
  if (allowed) return
  void reply.header('retry-after', retrySeconds)
  throw refuse('rate_limit_exceeded', { limit: perSecond })
}

/**
 * Sets the fields with the limit of every team for clients without a valid key, because typed clients expect these
 * fields in each response.
 */
export function setRateHeaders(reply: FastifyReply, { perSecond }: RateLimiter): void {
  setRate(reply, perSecond, perSecond, 0)
}

function setRate(reply: FastifyReply, perSecond: number, remaining: number, resetSeconds: number): void {
  void reply.headers({
    'ratelimit-limit': perSecond,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': resetSeconds,
    'ratelimit-policy': `${perSecond};w=1`,
    ratelimit: `"team";r=${remaining};t=${resetSeconds}`,
  })
}

/**
 * Maximum number of test emails of a team per UTC hour. Enough for authors who test carefully, too few for real
 * mailings.
 */
const MOST_TESTS = 60
const HOUR = 3_600_000

/**
 * Counts test emails of a team, on all nodes together. If the limit would be exceeded, counts none of them and refuses:
 * `test_limit`.
 */
export async function countTestEmails(
  { storage, clock }: { storage: Pick<Storage, 'countTests'>; clock: Pick<Clock, 'now'> },
  teamId: string,
  emails: number,
): Promise<void> {
  const now = clock.now()
  if (await storage.countTests({ teamId, emails, most: MOST_TESTS }, now)) return
  const left = HOUR - (now % HOUR)
  throw refuse('test_limit', {
    limit: MOST_TESTS,
    minutes: Math.ceil(left / 60_000),
    seconds: Math.ceil(left / 1000),
  })
}
