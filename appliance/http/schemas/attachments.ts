import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable } from '../../api/shared.ts'

const fields = {
  id: Id,
  filename: Nullable(Type.String(), { description: 'File name.' }),
  content_type: Type.String({ description: 'Media type.' }),
  content_id: Type.Optional(
    Type.String({ description: 'Content ID of an inline attachment, for `cid:` in the HTML.' }),
  ),
  content_disposition: Nullable(literals(['inline', 'attachment']), {
    description: 'inline: shown in the HTML · attachment: offered as a download.',
  }),
  download_url: Type.String({
    description: 'URL of the file. Requires no key and works until it expires.',
  }),
  expires_at: Type.String({
    format: 'date-time',
    description: 'When `download_url` expires. Repeat the request for a new one.',
    examples: ['2026-11-20T20:39:59.540Z'],
  }),
  size: Type.Integer({ description: 'Size of the file in bytes.' }),
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
