import { tick, untrack } from 'svelte'

/**
 * The address bar as state. Paths are relative to `/dashboard`. Plain `<a href={href('/emails')}>` links don't reload
 * the page. "Back" restores the scroll position and the focused row.
 */

const base = import.meta.env.BASE_URL.replace(/\/$/, '')

/** State of a page at the time it was left. */
interface Left {
  scroll: number
  row: string | null
}

/**
 * State of a history entry: the addresses that led to it, newest first; the address of the other page that led to it,
 * since tabs of one page link to each other; and the state of the page when it was left.
 */
interface Entry {
  trail?: readonly string[]
  origin?: string
  left?: Left
}

/** Maximum number of stored addresses: a list, a sheet above it, and a dialog of the sheet. */
const TRAIL = 2

const entry = (): Entry => (history.state ?? {}) as Entry

function here(): { path: string; search: string } {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : '/'
  return { path: path === '' ? '/' : path, search: location.search }
}

let current = $state(here())
let pending: Left | null = entry().left ?? null

/** The current address. Templates and derived values that read it are updated when it changes. */
export const router = {
  get path(): string {
    return current.path
  },
  get query(): URLSearchParams {
    return new URLSearchParams(current.search)
  },
  /** The path and query of the current page, to return to later. */
  get here(): string {
    return current.path + current.search
  },
}

const pathOf = (address: string): string => address.split('?', 1)[0] ?? address

/**
 * Returns the path of the page that this one was opened from, ignoring tabs; null if it was opened by an external link.
 */
export function getOriginPath(): string | null {
  void current
  const { origin } = entry()
  return origin === undefined ? null : pathOf(origin)
}

/** Returns the URL of a dashboard path, for `href`. */
export const href = (path: string): string => base + path

/** Returns the current path with changed query parameters; null removes one. */
export function buildQueryPath(changes: Record<string, string | null>): string {
  const query = router.query
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const search = query.toString()
  return current.path + (search === '' ? '' : `?${search}`)
}

/** Returns the history state for going to `to`. */
function entryFor(to: string): Entry {
  const origin = pathOf(to) === current.path ? entry().origin : router.here
  const trail = [router.here, ...(entry().trail ?? [])].slice(0, TRAIL)
  return { trail, ...(origin !== undefined && { origin }) }
}

type Going = (path: string, query: URLSearchParams) => void

/** Listeners for navigation that is about to happen. */
const goings: Going[] = []

/** Calls `act` when navigation to another page is about to happen: on the press of a link, or at the start of `go`. */
export const onNavigate = (act: Going): void => void goings.push(act)

function tell(to: string, whom: readonly Going[]): void {
  const path = pathOf(to)
  if (path === current.path) return
  const query = new URLSearchParams(to.slice(path.length))
  untrack(() => whom.forEach((act) => act(path, query)))
}

const tellGoing = (to: string): void => tell(to, goings)

/** Navigates to a dashboard path. `replace` creates no history entry, for redirects and small view state. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  const before = current.path
  tellGoing(to)
  if (options.replace) history.replaceState(history.state, '', href(to))
  else {
    remember()
    history.pushState(entryFor(to), '', href(to))
  }
  current = here()
  if (current.path === before) return
  pending = null
  void tick().then(() => {
    if (pending !== null) return
    scrollTo(0, 0)
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true })
  })
}

/**
 * Closes a view with its own address, such as a sheet, and goes to `to`. Goes back one or two history entries if that
 * leads there, so that "Back" always has a visible effect.
 */
export function closeView(to: string): void {
  const at = entry().trail?.indexOf(to) ?? -1
  if (at >= 0) history.go(-at - 1)
  else go(to, { replace: true })
}

/** The last state of each page, by path, so that a list keeps its cursor and scroll position. */
const seen = new Map<string, Left & { address: string }>()

/** Goes up one level, to the last state of that page. Used by Esc and the link above the title. */
export function goUp(path: string): void {
  const last = seen.get(path)
  const { origin = path } = entry()
  go(last?.address ?? (pathOf(origin) === path ? origin : path))
  pending = last ?? null
  void tick().then(restoreScroll)
}

/** Stores the state of the page that is being left, in the history and for `up`. */
function remember(): void {
  const focused = document.activeElement
  const row = focused instanceof HTMLElement ? (focused.dataset.row ?? null) : null
  const left: Left = { scroll: scrollY, row }
  history.replaceState({ ...entry(), left } satisfies Entry, '')
  seen.set(current.path, { ...left, address: router.here })
}

/** Whether the page was visited before and its previous state still has to be restored. */
export const isRestoring = (): boolean => pending !== null

