/**
 * What an email composed here says, html and text exactly as they were given: whether its message tells them, and reading them back from it.
 * Pure.
 */
import { splitMessage } from '../mail/headers.ts'
import { partsOf, readContentType, valuesOf } from '../mime/entity.ts'
import type { StoredContent } from '../storage/storage.ts'

/** What an email says; null for what it does not have. */
export type Content = Pick<StoredContent, 'html' | 'text'>

/** More parts than the composer makes: a limit on the attachments of one email is a tenth of it. */
const MAX_PARTS = 1000
/** Multiparts within each other that the composer makes: mixed, related, alternative. */
const MAX_DEPTH = 3

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

/** Html and text of an email from where they are kept. */
export function readBack(stored: StoredContent, message: Uint8Array): Content {
  const { html, text, place: where } = stored
  if (where === 'row') return { html, text }
  const found = readComposed(message)
  const whole = (one: string | null) => (where === 'unfinished' ? withoutLineEnd(one) : one)
  return { html: html ?? whole(found.html), text: text ?? whole(found.text) }
}

/** Base64 has no line end of its own, so that there may be none. */
const withoutLineEnd = (text: string | null): string | null => text?.replace(/\n$/, '') ?? null

/** The html and the text of a message that was composed here, line ends as LF. */
function readComposed(message: Uint8Array): Content {
  const found: Content = { html: null, text: null }
  readPart(Buffer.from(message.buffer, message.byteOffset, message.byteLength), found, 0)
  return found
}

function readPart(part: Buffer, found: Content, depth: number): void {
  const { fields, bodyOffset } = splitMessage(part)
  const { type, parameters } = readContentType(valuesOf(fields, 'content-type')[0] ?? '')
  const boundary = parameters.get('boundary')
  if (boundary !== undefined && depth < MAX_DEPTH) {
    for (const range of partsOf(part, [bodyOffset, part.length], boundary, MAX_PARTS).parts)
      readPart(part.subarray(...range), found, depth + 1)
    return
  }
  const form = type === 'text/html' ? 'html' : type === 'text/plain' ? 'text' : undefined
  // Attachments say that they are, whatever their type.
  if (form === undefined || found[form] !== null || valuesOf(fields, 'content-disposition').length > 0) return
  const [encoding = '7bit'] = valuesOf(fields, 'content-transfer-encoding')
  const octets = decode(part.subarray(bodyOffset), encoding.toLowerCase())
  found[form] = octets.toString('utf8').replaceAll('\r\n', '\n')
}

function decode(body: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body.toString('latin1'), 'base64')
  if (encoding !== 'quoted-printable') return body
  const text = body
    .toString('latin1')
    .replaceAll(/=(?:\r\n|([\dA-F]{2}))/g, (_, hex: string | undefined) =>
      hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(text, 'latin1')
}
