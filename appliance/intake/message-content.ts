/** What a message that arrived as bytes holds, for showing it and for telling two apart. The bytes themselves are kept. */
import { createHash } from 'node:crypto'
import PostalMime from 'postal-mime'
import type { AttachmentInfo } from '../storage/storage.ts'

/** Subject, bodies and attachments, decoded. Plain data: it crosses threads. */
export interface MessageContent {
  subject: string
  html: string | null
  text: string | null
  attachments: (Omit<AttachmentInfo, 'id'> & {
    /** SHA-256 of the content, hex. */
    digest: string
  })[]
}

/** Most attachments that are listed. */
const MAX_LISTED = 100

/** Reads a message (MIME). Rejects for nesting that no mail program makes. */
export async function readContent(message: Uint8Array): Promise<MessageContent> {
  // The same choices as in mime/extract.ts, which finds attachments by their place in this list.
  const parsed = await PostalMime.parse(new Uint8Array(message), {
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
  })
  return {
    subject: (parsed.subject ?? '').toWellFormed(),
    html: parsed.html?.replaceAll('\0', '') ?? null,
    text: parsed.text?.replaceAll('\0', '') ?? null,
    attachments: parsed.attachments.slice(0, MAX_LISTED).map((attachment) => {
      // With the encoding above it is no string.
      const content = new Uint8Array(attachment.content as ArrayBuffer)
      return {
        filename: attachment.filename?.slice(0, 255).toWellFormed() ?? null,
        contentType: attachment.mimeType,
        contentId: attachment.contentId?.replaceAll(/^<|>$/g, '') ?? null,
        disposition: attachment.contentId === undefined ? 'attachment' : 'inline',
        size: content.byteLength,
        digest: createHash('sha256').update(content).digest('hex'),
      }
    }),
  }
}
