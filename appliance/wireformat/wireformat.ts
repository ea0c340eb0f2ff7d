/**
 * How stored objects look outside: the API and the command line print the same thing because both call these.
 * Pure. Shapes: http/schemas, which are the wire format's one description.
 */
import type * as attachments from '../http/schemas/attachments.ts'
import type * as emails from '../http/schemas/emails.ts'
import type { AttachmentInfo, Email, EmailSummary } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

export { EMAIL_COLUMNS, emailRecord, presentFound } from './email-search.ts'

const listOrNull = (addresses: string[]): string[] | null => (addresses.length > 0 ? addresses : null)

/** An element of GET /emails. */
export function presentEmailSummary(email: EmailSummary): emails.EmailSummary {
  return {
    id: email.id,
    message_id: email.messageId,
    to: email.to,
    from: email.from,
    created_at: timestamp(email.createdAt),
    subject: email.subject,
    bcc: listOrNull(email.bcc),
    cc: listOrNull(email.cc),
    reply_to: listOrNull(email.replyTo),
    last_event: email.lastEvent,
    scheduled_at: timestampOrNull(email.scheduledAt),
  }
}

/** GET /emails/:id. @param content what the email says */
export function presentEmail(email: Email, content: Pick<emails.Email, 'html' | 'text'>): emails.Email {
  return {
    object: 'email',
    ...presentEmailSummary(email),
    html: content.html,
    text: content.text,
    tags: email.tags,
  }
}

/** An element of GET /emails/:id/attachments. Its instant is ISO 8601, unlike others (reference: wire format §1.3). */
export function presentAttachment(
  attachment: AttachmentInfo,
  downloadUrl: string,
  expiresAt: number,
): attachments.AttachmentSummary {
  const { id, filename, contentType, contentId, disposition, size } = attachment
  return {
    id,
    filename,
    content_type: contentType,
    ...(contentId === null ? {} : { content_id: contentId }),
    content_disposition: disposition,
    download_url: downloadUrl,
    expires_at: new Date(expiresAt).toISOString(),
    size,
  }
}
