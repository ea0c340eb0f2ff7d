/** What a tab writes down of an invitation before it leaves for an identity provider. Pure. */

/** How long somebody who went to a provider may be away, in milliseconds: a provider is given ten minutes, and may be tried again. */
export const MOST_AWAY = 30 * 60_000

/** What is written down for a tab that leaves. `now`: Unix milliseconds. */
export const parked = (token: string, now: number): string =>
  JSON.stringify({ token, until: now + MOST_AWAY })

/** The token of what `parked` wrote; empty when that is too old, or was not written by it. `now`: Unix milliseconds. */
export function unparked(text: string | null, now: number): string {
  try {
    const { token, until } = JSON.parse(text ?? '{}') as { token?: unknown; until?: unknown }
    return typeof token === 'string' && typeof until === 'number' && until > now ? token : ''
  } catch {
    // Something else was put there by hand.
    return ''
  }
}
