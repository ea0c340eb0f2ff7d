import { tick, type Component } from 'svelte'
import type { Session } from '../../../appliance/api/session.ts'
import { isRequestInProgress } from '../api/client.ts'
import { preload, type PreloadRequest } from './preload.ts'
import * as reads from './page-reads.ts'
import { matchPath, restoreScroll, router, onLinkApproach, onNavigate, onLinkRest } from './router.svelte.ts'

/** Props that every page receives. */
export interface PageProps {
  /** The path segment at `:id`; empty if there is none. */
  id: string
  /** The path segment at `:within`, the parent object; empty if there is none. */
  within: string
  session: Session
}

type PageComponent = Component<PageProps> | Component<Record<string, never>>

/** A page and its path. Each page is a separate script, loaded on demand. */
export interface Page {
  /** The page's path. `:id` and `:within` match any segment. */
  readonly pattern: string
  readonly load: () => Promise<{ default: PageComponent }>
  /** Whether the page exists only in the sandbox. */
  readonly sandbox?: true
  /** Returns the page's first requests, which are preloaded when someone is about to open it. */
  readonly reads?: (query: URLSearchParams, id: string) => PreloadRequest[]
  /** Whether the page is rarely used, and therefore not preloaded in the background. */
  readonly rare?: true
}

/** Pages with the navigation rail, for signed-in people. */
const PAGES: readonly Page[] = [
  { pattern: '/emails', load: () => import('../pages/Emails.svelte'), reads: reads.emailListReads },
  { pattern: '/emails/:id', load: () => import('../pages/Email.svelte'), reads: reads.emailReads },
  { pattern: '/inbound', load: () => import('../pages/Inbound.svelte') },
  { pattern: '/inbound/:id', load: () => import('../pages/InboundEmail.svelte') },
  { pattern: '/audience/:id', load: () => import('../pages/Audience.svelte') },
  { pattern: '/audience/contacts/:id', load: () => import('../pages/Contact.svelte') },
  { pattern: '/audience/segments/:id', load: () => import('../pages/Segment.svelte') },
  { pattern: '/audience/forms/:id', load: () => import('../pages/SignUpForm.svelte'), rare: true },
  { pattern: '/broadcasts', load: () => import('../pages/Broadcasts.svelte') },
  { pattern: '/broadcasts/archive', load: () => import('../pages/Archive.svelte'), rare: true },
  { pattern: '/broadcasts/:id', load: () => import('../pages/Broadcast.svelte') },
  { pattern: '/templates', load: () => import('../pages/Templates.svelte') },
  { pattern: '/templates/:id', load: () => import('../pages/Template.svelte'), rare: true },
  { pattern: '/automations', load: () => import('../pages/Automations.svelte') },
  { pattern: '/automations/events', load: () => import('../pages/CustomEvents.svelte'), rare: true },
  { pattern: '/automations/events/:id', load: () => import('../pages/CustomEvent.svelte'), rare: true },
  { pattern: '/automations/:id', load: () => import('../pages/Automation.svelte'), rare: true },
  { pattern: '/automations/:id/edit', load: () => import('../pages/AutomationEdit.svelte'), rare: true },
  {
    pattern: '/automations/:within/runs/:id',
    load: () => import('../pages/AutomationRun.svelte'),
    rare: true,
  },
  { pattern: '/metrics', load: () => import('../pages/Metrics.svelte'), reads: reads.metricsReads },
  { pattern: '/alerts', load: () => import('../pages/Alerts.svelte') },
  { pattern: '/queue', load: () => import('../pages/Queue.svelte') },
  { pattern: '/sources', load: () => import('../pages/Sources.svelte'), rare: true },
  { pattern: '/sources/:id', load: () => import('../pages/SourceReputation.svelte'), rare: true },
  { pattern: '/domains', load: () => import('../pages/Domains.svelte'), reads: reads.domainListReads },
  { pattern: '/domains/:id', load: () => import('../pages/Domain.svelte'), reads: reads.domainReads },
  { pattern: '/domains/:within/reports/:id', load: () => import('../pages/DomainReport.svelte') },
  { pattern: '/logs', load: () => import('../pages/Logs.svelte') },
  { pattern: '/logs/:id', load: () => import('../pages/Log.svelte'), reads: reads.logReads },
  { pattern: '/api-keys', load: () => import('../pages/ApiKeys.svelte'), reads: reads.apiKeyReads },
  { pattern: '/suppressions', load: () => import('../pages/Suppressions.svelte') },
  { pattern: '/webhooks', load: () => import('../pages/Webhooks.svelte'), reads: reads.webhookReads },
  { pattern: '/webhooks/:id', load: () => import('../pages/Webhook.svelte') },
  { pattern: '/inbox', load: () => import('../pages/Inbox.svelte'), reads: reads.inboxReads, sandbox: true },
  { pattern: '/inbox/:id', load: () => import('../pages/InboxMessage.svelte'), sandbox: true },
  { pattern: '/account', load: () => import('../pages/Account.svelte') },
  { pattern: '/settings/:id', load: () => import('../pages/Settings.svelte') },
  { pattern: '/setup', load: () => import('../pages/SetUp.svelte'), rare: true },
]

