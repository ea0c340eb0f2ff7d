/** Inserts signed links and the pixel into HTML. Keeps every other character. Pure. */
import { scanHtml } from './html.ts'
import { signReader, signToken } from './tokens.ts'

/** How to track one email. Plain data that can be posted to a thread. */
export interface TrackingPlan {
  secret: Uint8Array
  emailId: string
  /** The origin of links and pixel, such as `https://links.example.com`. */
  origin: string
  opens: boolean
  clicks: boolean
  /** Links to leave alone: those in List-Unsubscribe. */
  leave: readonly string[]
  /** For a broadcast: links that are represented by a number. Tokens of other links contain the address. */
  numbered?: { revisionId: string; numbers: ReadonlyMap<string, number> } | undefined
}

/** Paths of tracked links and pixels. Short, and without words that content blockers look for. */
export const LINK_PATH = '/l/'
export const PIXEL_PATH = '/o/'

/** Longer links (octets) are left alone: in base64 they must fit in a request line through every proxy. */
const LONGEST_LINK = 2000

/**
 * Matches a placeholder that a template engine didn't fill in. Such a link is broken anyway, and easier to diagnose
 * unchanged.
 */
const PLACEHOLDER = /\{\{|\{%|<%|\*\||\[\[/

/** An edit of the HTML; an empty range inserts text. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** Rewrites links to lead through this server and inserts the pixel before the end of the body, as the plan says. */
export function trackHtml(html: string, plan: TrackingPlan): string {
  const pieces: string[] = []
  let at = 0
  for (const { start, end, text } of editsOf(html, plan)) {
    pieces.push(html.slice(at, start), text)
    at = end
  }
  return [...pieces, html.slice(at)].join('')
}

/**
 * Returns the edits that tracking makes, in document order. Inserted text is ASCII without line ends.
 * @param read decodes a link as written in `html`; undefined to leave it alone
 */
export function editsOf(
  html: string,
  plan: TrackingPlan,
  read: (url: string) => string | undefined = (url) => url,
): Edit[] {
  const { hrefs, end } = scanHtml(html)
  const reader = readerTokenOf(plan)
  const tracked = linkTracker(plan, reader)
  const edits = hrefs.flatMap(({ start, end: stop, url }): Edit[] => {
    const link = plan.clicks ? readLink(read(url)) : undefined
    return link === undefined || plan.leave.includes(link) ? [] : [{ start, end: stop, text: tracked(link) }]
  })
  if (!plan.opens || end === null) return edits
  // A tag is always entirely before or after the pixel.
  const before = edits.filter((one) => one.start < end)
  const pixel = { start: end, end, text: pixelOf(plan, reader) }
  return [...before, pixel, ...edits.slice(before.length)]
}

/**
 * Normalizes a link as browsers do (WHATWG URL §4.4: removes surrounding spaces, tabs and line ends); undefined to
 * leave it alone.
 */
export function readLink(url: string | undefined): string | undefined {
  const link = url?.replaceAll(/^[\0- ]+|[\0- ]+$/g, '').replaceAll(/[\t\n\r]/g, '') ?? ''
  if (!/^https?:\/\//i.test(link) || PLACEHOLDER.test(link)) return undefined
  if (!link.isWellFormed() || Buffer.byteLength(link) > LONGEST_LINK) return undefined
  return URL.canParse(link) ? link : undefined
}

/** Returns the links in HTML that can have numbers, each once: those that are the same for all recipients. */
export const numberedLinks = (html: string): string[] => [
  ...new Set(scanHtml(html).hrefs.flatMap(({ url }) => readLink(url) ?? [])),
]

/** Signs the token of an email of a broadcast when it is first asked for; undefined for other emails. */
function readerTokenOf({ secret, emailId, numbered }: TrackingPlan): () => string | undefined {
  let token: string | undefined
  return () => (token ??= numbered && signReader(secret, { revisionId: numbered.revisionId, emailId }))
}

/** Signs each distinct link once. Leaves links that already lead through this server, as in a forwarded email. */
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

/** Returns the links of List-Unsubscribe fields, which stand between angle brackets (RFC 2369 §3.2). */
export function unsubscribeLinks(headers: readonly { name: string; value: string }[]): string[] {
  return headers
    .filter(({ name }) => name.toLowerCase() === 'list-unsubscribe')
    .flatMap(({ value }) => [...value.matchAll(/<([^>]*)>/g)].map(([, url]) => url!.replaceAll(/\s/g, '')))
}
