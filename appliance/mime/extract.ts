/** Takes one attachment out of a message. */
import { parseMessage } from './parser.ts'

/** Which attachment: by its Content-ID, or by its place among those that have none. */
export type Which = { contentId: string } | { place: number }

/** The decoded bytes; undefined when the message has no such attachment. */
export async function extract(message: Uint8Array, which: Which): Promise<Uint8Array | undefined> {
  const parsed = await parseMessage(message)
  const found =
    'contentId' in which
      ? parsed.attachments.find(({ contentId }) => contentId === `<${which.contentId}>`)
      : parsed.attachments.filter(({ contentId }) => contentId === undefined)[which.place]
  // With the encoding above it is no string.
  const content = found && Buffer.from(found.content as ArrayBuffer)
  return content && (found.mimeType.startsWith('message/') ? asLines(content) : content)
}

/**
 * A message within a message is not encoded (RFC 2046 §5.2.1): the parser hands it on line by line, each ended by LF, the
 * empty one before the boundary too. One that was encoded against the rule still has its own line ends.
 */
function asLines(content: Buffer): Buffer {
  if (content.includes(13)) return content
  return Buffer.from(content.toString('latin1').replace(/\n$/, '').replaceAll('\n', '\r\n'), 'latin1')
}
