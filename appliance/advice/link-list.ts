/** Lists the links of a message, so that its writer can check where each one leads. Pure. */
import type { DraftLink } from '../mail/broadcast.ts'
import { truncatePart, parseHtml } from './html.ts'

/** Maximum number of rows in the list. Nobody reads more, and a hostile draft could have tens of thousands. */
const MOST = 500
/** Maximum lengths in characters, for the same reason. */
const MOST_TEXT = 200
const MOST_URL = 2000
/** Matches a web address, or a merge tag for one, in plain text. */
const IN_TEXT = /https?:\/\/[^\s<>"]+|\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL[^}]*\}\}\}/g
const UNSUBSCRIBE = /^\{\{\{\s*(?:RESEND_)?UNSUBSCRIBE_URL\s*(?:\|[^}]*)?\}\}\}$/

/**
 * Lists the links of the HTML, or of the text if there is no HTML, in the order of their first appearance. Links with
 * the same text and address are one row. Reads the first 256 KB.
 */
export function extractLinks({ html, text }: { html: string | null; text: string | null }): DraftLink[] {
  const rows = new Map<string, DraftLink>()
  const found = html ? htmlLinks(html) : textLinks(text)
  for (const link of found) {
    const known = rows.get(`${link.text}\n${link.url}`)
    if (known) known.count += 1
    else if (rows.size < MOST) rows.set(`${link.text}\n${link.url}`, { ...link, count: 1 })
  }
  return [...rows.values()]
}

type Found = Omit<DraftLink, 'count'>

const htmlLinks = (html: string): Found[] =>
  parseHtml(html).links.map(({ href, text, alt }) => found(href, text.trim() === '' ? alt : text))

/** A full stop or a bracket after an address ends the sentence, not the address. */
const textLinks = (text: string | null): Found[] =>
  [...truncatePart(text).matchAll(IN_TEXT)].map(([url]) => found(url.replace(/[.,;:!?)\]]+$/, ''), ''))

function found(href: string, text: string): Found {
  const url = href.trim().slice(0, MOST_URL).toWellFormed()
  const words = text.replaceAll(/\s+/g, ' ').trim().slice(0, MOST_TEXT).toWellFormed()
  return { text: words, url, kind: kindOf(url) }
}

function kindOf(url: string): DraftLink['kind'] {
  if (UNSUBSCRIBE.test(url)) return 'unsubscribe'
  if (url.includes('{{{')) return 'merge_tag'
  return /^https?:\/\//i.test(url) ? 'web' : 'other'
}
