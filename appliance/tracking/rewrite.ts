/** Inserts signed links and the pixel into HTML. Keeps every other character. Pure. */
import { scanHtml } from './html.ts'
import { signRecipientToken, signToken } from './tokens.ts'

/** How to track one email. Plain data that can be sent to a thread. */
export interface TrackingPlan {
  secret: Uint8Array
  emailId: string
  /** The origin of links and pixel, such as `https://links.example.com`. */
  origin: string
  opens: boolean
  clicks: boolean
  /** Links that must not be tracked: those in List-Unsubscribe. */
  leave: readonly string[]
  /** For a broadcast: links that are represented by a number. The tokens of all other links contain the target. */
  numbered?: { revisionId: string; numbers: ReadonlyMap<string, number> } | undefined
}

/** Paths of tracked links and pixels. They are short and contain no words that content blockers look for. */
export const LINK_PATH = '/l/'
export const PIXEL_PATH = '/o/'

/** Maximum length of a link to track, in octets. In base64, it must fit in a request line through every proxy. */
const LONGEST_LINK = 2000

/**
 * Matches a placeholder that a template engine didn't fill in. Such a link is broken anyway, and easier to diagnose if
 * it isn't tracked.
 */
const PLACEHOLDER = /\{\{|\{%|<%|\*\||\[\[/

/** A replacement in the HTML. An empty range inserts text. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** Rewrites links to go through this server and inserts the pixel before the end of the body, as the plan specifies. */
export function trackHtml(html: string, plan: TrackingPlan): string {
  const pieces: string[] = []
  let at = 0
  for (const { start, end, text } of computeTrackingEdits(html, plan)) {
    pieces.push(html.slice(at, start), text)
    at = end
  }
  return [...pieces, html.slice(at)].join('')
}

/**
 * Returns the edits that tracking makes, in document order. Inserted text is ASCII without line ends.
 * @param read decodes a link as written in `html`; undefined means that the link isn't tracked
 */
export function computeTrackingEdits(
  html: string,
  plan: TrackingPlan,
  read: (url: string) => string | undefined = (url) => url,
): Edit[] {
  const { hrefs, end } = scanHtml(html)
  const reader = readerTokenOf(plan)
  const tracked = linkTracker(plan, reader)
  const edits = hrefs.flatMap(({ start, end: stop, url }): Edit[] => {
    const link = plan.clicks ? normalizeLink(read(url)) : undefined
    return link === undefined || plan.leave.includes(link) ? [] : [{ start, end: stop, text: tracked(link) }]
  })
  if (!plan.opens || end === null) return edits
  // No edit overlaps the position of the pixel.
  const before = edits.filter((one) => one.start < end)
  const pixel = { start: end, end, text: pixelOf(plan, reader) }
  return [...before, pixel, ...edits.slice(before.length)]
}

/**
 * Normalizes a link as browsers do (WHATWG URL §4.4: removes surrounding spaces, tabs and line ends); undefined if it
 * can't be tracked.
 */
export function normalizeLink(url: string | undefined): string | undefined {
  const link = url?.replaceAll(/^[\0- ]+|[\0- ]+$/g, '').replaceAll(/[\t\n\r]/g, '') ?? ''
  if (!/^https?:\/\//i.test(link) || PLACEHOLDER.test(link)) return undefined
  if (!link.isWellFormed() || Buffer.byteLength(link) > LONGEST_LINK) return undefined
  return URL.canParse(link) ? link : undefined
}

/** Returns the distinct links in HTML that can be numbered: those that are the same for all recipients. */
export const listNumberedLinks = (html: string): string[] => [
  ...new Set(scanHtml(html).hrefs.flatMap(({ url }) => normalizeLink(url) ?? [])),
]

/**
 * Returns a function that signs the token of a broadcast's email on the first call; it returns undefined for other
 * emails.
 */
function readerTokenOf({ secret, emailId, numbered }: TrackingPlan): () => string | undefined {
  let token: string | undefined
  return () =>
    (token ??= numbered && signRecipientToken(secret, { revisionId: numbered.revisionId, emailId }))
}

/**
 * Returns a function that signs each distinct link once. It leaves links unchanged that already go through this server,
 * as in a forwarded email.
 */
function linkTracker(
  { secret, emailId, origin, numbered }: TrackingPlan,
  reader: () => string | undefined,
): (link: string) => string {
  const known = new Map<string, string>()
  const tokenFor = (link: string): string => {
    const n = numbered?.numbers.get(link)
    return n === undefined ? signToken(secret, 'click', { emailId, link }) : `${reader()}/${n}`
  }
  return (link) => {
    const ready = known.get(link)
    if (ready !== undefined) return ready
    const ours = link.startsWith(`${origin}${LINK_PATH}`)
    const made = ours ? link : `${origin}${LINK_PATH}${tokenFor(link)}`
    known.set(link, made)
    return made
  }
}

function pixelOf({ secret, emailId, origin }: TrackingPlan, reader: () => string | undefined): string {
  const token = reader() ?? signToken(secret, 'open', { emailId, link: '' })
  const src = `${origin}${PIXEL_PATH}${token}.gif`
  return `<img src="${src}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`
}

/** Returns the links in List-Unsubscribe fields, which are enclosed in angle brackets (RFC 2369 §3.2). */
export function listUnsubscribeLinks(headers: readonly { name: string; value: string }[]): string[] {
  return headers
    .filter(({ name }) => name.toLowerCase() === 'list-unsubscribe')
    .flatMap(({ value }) => [...value.matchAll(/<([^>]*)>/g)].map(([, url]) => url!.replaceAll(/\s/g, '')))
}
