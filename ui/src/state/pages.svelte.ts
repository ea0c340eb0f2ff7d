import { tick, type Component } from 'svelte'
import type { Session } from '../../../appliance/api/session.ts'
import { isAsking } from '../api/client.ts'
import { readAhead, type Read } from './ahead.ts'
import * as reads from './page-reads.ts'
import { match, restore, router, whenApproached, whenGoing, whenRested } from './router.svelte.ts'

/** What every page is given; it takes what it needs. */
export interface PageProps {
  /** The part of the address that stands for `:id`; empty where there is none. */
  id: string
  /** The part that stands for `:within`: what the page belongs to; empty where there is none. */
  within: string
  session: Session
}

type PageComponent = Component<PageProps> | Component<Record<string, never>>

/** A page and its address. Each is a file of its own, loaded when it is first needed. */
export interface Page {
  /** Its path; `:id` and `:within` are any one name. */
  readonly pattern: string
  readonly load: () => Promise<{ default: PageComponent }>
  /** Only the sandbox has it. */
  readonly sandbox?: true
  /** What it reads first, asked for when somebody sets out for it. */
  readonly reads?: (query: URLSearchParams, id: string) => Read[]
  /** Seldom seen: not loaded before somebody goes there. */
  readonly rare?: true
}

/** The pages within the frame with the rail, for those who are signed in. */
const PAGES: readonly Page[] = [
  { pattern: '/emails', load: () => import('../pages/Emails.svelte'), reads: reads.emails },
  { pattern: '/emails/:id', load: () => import('../pages/Email.svelte'), reads: reads.email },
  { pattern: '/inbound', load: () => import('../pages/Inbound.svelte') },
  { pattern: '/inbound/:id', load: () => import('../pages/InboundEmail.svelte') },
  { pattern: '/audience/:id', load: () => import('../pages/Audience.svelte') },
  { pattern: '/audience/contacts/:id', load: () => import('../pages/Contact.svelte') },
  { pattern: '/audience/segments/:id', load: () => import('../pages/Segment.svelte') },
  { pattern: '/broadcasts', load: () => import('../pages/Broadcasts.svelte') },
  { pattern: '/broadcasts/:id', load: () => import('../pages/Broadcast.svelte') },
  { pattern: '/templates', load: () => import('../pages/Templates.svelte') },
  { pattern: '/templates/:id', load: () => import('../pages/Template.svelte'), rare: true },
  { pattern: '/metrics', load: () => import('../pages/Metrics.svelte'), reads: reads.metrics },
  { pattern: '/queue', load: () => import('../pages/Queue.svelte') },
  { pattern: '/sources', load: () => import('../pages/Sources.svelte'), rare: true },
  { pattern: '/domains', load: () => import('../pages/Domains.svelte'), reads: reads.domains },
  { pattern: '/domains/:id', load: () => import('../pages/Domain.svelte'), reads: reads.domain },
  { pattern: '/domains/:within/reports/:id', load: () => import('../pages/DomainReport.svelte') },
  { pattern: '/logs', load: () => import('../pages/Logs.svelte') },
  { pattern: '/logs/:id', load: () => import('../pages/Log.svelte'), reads: reads.log },
  { pattern: '/api-keys', load: () => import('../pages/ApiKeys.svelte'), reads: reads.apiKeys },
  { pattern: '/suppressions', load: () => import('../pages/Suppressions.svelte') },
  { pattern: '/webhooks', load: () => import('../pages/Webhooks.svelte'), reads: reads.webhooks },
  { pattern: '/webhooks/:id', load: () => import('../pages/Webhook.svelte') },
  { pattern: '/inbox', load: () => import('../pages/Inbox.svelte'), reads: reads.inbox, sandbox: true },
  { pattern: '/inbox/:id', load: () => import('../pages/InboxMessage.svelte'), sandbox: true },
  { pattern: '/account', load: () => import('../pages/Account.svelte') },
  { pattern: '/settings/:id', load: () => import('../pages/Settings.svelte') },
  { pattern: '/setup', load: () => import('../pages/SetUp.svelte'), rare: true },
]

