import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable } from './shared.ts'

const fields = {
  id: Id,
  filename: Nullable(Type.String(), { description: 'Name shown to the reader.' }),
  content_type: Type.String({ description: 'Media type.' }),
  content_id: Type.Optional(Type.String({ description: 'Of an inline attachment, for `cid:` in the html.' })),
  content_disposition: Nullable(literals(['inline', 'attachment']), {
    description: 'inline: shown within the html · attachment: offered beside it.',
  }),
  download_url: Type.String({
    description: 'Gives the file to whoever has it, without a key, until it expires.',
  }),
  expires_at: Type.String({
    format: 'date-time',
    description: 'When `download_url` stops working; ask again for another.',
    examples: ['2026-11-20T20:39:59.540Z'],
  }),
  size: Type.Integer({ description: 'Bytes of the file.' }),
}

/** An element of GET /emails/:id/attachments. */
export const AttachmentSummary = Type.Object(fields, { description: 'An attachment of an email.' })
export type AttachmentSummary = Static<typeof AttachmentSummary>
export const AttachmentList = listOf(AttachmentSummary, 'attachments')

/** GET /emails/:id/attachments/:attachment_id */
export const Attachment = Type.Object(
  { object: kind('attachment'), ...fields },
  { description: 'An attachment of an email.' },
)
export type Attachment = Static<typeof Attachment>
