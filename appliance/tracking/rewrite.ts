/** Puts signed links and the pixel into html. Every other character stays as it is. Pure. */
import { scanHtml } from './html.ts'
import { signToken } from './tokens.ts'

/** How one email is tracked. Plain data, so that it can go to another thread. */
export interface TrackingPlan {
  secret: Uint8Array
  emailId: string
  /** Where links and pixel lead: `https://links.example.com`. */
  origin: string
  opens: boolean
  clicks: boolean
  /** Links that are left alone: those of List-Unsubscribe. */
  leave: readonly string[]
}

/** Paths of tracked links and pixels. Short, and without the words that content blockers look for. */
export const LINK_PATH = '/l/'
export const PIXEL_PATH = '/o/'

/** A longer link is left alone, in octets: in base64 it must fit in a request line with all proxies on its way. */
const LONGEST_LINK = 2000

/** What a template engine has forgotten: it leads nowhere, and looks the more broken the less it is changed. */
const PLACEHOLDER = /\{\{|\{%|<%|\*\||\[\[/

/** A piece of html to be replaced; an empty one is a place to put something at. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** The html with its links leading through us and the pixel before the end of its body, as the plan says. */
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
 * What tracking changes in html, in the order of its text. What is put in is ASCII without line ends.
 * @param read turns a link as it stands in `html` into text; undefined for one to be left alone
 */
export function editsOf(
  html: string,
  plan: TrackingPlan,
  read: (url: string) => string | undefined = (url) => url,
): Edit[] {
  const { hrefs, end } = scanHtml(html)
  const tracked = linkTracker(plan)
  const edits = hrefs.flatMap(({ start, end: stop, url }): Edit[] => {
    const link = plan.clicks ? readLink(read(url)) : undefined
    return link === undefined || plan.leave.includes(link) ? [] : [{ start, end: stop, text: tracked(link) }]
  })
  if (!plan.opens || end === null) return edits
  // A tag lies wholly on one side of the pixel.
  const before = edits.filter((one) => one.start < end)
  const pixel = { start: end, end, text: pixelOf(plan) }
  return [...before, pixel, ...edits.slice(before.length)]
}

/** The link as browsers take it (WHATWG URL §4.4: outer spaces, tabs and line ends go); undefined for one that is left alone. */
export function readLink(url: string | undefined): string | undefined {
  const link = url?.replaceAll(/^[\0- ]+|[\0- ]+$/g, '').replaceAll(/[\t\n\r]/g, '') ?? ''
  if (!/^https?:\/\//i.test(link) || PLACEHOLDER.test(link)) return undefined
  if (!link.isWellFormed() || Buffer.byteLength(link) > LONGEST_LINK) return undefined
  return URL.canParse(link) ? link : undefined
}

/** The same link is signed once. A link that leads through us already, as in a forwarded email, stays. */
function linkTracker({ secret, emailId, origin }: TrackingPlan): (link: string) => string {
  const known = new Map<string, string>()
  return (link) => {
    const ready = known.get(link)
    if (ready !== undefined) return ready
    const ours = link.startsWith(`${origin}${LINK_PATH}`)
    const made = ours ? link : `${origin}${LINK_PATH}${signToken(secret, 'click', { emailId, link })}`
    known.set(link, made)
    return made
  }
}

function pixelOf({ secret, emailId, origin }: TrackingPlan): string {
  const src = `${origin}${PIXEL_PATH}${signToken(secret, 'open', { emailId, link: '' })}.gif`
  return `<img src="${src}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`
}

/** The links of a List-Unsubscribe field (RFC 2369 §3.2): what stands between angle brackets. */
export function unsubscribeLinks(headers: readonly { name: string; value: string }[]): string[] {
  return headers
    .filter(({ name }) => name.toLowerCase() === 'list-unsubscribe')
    .flatMap(({ value }) => [...value.matchAll(/<([^>]*)>/g)].map(([, url]) => url!.replaceAll(/\s/g, '')))
}
