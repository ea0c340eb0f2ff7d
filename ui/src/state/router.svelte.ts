import { tick, untrack } from 'svelte'

/**
 * The address bar as state. Paths here are below `/dashboard`; plain `<a href={href('/emails')}>` links are followed
 * without a page load. Back returns to where the page was scrolled and to the row that had the focus.
 */

const base = import.meta.env.BASE_URL.replace(/\/$/, '')

/** What a history entry remembers of its page. */
interface Left {
  scroll: number
  row: string | null
}

/**
 * The state of a history entry: which addresses led to it, the last one first, which address of another page did (the tabs
 * of a page lead to each other), and how it was left, once it was.
 */
interface Entry {
  trail?: readonly string[]
  origin?: string
  left?: Left
}

/** Addresses in a trail: a list, a sheet above it, and a question about what the sheet shows. */
const TRAIL = 2

const entry = (): Entry => (history.state ?? {}) as Entry

function here(): { path: string; search: string } {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : '/'
  return { path: path === '' ? '/' : path, search: location.search }
}

let current = $state(here())
let pending: Left | null = entry().left ?? null

/** The current place. Reading it in a template or a derived value follows the address bar. */
export const router = {
  get path(): string {
    return current.path
  },
  get query(): URLSearchParams {
    return new URLSearchParams(current.search)
  },
  /** Path and query as one, for coming back to. */
  get here(): string {
    return current.path + current.search
  },
}

const pathOf = (address: string): string => address.split('?', 1)[0] ?? address

/** The path of the page from which this one was opened, whatever tabs were looked at since; null: by a link from outside. */
export function originPath(): string | null {
  void current
  const { origin } = entry()
  return origin === undefined ? null : pathOf(origin)
}

/** The address of a dashboard path, for `href`. */
export const href = (path: string): string => base + path

/** The current path with some query parameters changed; null removes one. */
export function withQuery(changes: Record<string, string | null>): string {
  const query = router.query
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const search = query.toString()
  return current.path + (search === '' ? '' : `?${search}`)
}

/** What the entry of `to` knows of the page before. */
function entryFor(to: string): Entry {
  const origin = pathOf(to) === current.path ? entry().origin : router.here
  const trail = [router.here, ...(entry().trail ?? [])].slice(0, TRAIL)
  return { trail, ...(origin !== undefined && { origin }) }
}

type Going = (path: string, query: URLSearchParams) => void

/** Those that want to know where somebody sets out for. */
const goings: Going[] = []

/** Tells of another page that somebody is about to go to: when a link to it is pressed, and before the way there is gone. */
export const whenGoing = (act: Going): void => void goings.push(act)

function tell(to: string, whom: readonly Going[]): void {
  const path = pathOf(to)
  if (path === current.path) return
  const query = new URLSearchParams(to.slice(path.length))
  untrack(() => whom.forEach((act) => act(path, query)))
}

const tellGoing = (to: string): void => tell(to, goings)

/** Goes to a dashboard path. `replace` leaves no history entry behind: for redirects and small view state. */
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

/** Closes what has its own address, a sheet for one, and goes to `to`: a step or two back where that leads there, so that no Back press does nothing. */
export function close(to: string): void {
  const at = entry().trail?.indexOf(to) ?? -1
  if (at >= 0) history.go(-at - 1)
  else go(to, { replace: true })
}

/** How each page was last seen, by its path: the list that an email was opened from keeps its cursor and scroll. */
const seen = new Map<string, Left & { address: string }>()

/** Up one level, to the page as it was left: for Esc and for the link above a title. */
export function up(path: string): void {
  const last = seen.get(path)
  const { origin = path } = entry()
  go(last?.address ?? (pathOf(origin) === path ? origin : path))
  pending = last ?? null
  void tick().then(restore)
}

/** Writes down how the page is being left, in the history and for `up`. */
function remember(): void {
  const focused = document.activeElement
  const row = focused instanceof HTMLElement ? (focused.dataset.row ?? null) : null
  const left: Left = { scroll: scrollY, row }
  history.replaceState({ ...entry(), left } satisfies Entry, '')
  seen.set(current.path, { ...left, address: router.here })
}

/** Whether this is a page that was left before, and is not yet as it was. */
export const returning = (): boolean => pending !== null

/** How far down a page was scrolled that was left before, and is not yet as it was; 0 for all others. */
export const returningTo = (): number => pending?.scroll ?? 0

/** Pixels by which a page may be shorter than it was and have its place: rows that are made anew round to other heights. */
const SHORTER = 64

/** Returns to where the page was left. Called after each first load of data, since only then is there a place to return to. */
export function restore(): void {
  if (pending === null) return
  const row = pending.row && document.querySelector<HTMLElement>(`[data-row="${CSS.escape(pending.row)}"]`)
  if (row) row.focus({ preventScroll: true })
  if (document.documentElement.scrollHeight + SHORTER >= pending.scroll + innerHeight) {
    scrollTo(0, pending.scroll)
    pending = null
  }
}

/** The parameters of `path` when it has the shape of `pattern` (`/emails/:id`), else null. */
export function match(pattern: string, path: string): Record<string, string> | null {
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

/** Where within the dashboard a link around the target of an event leads. */
function wayAround(target: EventTarget | null): string | null {
  const link = target instanceof Element ? target.closest('a') : null
  if (link?.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return null
  return link.pathname.slice(base.length) + link.search
}

/** Where a link leads within the dashboard; null: elsewhere. */
export const pathOfLink = (link: Element): string | null => wayAround(link)

/** Tells of each link within the dashboard that the pointer or the focus comes to. */
export function whenApproached(act: (path: string) => void): void {
  const approached = ({ target }: Event) => {
    const to = wayAround(target)
    if (to !== null) act(pathOf(to))
  }
  document.addEventListener('pointerover', approached, { passive: true })
  document.addEventListener('focusin', approached)
}

/** Where a link around the target of an event leads within this window and the dashboard; null: elsewhere, or nowhere. */
function wayWithin(target: EventTarget | null): string | null {
  const link = target instanceof Element ? target.closest('a') : null
  return link?.target !== '' || link.hasAttribute('download') ? null : wayAround(link)
}

/** Where a press or a click leads. */
function wayOf(event: MouseEvent): string | null {
  if (event.defaultPrevented || event.button !== 0) return null
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null
  return wayWithin(event.target)
}

/** Milliseconds without a move after which a pointer or a focus no longer passes over a link: whoever presses it needs longer. */
const REST = 50

/** Those that want to know where somebody is about to set out for. */
const restings: Going[] = []

/** Tells of `to` unless the returned function is called soon: somebody has chosen it, and did not go there yet. */
export function rest(to: string): () => void {
  const timer = setTimeout(() => tell(to, restings), REST)
  return () => clearTimeout(timer)
}

/**
 * Tells of each link to another page that the pointer rests on, or that the focus was led to by keys and stays on, and of what `rest`
 * is told. Not of what moves below a pointer that lies still, as when the page is scrolled, nor of what is touched: that is pressed at once.
 */
export function whenRested(act: Going): void {
  restings.push(act)
  let leave: (() => void) | undefined
  const come = (target: EventTarget | null) => {
    leave?.()
    const to = wayWithin(target)
    leave = to === null ? undefined : rest(to)
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
  void tick().then(restore)
})
addEventListener('pagehide', remember)
// A link with a secret behind the `#`, opened in a tab where its page is open already: the page reads it when it begins.
addEventListener('hashchange', () => {
  if (location.hash.length > 1) location.reload()
})
