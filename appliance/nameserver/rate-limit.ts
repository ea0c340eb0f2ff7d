/**
 * Limits UDP responses per network. The source address of a UDP packet can be forged, so that a server without a limit
 * floods whom the attacker chooses.
 */

/** Responses to one network per second, and how many of these seconds at once after a pause. */
const PER_SECOND = 20
const BURST_S = 5
/** How many networks to count; the least recently seen is forgotten first. */
const NETWORKS = 20_000

/** `send` the response, send a `truncated` one, which makes an honest client come over TCP, or send nothing. */
export type Permission = 'send' | 'truncate' | 'drop'

export interface ResponseLimit {
  /** @param now milliseconds on a clock that never goes back */
  permit(network: string, now: number): Permission
}

interface Bucket {
  left: number
  at: number
  refused: number
}

export function createResponseLimit(perSecond = PER_SECOND): ResponseLimit {
  const burst = perSecond * BURST_S
  const buckets = new Map<string, Bucket>()
  return {
    permit(network, now) {
      const bucket = buckets.get(network) ?? { left: burst, at: now, refused: 0 }
      // Delete first, so that the map stays in order of use.
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
