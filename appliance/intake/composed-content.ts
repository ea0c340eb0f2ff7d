/**
 * Stores the original HTML and text of a composed email: decides whether its message contains them exactly, and reads
 * them back from it. Pure.
 */
import { readComposedMessage } from '../mime/read-composed.ts'
import type { StoredContent } from '../storage/storage.ts'

/** The content of an email; null for a missing part. */
export type Content = Pick<StoredContent, 'html' | 'text'>

/**
 * Decides where HTML and text of a simple message (compose-plain.ts) are stored, without parsing it: that composer only
 * loses the kind of line ends and whether the last line had one.
 * @param tracked whether the HTML in the message was changed for tracking
 */
export function placePlainContent({ html, text }: Content, tracked: boolean): StoredContent {
  const htmlTold = html !== null && !tracked && isKept(html)
  const textTold = text !== null && isKept(text)
  const [first = '', ...others] = [html ?? '', text ?? ''].filter((one) => one !== '')
  const unfinished = others.length === 0 && !first.endsWith('\n')
  return place({ html, text }, { html: htmlTold, text: textTold }, unfinished ? 'unfinished' : 'message')
}

/**
 * Decides where HTML and text of any composed message are stored. Parses it, and stores separately only what it doesn't
 * contain exactly.
 */
export function placeComposedContent({ html, text }: Content, message: Uint8Array): StoredContent {
  const found = readComposedMessage(message)
  // HTML that the app didn't provide would be mistaken for its own.
  const foreign = html === null && found.html !== null
  const told = { html: !foreign && found.html === html, text: !foreign && found.text === text }
  return place({ html, text }, told, 'message')
}

/**
 * Decides where the content is stored. A message without text doesn't show whether the text was empty ("") or not given
 * (null).
 */
function place(
  { html, text }: Content,
  told: { html: boolean; text: boolean },
  where: StoredContent['place'],
): StoredContent {
  const [htmlTold, textTold] = [html !== null && html !== '' && told.html, !!text && told.text]
  if (text === null || html === '' || (!htmlTold && !textTold)) return { place: 'row', html, text }
  return { place: where, html: htmlTold ? null : html, text: textTold ? null : text }
}

/** Whether composing preserves a text. It changes line ends to CRLF, and lone surrogates to U+FFFD. */
const isKept = (text: string): boolean => !text.includes('\r') && text.isWellFormed()

/**
 * Returns HTML and text of an email from where they are stored.
 * @param found result of `readComposedMessage` for its message
 */
export function restoreContent({ html, text, place: where }: StoredContent, found: Content): Content {
  if (where === 'row') return { html, text }
  const whole = (one: string | null) => (where === 'unfinished' ? withoutLineEnd(one) : one)
  return { html: html ?? whole(found.html), text: text ?? whole(found.text) }
}

/** Removes the final line end, if any. A base64 body has none of its own. */
const withoutLineEnd = (text: string | null): string | null => text?.replace(/\n$/, '') ?? null
