/** Finds the positions in HTML that tracking changes. Pure. */
import { Tokenizer } from 'htmlparser2'

/** The `href` value of a link that a person can click. */
export interface Href {
  /** Offset of the value, without quotes. */
  start: number
  end: number
  /** The URL, with character references resolved. */
  url: string
}

export interface ScanResult {
  /** Links in document order, without those that are marked as not to be tracked. */
  hrefs: Href[]
  /**
   * Offset at which an element can be inserted: before the end of the body. Null if the element would become text or
   * part of a comment.
   */
  end: number | null
}

/** Attributes that exclude a link from tracking: our own, and those of other services. */
const MARKS: Record<string, RegExp> = {
  'data-posthaste-track': /^(?:off|false|no|0)$/i,
  clicktracking: /^off$/i,
  'data-clicktracking': /^off$/i,
  'data-pm-no-track': /^/,
  'ses:no-track': /^/,
  'mc:disable-tracking': /^/,
  'disable-tracking': /^(?:true|)$/i,
  'data-disable-tracking': /^(?:true|)$/i,
  'data-msys-clicktrack': /^0$/,
  'data-msys-unsubscribe': /^1$/,
}

/** Matches from the end of an attribute name to the first character of its value (WHATWG HTML, 13.2.5.34–13.2.5.37). */
const TO_VALUE = /[\t\n\f\r ]*=[\t\n\f\r ]*(["']?)/y

/** Appended to the HTML. If the tokenizer parses it as a tag, an element can be inserted at the end of the HTML. */
const PROBE = '<posthaste-end>'

/** Used for tokenizer callbacks that aren't needed. */
const ignore = (): void => undefined
const REST = {
  oncdata: ignore,
  oncomment: ignore,
  ondeclaration: ignore,
  onprocessinginstruction: ignore,
  onend: ignore,
  ontext: ignore,
  ontextentity: ignore,
}

/** Scans HTML as browsers do: raw text, comments and quoted values contain no links. */
export function scanHtml(html: string): ScanResult {
  const found: ScanResult = { hrefs: [], end: null }
  const ends = { body: -1, html: -1, text: false }
  let link: { href: Href | null; marked: boolean } | null = null
  let name = { text: '', end: 0 }
  let value = ''

  const closeTag = (): void => {
    if (link?.href && !link.marked) found.hrefs.push(link.href)
    link = null
  }
  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: true },
    {
      onopentagname(start, end) {
        if (start > html.length) ends.text = true
        const tag = html.slice(start, end).toLowerCase()
        link = tag === 'a' || tag === 'area' ? { href: null, marked: false } : null
      },
      onattribname(start, end) {
        name = { text: html.slice(start, end).toLowerCase(), end }
        value = ''
      },
      onattribdata(start, end) {
        // A NUL in a value becomes a replacement character (WHATWG HTML, 13.2.5.36).
        if (link) value += html.slice(start, end).replaceAll('\0', '\uFFFD')
      },
      onattribentity(codepoint) {
        if (link) value += String.fromCodePoint(codepoint)
      },
      onattribend(_quote, end) {
        if (!link) return
        if (MARKS[name.text]?.test(value.trim())) link.marked = true
        // The first of two attributes with the same name counts.
        if (name.text === 'href') link.href ??= place(html, name.end, end, value)
      },
      onopentagend: closeTag,
      onselfclosingtag: closeTag,
      onclosetag(start, end) {
        const tag = html.slice(start, end).toLowerCase()
        if (tag === 'body' || tag === 'html') ends[tag] = start - 2
      },
      ...REST,
    },
  )
  tokenizer.write(html + PROBE)
  tokenizer.end()
  found.end = ends.body >= 0 ? ends.body : ends.html >= 0 ? ends.html : ends.text ? html.length : null
  return found
}

/** Locates an attribute's value; null if the attribute has none. */
function place(html: string, nameEnd: number, end: number, url: string): Href | null {
  TO_VALUE.lastIndex = nameEnd
  const before = TO_VALUE.exec(html)
  if (!before) return null
  const start = TO_VALUE.lastIndex
  const quote = before[1]!
  return { start, end: quote === '' ? end : html.indexOf(quote, start), url }
}
