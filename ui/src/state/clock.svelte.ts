/**
 * One ticking clock for all relative times. It follows the appliance's clock where the browser's is wrong:
 * "next try in 6 min" is the appliance's promise, counted by its clock.
 */

/** Below this the difference is the one-second resolution of the Date header and the way over the network. */
const TOLERATED_SKEW = 3000

let skew = 0
let ticked = $state(Date.now())

setInterval(() => {
  if (!document.hidden) ticked = Date.now() + skew
}, 1000)
document.addEventListener('visibilitychange', () => (ticked = Date.now() + skew))

/** The present as of the last tick, Unix milliseconds; reading it in a template follows the ticks. */
export const clock = {
  get now(): number {
    return ticked
  },
}

/** Takes the Date header of an answer (RFC 9110 §6.6.1). */
export function heardDate(header: string | null): void {
  const there = header === null ? NaN : Date.parse(header)
  if (Number.isNaN(there)) return
  const difference = there - Date.now()
  skew = Math.abs(difference) > TOLERATED_SKEW ? difference : 0
}
