import { Type, type Static } from 'typebox'
import type { AttachmentInfo } from '../storage/storage.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId, path, pathId, pathText, pathUuid, query, shortPage } from './parameters.ts'
import { integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf } from './shared.ts'
import { isoTimestamp } from './timestamp.ts'

const fields = {
  id: Id,
  filename: Nullable(Type.String(), 'File name.'),
  content_type: string('Media type.'),
  content_id: Type.Optional(string('Content ID of an inline attachment, for `cid:` in the HTML.')),
  content_disposition: Nullable(
    literals(['inline', 'attachment']),
    'inline: shown in the HTML · attachment: offered as a download.',
  ),
  download_url: string('URL of the file. Requires no key and works until it expires.'),
  expires_at: string('When `download_url` expires. Repeat the request for a new one.', {
    format: 'date-time',
    examples: ['2026-11-20T20:39:59.540Z'],
  }),
  size: integer('Size of the file in bytes.'),
}

export const AttachmentSummary = object('An attachment of an email.', fields)
export type AttachmentSummary = Static<typeof AttachmentSummary>
export const AttachmentList = listOf(AttachmentSummary, 'attachments')

export const Attachment = object('An attachment of an email.', { object: kind('attachment'), ...fields })
export type Attachment = Static<typeof Attachment>

const operation = operationsIn('Emails')

export const listAttachments = operation('GET /emails/:id/attachments', {
  summary: "List an email's attachments",
  params: byId,
  querystring: query(shortPage),
  response: { 200: AttachmentList },
})
export const getAttachment = operation('GET /emails/:id/attachments/:attachment_id', {
  summary: 'Get an attachment',
  description: 'The `download_url` gives access to the file without a key for one hour.',
  params: path({ id: pathId, attachment_id: pathUuid('The id.') }),
  response: { 200: Attachment },
})
export const downloadAttachment = operation('GET /downloads/attachments/:token', {
  access: 'public',
  summary: 'Download an attachment',
  description:
    'The target of `download_url`. Requires no key: anyone with the link can get the file until it expires.',
  params: path({ token: pathText('The signed part of the link. It expires.') }),
  response: { 200: nonJsonContent('application/octet-stream', 'The file, as sent.') },
  errors: ['410'],
})

/**
 * Formats an element of GET /emails/:id/attachments. Unlike other times, its time is ISO 8601 (reference: wire format
 * §1.3).
 */
export function presentAttachment(
  attachment: AttachmentInfo,
  downloadUrl: string,
  expiresAt: number,
): AttachmentSummary {
  const { id, filename, contentType, contentId, disposition, size } = attachment
  return {
    id,
    filename,
    content_type: contentType,
    ...(contentId === null ? {} : { content_id: contentId }),
    content_disposition: disposition,
    download_url: downloadUrl,
    expires_at: isoTimestamp(expiresAt),
    size,
  }
}
