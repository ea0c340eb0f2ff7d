/**
 * A shared clock for all relative times. It corrects for a wrong browser clock, so that "next attempt in 6 min" matches
 * the server's clock.
 */

/**
 * Tolerated difference in milliseconds. Smaller differences come from the Date header's resolution of one second and
 * network latency.
 */
const TOLERATED_SKEW = 3000

let skew = 0
let ticked = $state(Date.now())

setInterval(() => {
  if (!document.hidden) ticked = Date.now() + skew
}, 1000)
document.addEventListener('visibilitychange', () => (ticked = Date.now() + skew))

/** Unix milliseconds as of the last tick. Reading `now` in a template makes it update. */
export const clock = {
  get now(): number {
    return ticked
  },
}

/** Adjusts the clock to the Date header of a response (RFC 9110 §6.6.1). */
export function heardDate(header: string | null): void {
  const there = header === null ? NaN : Date.parse(header)
  if (Number.isNaN(there)) return
  const difference = there - Date.now()
  skew = Math.abs(difference) > TOLERATED_SKEW ? difference : 0
}
