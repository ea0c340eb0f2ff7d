import { serializeInvitation, parseInvitation } from './stored-invitation.ts'

/**
 * The token of an invitation while the person signs in. Kept in memory, or in session storage while the tab is at an
 * identity provider.
 */
let kept = ''

/** Key in session storage, which neither other tabs nor the emails shown here can read. */
const PARKED = 'posthaste.invitation'

/** Stores the invitation, if this page has one, for the return from an identity provider. `now`: Unix milliseconds. */
export function storeInvitation(now: number): void {
  if (kept === '') return
  try {
    sessionStorage.setItem(PARKED, serializeInvitation(kept, now))
  } catch {
    // Storage is disabled. The invitation page asks the person to open the link again.
  }
}

/** Reads and removes the stored invitation. */
function takeParked(now: number): string {
  try {
    const text = sessionStorage.getItem(PARKED)
    sessionStorage.removeItem(PARKED)
    return parseInvitation(text, now)
  } catch {
    // Storage is disabled, so nothing was stored.
    return ''
  }
}

/**
 * Reads the token from the address's fragment and removes it from the history. Falls back to a token read earlier, by
 * this page or before the person went to an identity provider. Empty if there is none. `now`: Unix milliseconds.
 */
export function takeInvitation(now: number): string {
  const left = takeParked(now)
  if (location.hash.length > 1) {
    kept = location.hash.slice(1)
    history.replaceState(history.state, '', location.pathname)
  } else if (left !== '') kept = left
  return kept
}
