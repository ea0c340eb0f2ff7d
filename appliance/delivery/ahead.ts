/**
 * How much is leased before there is a connection for it, so that no connection idles while a lease is committed. Pure; times in Unix
 * milliseconds.
 */

/** A lease, the way and the signature take some milliseconds; twice as much on a busy machine. */
const LATELY_MS = 20

/**
 * Deliveries to lease beyond the free connections: as many as ended on the lane just now, one for each of its connections at most. A slow
 * server gets none, so that nothing waits here that could be held, dropped or overtaken in the spool.
 * @param ended when the last conversations ended, the last one last
 */
export function aheadOf(ended: readonly number[], connections: number, now: number): number {
  const lately = ended.filter((at) => at <= now && now - at < LATELY_MS).length
  return Math.min(lately, connections)
}

/** The ends with one more, as many as `aheadOf` can need. */
export function endedAlso(ended: readonly number[], connections: number, now: number): number[] {
  return [...ended, now].slice(-connections)
}
