/** Rate limiting of requests with a key, and its header fields. */
import type { FastifyReply } from 'fastify'
import { refuse } from '../mail/refusals.ts'
import type { RateLimiter } from '../senders/senders.ts'

/**
 * Takes a token for a request of the team. Sets the fields of both generations of IETF drafts that don't conflict
 * (docs/decisions/0006-rate-limit-headers.md). Refuses: `rate_limit_exceeded`.
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
 * Sets the limit of every team for clients without a valid key, because typed clients expect these fields in each
 * response.
 */
export function tellRate(reply: FastifyReply, { perSecond }: RateLimiter): void {
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
