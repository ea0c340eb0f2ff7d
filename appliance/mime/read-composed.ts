/** Extracts HTML and text from a message composed here, exactly as they were given. Pure. */
import { splitMessage } from '../mail/headers.ts'
import { splitMultipart, parseContentType, getFieldValues } from './entity.ts'
import type { MessageContent } from './read.ts'
import { decodeQuotedPrintable } from './transfer.ts'

/** Maximum number of parts. The limit on attachments of one email is a tenth of this. */
const MAX_PARTS = 1000
/** Nesting of multiparts that the composer writes: mixed, related, alternative. */
const MAX_DEPTH = 3

/** Returns the HTML and text of a message composed here, with LF line ends; null for a part that it lacks. */
export function readComposedMessage(message: Uint8Array): Pick<MessageContent, 'html' | 'text'> {
  const found = { html: null, text: null }
  readPart(Buffer.from(message.buffer, message.byteOffset, message.byteLength), found, 0)
  return found
}

function readPart(part: Buffer, found: Pick<MessageContent, 'html' | 'text'>, depth: number): void {
  const { fields, bodyOffset } = splitMessage(part)
  const { type, parameters } = parseContentType(getFieldValues(fields, 'content-type')[0] ?? '')
  const boundary = parameters.get('boundary')
  if (boundary !== undefined && depth < MAX_DEPTH) {
    for (const range of splitMultipart(part, [bodyOffset, part.length], boundary, { most: MAX_PARTS }).parts)
      readPart(part.subarray(...range), found, depth + 1)
    return
  }
  const form = type === 'text/html' ? 'html' : type === 'text/plain' ? 'text' : undefined
  // Attachments have a disposition, whatever their type.
  if (form === undefined || found[form] !== null || getFieldValues(fields, 'content-disposition').length > 0)
    return
  const [encoding = '7bit'] = getFieldValues(fields, 'content-transfer-encoding')
  const octets = decode(part.subarray(bodyOffset), encoding.toLowerCase())
  found[form] = octets.toString('utf8').replaceAll('\r\n', '\n')
}

function decode(body: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body.toString('latin1'), 'base64')
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(body.toString('latin1')) : body
}
