/**
 * Limits UDP responses per network. The source address of a UDP packet can be forged, so a server without a limit would
 * flood whomever an attacker chooses.
 */

/** Number of responses to one network per second, and the burst after a pause, in seconds' worth of responses. */
const PER_SECOND = 20
const BURST_S = 5
/** Maximum number of networks to count; the least recently seen is dropped first. */
const NETWORKS = 20_000

/** `send` the response, `truncate` it so that an honest client repeats the query over TCP, or `drop` it. */
export type LimitDecision = 'send' | 'truncate' | 'drop'

export interface ResponseLimiter {
  /** @param now milliseconds on a clock that never goes back */
  permit(network: string, now: number): LimitDecision
}

interface Bucket {
  left: number
  at: number
  refused: number
}

export function createResponseLimiter(perSecond = PER_SECOND): ResponseLimiter {
  const burst = perSecond * BURST_S
  const buckets = new Map<string, Bucket>()
  return {
    permit(network, now) {
      const bucket = buckets.get(network) ?? { left: burst, at: now, refused: 0 }
      // Delete first, so that the map stays ordered by last use.
      buckets.delete(network)
      buckets.set(network, bucket)
      if (buckets.size > NETWORKS) buckets.delete(buckets.keys().next().value!)
      bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * perSecond)
      bucket.at = now
      if (bucket.left >= 1) {
        bucket.left--
        return 'send'
      }
      // A truncated response is no larger than the query, so it amplifies nothing.
      return ++bucket.refused % 2 === 0 ? 'truncate' : 'drop'
    },
  }
}
