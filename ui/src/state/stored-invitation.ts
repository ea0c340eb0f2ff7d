/** Format of an invitation that a tab stores before it goes to an identity provider. Pure. */

/**
 * Maximum age of a stored invitation in milliseconds. A sign-in at a provider may take ten minutes, and may be retried.
 */
export const MAX_INVITATION_AGE_MS = 30 * 60_000

/** Returns the text to store for an invitation token. `now`: Unix milliseconds. */
export const serializeInvitation = (token: string, now: number): string =>
  JSON.stringify({ token, until: now + MAX_INVITATION_AGE_MS })

/** Returns the token from a stored text; empty if the text is too old or invalid. `now`: Unix milliseconds. */
export function parseInvitation(text: string | null, now: number): string {
  try {
    const { token, until } = JSON.parse(text ?? '{}') as { token?: unknown; until?: unknown }
    return typeof token === 'string' && typeof until === 'number' && until > now ? token : ''
  } catch {
    // The text wasn't written by `serializeInvitation`.
    return ''
  }
}