/** Pages that have moved, for links from before, and addresses without their tab. */
const MOVED: Readonly<Record<string, string>> = {
  '/audience': '/audience/contacts',
  '/usage': '/settings/usage',
  '/settings/limits': '/settings/usage',
}

/** Where the page of an old address is now. */
export const movedTo = (path: string): string | undefined =>
  Object.hasOwn(MOVED, path) ? MOVED[path] : undefined

/** The page at `path`, and what its `:id` and `:within` are. */
export function pageAt(path: string): { page: Page | undefined; id: string; within: string } {
  for (const page of PAGES) {
    const found = match(page.pattern, path)
    if (found) return { page, id: found.id ?? '', within: found.within ?? '' }
  }
  return { page: undefined, id: '', within: '' }
}

type Loaded = Component<PageProps>

let loaded = $state.raw<ReadonlyMap<Page, Loaded>>(new Map())
let failed = $state.raw<{ page: Page; why: string } | null>(null)

/** The component of a page that was loaded, at once: Back finds the page as it was in the same moment. */
export const component = (page: Page): Loaded | undefined => loaded.get(page)

/** Why a page could not be loaded; null while it may still come. */
export const whyNot = (page: Page): string | null => (failed?.page === page ? failed.why : null)

/** A page without properties ignores those that it is given. */
const keep = (page: Page, made: PageComponent): void =>
  void (loaded = new Map(loaded).set(page, made as Loaded))

/** Loads a page, and asks for what it reads first, unless it is there. A failure is kept, for `whyNot`. */
export async function fetchPage(page: Page, id: string): Promise<void> {
  if (loaded.has(page)) return
  failed = null
  readAhead(page.reads?.(router.query, id) ?? [])
  try {
    keep(page, (await page.load()).default)
    void tick().then(restore)
  } catch (reason) {
    failed = { page, why: reason instanceof Error ? reason.message : String(reason) }
  }
}

/** Loads the script of a page before somebody is there. Resolves to whether it is there. */
function fetchQuietly(page: Page): Promise<boolean> {
  return page.load().then(
    ({ default: made }) => {
      if (!loaded.has(page)) keep(page, made)
      return true
    },
    () => false, // Asked for again when somebody goes there, and then it is said.
  )
}

/**
 * Loads the script of the page that a link leads to once the pointer or the focus is on the link, from now on: the click then finds
 * it on its way. Its data is asked for where they rest there.
 */
function fetchApproached(): void {
  whenApproached((path) => {
    const { page } = pageAt(path)
    if (page && !loaded.has(page)) void fetchQuietly(page)
  })
  whenRested(fetchFor)
}

/** Asks for script and data of the page that somebody sets out for: at the press on a link, which comes before the click, or sooner. */
function fetchFor(path: string, query: URLSearchParams): void {
  const { page, id } = pageAt(path)
  if (!page) return
  if (!loaded.has(page)) void fetchQuietly(page)
  readAhead(page.reads?.(query, id) ?? [])
}

/** Milliseconds after which the other pages are loaded though this one is not there yet, and between two looks where a browser does not tell when it is idle. */
const [REST_AFTER, REST_STEP] = [1000, 20]
const whenIdle = (act: () => void) =>
  'requestIdleCallback' in window ? requestIdleCallback(act) : setTimeout(act, REST_STEP)
let begun = false

/** Whether the person asked the browser to load no more than needed. */
const sparing = () => (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true

/** Calls `act` once a page is there with its data, or does not come: what is looked at comes first. */
function whenThere(act: () => void): void {
  const latest = performance.now() + REST_AFTER
  const look = () => {
    if ((loaded.size > 0 && !isAsking()) || performance.now() > latest) act()
    else setTimeout(() => whenIdle(look), REST_STEP)
  }
  whenIdle(look)
}

/** Loads the other pages, one after the other, so that going to one does not wait for the network. Once in the life of the window. */
export function fetchTheRest(): void {
  if (begun) return
  begun = true
  whenGoing(fetchFor)
  if (sparing()) return
  fetchApproached()
  const rest = PAGES.filter((page) => !page.rare)
  const next = () => {
    const page = rest.shift()
    if (!page) return
    void fetchQuietly(page).then((there) => there && whenIdle(next))
  }
  whenThere(next)
}
