import type * as schema from '../http/schemas/email-search.ts'
import { csvRecord } from '../mail/csv.ts'
import type { EmailSummary as WireSummary } from '../http/schemas/emails.ts'
import type { FoundEmail } from '../storage/storage.ts'

/** An element of GET /emails/search. @param summary the email as all lists show it */
export function presentFound(summary: WireSummary, email: FoundEmail): schema.FoundEmail {
  const { apiKeyId, attempts, recipients, opened, clicked } = email
  return {
    ...summary,
    api_key_id: apiKeyId,
    attempts,
    recipients,
    opened,
    clicked,
    last: presentLast(email),
  }
}

function presentLast({ last }: FoundEmail): schema.FoundEmail['last'] {
  if (!last) return null
  const { host, note } = last.cause
  return { recipient: last.recipient, state: last.state, host, note, reply: replyOf(last.cause) }
}

/** A reply as one line. */
function replyOf({ reply }: NonNullable<FoundEmail['last']>['cause']): string | null {
  if (!reply) return null
  return [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ')
}

/** The columns of an exported list of emails. */
export const EMAIL_COLUMNS = csvRecord([
  ...['id', 'created_at', 'status', 'from', 'to', 'cc', 'bcc', 'subject', 'message_id', 'attempts'],
  ...['api_key_id', 'last_recipient', 'last_host', 'last_note', 'last_reply', 'recipients'],
])

/** One email as a line of an exported list. */
export function emailRecord(email: FoundEmail): string {
  const last = presentLast(email)
  return csvRecord([
    ...[email.id, new Date(email.createdAt).toISOString(), email.lastEvent, email.from],
    ...[email.to, email.cc, email.bcc].map((addresses) => addresses.join(', ')),
    ...[email.subject, email.messageId, String(email.attempts), email.apiKeyId ?? ''],
    ...[last?.recipient ?? '', last?.host ?? '', last?.note ?? '', last?.reply ?? ''],
    Object.entries(email.recipients)
      .map(([status, count]) => `${count} ${status}`)
      .join(', '),
  ])
}