/** Returns the scroll position that still has to be restored; 0 if there is none. */
export const scrollToRestore = (): number => pending?.scroll ?? 0

/**
 * Maximum number of pixels by which a page may be shorter than before for its scroll position to be restored. Row
 * heights are rounded.
 */
const SHORTER = 64

/** Restores the scroll position. Call it once data has loaded, because the page is too short before that. */
export function restoreScroll(): void {
  if (pending === null) return
  const row = pending.row && document.querySelector<HTMLElement>(`[data-row="${CSS.escape(pending.row)}"]`)
  if (row) row.focus({ preventScroll: true })
  if (document.documentElement.scrollHeight + SHORTER >= pending.scroll + innerHeight) {
    scrollTo(0, pending.scroll)
    pending = null
  }
}

/** Returns the parameters of `path` if it matches `pattern` (`/emails/:id`), otherwise null. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/')
  const given = path.replace(/(.)\/$/, '$1').split('/')
  if (wanted.length !== given.length) return null
  const found: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const text = given[i] ?? ''
    if (part.startsWith(':') && text !== '') found[part.slice(1)] = text
    else if (part !== text) return null
  }
  return found
}

/** Returns the dashboard path of the link around an event's target. */
function wayAround(target: EventTarget | null): string | null {
  const link = target instanceof Element ? target.closest('a') : null
  if (link?.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return null
  return link.pathname.slice(base.length) + link.search
}

/** Returns the dashboard path of a link; null for other links. */
export const getLinkPath = (link: Element): string | null => wayAround(link)

/** Calls `act` with each dashboard link that the pointer or the focus reaches. */
export function onLinkApproach(act: (path: string) => void): void {
  const approached = ({ target }: Event) => {
    const to = wayAround(target)
    if (to !== null) act(pathOf(to))
  }
  document.addEventListener('pointerover', approached, { passive: true })
  document.addEventListener('focusin', approached)
}

/** Returns the dashboard path of the link around an event's target if it opens in this window; otherwise null. */
function wayWithin(target: EventTarget | null): string | null {
  const link = target instanceof Element ? target.closest('a') : null
  return link?.target !== '' || link.hasAttribute('download') ? null : wayAround(link)
}

/** Returns the dashboard path that a press or click leads to. */
function wayOf(event: MouseEvent): string | null {
  if (event.defaultPrevented || event.button !== 0) return null
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null
  return wayWithin(event.target)
}

/**
 * Time without movement after which the pointer or focus counts as resting on a link, in milliseconds. A click takes
 * longer.
 */
const REST = 50

/** Listeners for navigation that is likely to happen. */
const restings: Going[] = []

/**
 * Reports `to` as the likely next path, unless the returned function is called within `REST`. Used for an entry that is
 * selected but not opened yet.
 */
export function hintNextPath(to: string): () => void {
  const timer = setTimeout(() => tell(to, restings), REST)
  return () => clearTimeout(timer)
}

/**
 * Calls `act` with each link that the pointer or the keyboard focus rests on, and with the paths passed to
 * `hintNextPath`. Ignores links that scroll under the pointer, and touch, where the press follows at once.
 */
export function onLinkRest(act: Going): void {
  restings.push(act)
  let leave: (() => void) | undefined
  const come = (target: EventTarget | null) => {
    leave?.()
    const to = wayWithin(target)
    leave = to === null ? undefined : hintNextPath(to)
  }
  const moved = ({ target, pointerType, buttons }: PointerEvent) =>
    come(pointerType === 'touch' || buttons !== 0 ? null : target)
  document.addEventListener('pointermove', moved, { passive: true })
  document.documentElement.addEventListener('pointerleave', () => come(null))
  document.addEventListener('focusin', ({ target }) =>
    come(target instanceof Element && target.matches(':focus-visible') ? target : null),
  )
}

function followed(event: MouseEvent): void {
  const to = wayOf(event)
  if (to === null) return
  event.preventDefault()
  go(to, { replace: to === router.here })
}

function pressed(event: PointerEvent): void {
  const to = wayOf(event)
  if (to !== null) tellGoing(to)
}

history.scrollRestoration = 'manual'
document.addEventListener('click', followed)
document.addEventListener('pointerdown', pressed, { passive: true })
addEventListener('popstate', (event) => {
  pending = (event.state as Entry | null)?.left ?? null
  current = here()
  void tick().then(restoreScroll)
})
addEventListener('pagehide', remember)
// Reload when a link with a secret in the fragment is opened in a tab that already shows its page, because the page
// reads the secret only on load.
addEventListener('hashchange', () => {
  if (location.hash.length > 1) location.reload()
})