/** Redirects of moved pages, and of addresses without a tab. */
const MOVED: Readonly<Record<string, string>> = {
  '/audience': '/audience/contacts',
  '/usage': '/settings/usage',
  '/settings/limits': '/settings/usage',
}

/** Returns the new path of a moved page. */
export const getNewPath = (path: string): string | undefined =>
  Object.hasOwn(MOVED, path) ? MOVED[path] : undefined

/** Returns the page at `path`, with the values of `:id` and `:within`. */
export function findPage(path: string): { page: Page | undefined; id: string; within: string } {
  for (const page of PAGES) {
    const found = matchPath(page.pattern, path)
    if (found) return { page, id: found.id ?? '', within: found.within ?? '' }
  }
  return { page: undefined, id: '', within: '' }
}

type Loaded = Component<PageProps>

let loaded = $state.raw<ReadonlyMap<Page, Loaded>>(new Map())
let failed = $state.raw<{ page: Page; why: string } | null>(null)

/** Returns the component of a page if it is loaded. Synchronous, so that "Back" restores the page at once. */
export const getLoadedComponent = (page: Page): Loaded | undefined => loaded.get(page)

/** Returns why a page couldn't be loaded; null while it is loading. */
export const getLoadError = (page: Page): string | null => (failed?.page === page ? failed.why : null)

/** Stores a loaded page. Pages that declare no props ignore the ones passed to them. */
const keep = (page: Page, made: PageComponent): void =>
  void (loaded = new Map(loaded).set(page, made as Loaded))

/** Loads a page and its first data, unless it is loaded. On failure, `getLoadError` returns the reason. */
export async function loadPage(page: Page, id: string): Promise<void> {
  if (loaded.has(page)) return
  failed = null
  preload(page.reads?.(router.query, id) ?? [])
  try {
    keep(page, (await page.load()).default)
    void tick().then(restoreScroll)
  } catch (reason) {
    failed = { page, why: reason instanceof Error ? reason.message : String(reason) }
  }
}

/** Preloads the script of a page. Resolves to whether it is loaded. */
function fetchQuietly(page: Page): Promise<boolean> {
  return page.load().then(
    ({ default: made }) => {
      if (!loaded.has(page)) keep(page, made)
      return true
    },
    () => false, // Opening the page tries again and reports the error.
  )
}

/**
 * Starts to preload a page's script when the pointer or focus reaches a link to it, and its data when the pointer or
 * focus rests there.
 */
function fetchApproached(): void {
  onLinkApproach((path) => {
    const { page } = findPage(path)
    if (page && !loaded.has(page)) void fetchQuietly(page)
  })
  onLinkRest(fetchFor)
}

/**
 * Preloads the script and data of a page that is about to open, at the latest when its link is pressed, before the
 * click.
 */
function fetchFor(path: string, query: URLSearchParams): void {
  const { page, id } = findPage(path)
  if (!page) return
  if (!loaded.has(page)) void fetchQuietly(page)
  preload(page.reads?.(query, id) ?? [])
}

/**
 * Time after which the other pages are preloaded even if this one is still loading, and interval between checks in
 * browsers that can't report idle time, in milliseconds.
 */
const [REST_AFTER, REST_STEP] = [1000, 20]
const whenIdle = (act: () => void) =>
  'requestIdleCallback' in window ? requestIdleCallback(act) : setTimeout(act, REST_STEP)
let begun = false

/** Whether the browser is set to save data. */
const sparing = () => (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true

/**
 * Calls `act` when the visible page has loaded its data, or after `REST_AFTER`, so that the visible page loads first.
 */
function whenThere(act: () => void): void {
  const latest = performance.now() + REST_AFTER
  const look = () => {
    if ((loaded.size > 0 && !isRequestInProgress()) || performance.now() > latest) act()
    else setTimeout(() => whenIdle(look), REST_STEP)
  }
  whenIdle(look)
}

/** Preloads the other pages one by one, so that opening them doesn't wait for the network. Runs once per window. */
export function preloadOtherPages(): void {
  if (begun) return
  begun = true
  onNavigate(fetchFor)
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
