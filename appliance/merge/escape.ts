/** Escapes untrusted values for the place where they are merged. Pure. */
import type { HtmlContext } from './html-place.ts'

/** Limit on the characters of an untrusted value in a header field. */
const MAX_IN_HEADER = 200

/** Control characters other than line breaks and tabs, lone surrogates, and bidirectional marks. */
const UNWANTED = /(?![\t\n\r])\p{Cc}|\p{Cs}|[\u202a-\u202e\u2066-\u2069]/gu
/**
 * Characters that would break a header field's single line. Bidirectional marks are useless there, but reorder the text
 * around them.
 */
const NOT_ONE_LINE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeText = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char]!)

/** `@` and `:` are allowed in a path and a query (RFC 3986 §3.3), and an address after `mailto:` needs its `@`. */
const encodePart = (text: string): string =>
  encodeURIComponent(text).replaceAll('%40', '@').replaceAll("'", '%27')

/** Returns an untrusted link only if it leads to a web page, not to a script or a file. */
function linkOf(text: string): string {
  const url = URL.parse(text.trim())
  return url && /^https?:$/.test(url.protocol) ? escapeText(url.href) : ''
}

const escapeUnquoted = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}]/gu, (char) => `&#${char.codePointAt(0)};`)

const harmless = (text: string): string => text.replaceAll(/[^\p{L}\p{N} .,%#_-]/gu, '')

/** Cleans a value for plain text. */
export const cleanPlainValue = (text: string): string => text.replaceAll(UNWANTED, '')

/** Escapes a value for HTML. */
export function escapeHtmlValue(text: string, place: HtmlContext): string {
  const clean = cleanPlainValue(text)
  if (place === 'text') return escapeText(clean)
  if (place === 'unquoted') return escapeUnquoted(clean)
  if (place === 'link') return linkOf(clean)
  return place === 'link_part' ? encodePart(clean) : harmless(clean)
}

/** Puts the value of a header field on one line. */
export const toOneLine = (text: string): string =>
  text.replaceAll(NOT_ONE_LINE, ' ').replaceAll(DIRECTION, '')

/** Cleans an untrusted value for a header field: one line, shortened to leave space for the rest. */
export function cleanHeaderValue(text: string): string {
  const points = [...toOneLine(text.slice(0, 4 * MAX_IN_HEADER)).trim()]
  return points.length <= MAX_IN_HEADER
    ? points.join('')
    : `${points.slice(0, MAX_IN_HEADER - 1).join('')}\u2026`
}
