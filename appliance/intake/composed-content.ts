/**
 * What an email composed here says, html and text exactly as they were given: whether its message tells them, and reading them back from it.
 * Pure.
 */
import { readComposed } from '../mime/read-composed.ts'
import type { StoredContent } from '../storage/storage.ts'

/** What an email says; null for what it does not have. */
export type Content = Pick<StoredContent, 'html' | 'text'>

/**
 * Where html and text of a plain message (compose-plain.ts) are to be kept. Decided without reading it again: its composer loses nothing but
 * the kind of line ends, and whether the last line had one.
 * @param tracked whether the html was changed on its way into the message
 */
export function placePlain({ html, text }: Content, tracked: boolean): StoredContent {
  const htmlTold = html !== null && !tracked && isKept(html)
  const textTold = text !== null && isKept(text)
  const [first = '', ...others] = [html ?? '', text ?? ''].filter((one) => one !== '')
  const unfinished = others.length === 0 && !first.endsWith('\n')
  return place({ html, text }, { html: htmlTold, text: textTold }, unfinished ? 'unfinished' : 'message')
}

/** The same for any message that was composed: it is read, and what it tells exactly is kept nowhere else. */
export function placeByReading({ html, text }: Content, message: Uint8Array): StoredContent {
  const found = readComposed(message)
  // A part that is not the app's would be taken for what the app gave.
  const foreign = html === null && found.html !== null
  const told = { html: !foreign && found.html === html, text: !foreign && found.text === text }
  return place({ html, text }, told, 'message')
}

/** No text at all is not told by a message: it may have been refused (""), or never asked for (null). */
function place(
  { html, text }: Content,
  told: { html: boolean; text: boolean },
  where: StoredContent['place'],
): StoredContent {
  const [htmlTold, textTold] = [html !== null && html !== '' && told.html, !!text && told.text]
  if (text === null || html === '' || (!htmlTold && !textTold)) return { place: 'row', html, text }
  return { place: where, html: htmlTold ? null : html, text: textTold ? null : text }
}

/** Line ends become CRLF, and half of a surrogate pair becomes U+FFFD. */
const isKept = (text: string): boolean => !text.includes('\r') && text.isWellFormed()

/** Html and text of an email from where they are kept. @param found what `readComposed` found in its message */
export function readBack({ html, text, place: where }: StoredContent, found: Content): Content {
  if (where === 'row') return { html, text }
  const whole = (one: string | null) => (where === 'unfinished' ? withoutLineEnd(one) : one)
  return { html: html ?? whole(found.html), text: text ?? whole(found.text) }
}

/** Base64 has no line end of its own, so that there may be none. */
const withoutLineEnd = (text: string | null): string | null => text?.replace(/\n$/, '') ?? null
