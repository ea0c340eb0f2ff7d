/** Times in sentences. Always UTC: the person who reads it may sit elsewhere than the server. */

/** `14:31`. */
function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `14:31 UTC`, with the day where it is not today's. */
export function moment(at: number, now: number): string {
  const day = utcDay(at)
  return day === utcDay(now) ? `${clock(at)} UTC` : `${day} ${clock(at)} UTC`
}

/** `2026-11-21`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** When the next day of UTC begins. */
export function nextMidnight(now: number): number {
  return (Math.floor(now / 86_400_000) + 1) * 86_400_000
}
