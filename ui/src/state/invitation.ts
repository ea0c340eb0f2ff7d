import { parked, unparked } from './parked.ts'

/** The secret of an invitation's link, while its person signs in: in this page's memory, and in its tab while the tab is at an identity provider. */
let kept = ''

/** Its name in the storage of the tab, which no other tab and no mail that is shown can read. */
const PARKED = 'posthaste.invitation'

/** Leaves the invitation to the page that comes back from a provider, where this page has one. `now`: Unix milliseconds. */
export function parkInvitation(now: number): void {
  if (kept === '') return
  try {
    sessionStorage.setItem(PARKED, parked(kept, now))
  } catch {
    // Storage is off: the page of the invitation says that its link has to be opened again.
  }
}

/** What was left to this page, which is the only one to get it. */
function takeParked(now: number): string {
  try {
    const text = sessionStorage.getItem(PARKED)
    sessionStorage.removeItem(PARKED)
    return unparked(text, now)
  } catch {
    // Storage is off, so nothing was left.
    return ''
  }
}

/**
 * Takes it from the address, where it stands behind the `#`, and out of the history; else the one that was taken before,
 * by this page or by the one that left for a provider. Empty: there is none. `now`: Unix milliseconds.
 */
export function takeInvitation(now: number): string {
  const left = takeParked(now)
  if (location.hash.length > 1) {
    kept = location.hash.slice(1)
    history.replaceState(history.state, '', location.pathname)
  } else if (left !== '') kept = left
  return kept
}
