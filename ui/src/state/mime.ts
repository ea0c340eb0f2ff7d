import type { Attachment } from 'postal-mime'

/** A parsed message. Only this file uses the MIME parser, which is loaded on demand. */

export interface ParsedMessage {
  /** Header fields in the order of the message; values are unfolded and decoded (RFC 2047). */
  headers: { name: string; value: string }[]
  /** Inline parts by Content-ID, as `data:` URLs. */
  inline: Map<string, string>
  /** HTML of the message; null if there is none. */
  html: string | null
}

/** Parses a message. Rejects if the source isn't a message. */
export async function parseMessage(source: Uint8Array | string): Promise<ParsedMessage> {
  const { default: PostalMime, decodeWords } = await import('postal-mime')
  const parsed = await PostalMime.parse(source, { attachmentEncoding: 'base64' })
  return {
    headers: parsed.headers.map(({ originalKey, value }) => ({
      name: originalKey,
      value: decodeWords(value),
    })),
    inline: new Map(parsed.attachments.flatMap(inlinePart)),
    html: parsed.html ?? null,
  }
}

function inlinePart(part: Attachment): [string, string][] {
  if (part.contentId === undefined || typeof part.content !== 'string') return []
  if (!/^image\/(png|jpeg|gif|webp|avif)$/.test(part.mimeType)) return []
  return [[part.contentId.replace(/^<|>$/g, ''), `data:${part.mimeType};base64,${part.content}`]]
}
