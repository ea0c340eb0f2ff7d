/**
 * A shared clock for all relative times. It corrects for a wrong browser clock, so that times such as "in 6 min" match
 * the server's clock.
 */

/**
 * Clock difference that isn't corrected, in milliseconds. Network latency and the Date header's resolution of one
 * second cause smaller differences.
 */
const TOLERATED_SKEW = 3000

let skew = 0
let ticked = $state(Date.now())

setInterval(() => {
  if (!document.hidden) ticked = Date.now() + skew
}, 1000)
document.addEventListener('visibilitychange', () => (ticked = Date.now() + skew))

/** Unix milliseconds at the last tick. Templates that read `now` are updated each second. */
export const clock = {
  get now(): number {
    return ticked
  },
}

/** Adjusts the clock to the Date header of a response (RFC 9110 §6.6.1). */
export function syncClock(header: string | null): void {
  const there = header === null ? NaN : Date.parse(header)
  if (Number.isNaN(there)) return
  const difference = there - Date.now()
  skew = Math.abs(difference) > TOLERATED_SKEW ? difference : 0
}
