/** Format of an invitation that a tab stores before it goes to an identity provider. Pure. */

/**
 * Maximum age of a stored invitation in milliseconds. A sign-in at a provider may take ten minutes, and may be retried.
 */
export const MOST_ABSENCE_MS = 30 * 60_000

/** Returns the text to store. `now`: Unix milliseconds. */
export const parked = (token: string, now: number): string =>
  JSON.stringify({ token, until: now + MOST_ABSENCE_MS })

/** Returns the token in a text of `parked`; empty if it is too old or invalid. `now`: Unix milliseconds. */
export function unparked(text: string | null, now: number): string {
  try {
    const { token, until } = JSON.parse(text ?? '{}') as { token?: unknown; until?: unknown }
    return typeof token === 'string' && typeof until === 'number' && until > now ? token : ''
  } catch {
    // Not written by `parked`.
    return ''
  }
}
