/** All stored data about one email in one file, for a support ticket. */
import { Type, type Static } from 'typebox'
import type {
  Email as StoredEmail,
  EmailHistory,
  ListedRequest,
  ReturnedMessage,
  WebhookDelivery,
} from '../storage/storage.ts'
import { Email, EmailWebhookEvents, presentEmail, presentEmailWebhooks } from './emails.ts'
import { LogSummary, presentListedLog } from './logs.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId } from './parameters.ts'
import { array, integer, kind, object, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { presentTimeline, Timeline } from './timeline.ts'
import { timestamp } from './timestamp.ts'

export const EmailRecord = object('What is known about an email, without its content.', {
  object: kind('email_record'),
  recorded_at: Timestamp,
  size: integer('Bytes of the message.'),
  return_path: string('The sender in the envelope (RFC 5321 §4.5.5).'),
  email: Type.Omit(Email, ['html', 'text'], { description: 'The email.' }),
  requests: array(LogSummary, 'The request that created it, while it is stored.'),
  timeline: Timeline,
  webhooks: EmailWebhookEvents,
})
export type EmailRecord = Static<typeof EmailRecord>

/** Data that a record is built from. */
export interface EmailRecordParts {
  email: StoredEmail
  requests: ListedRequest[]
  history: EmailHistory
  returned: ReturnedMessage[]
  told: WebhookDelivery[]
}

const operation = operationsIn('Emails')
const about = {
  description:
    'The request, policy decisions, SMTP transcripts with TLS, events, reports and webhooks of an email, without its content and without secrets. It names all recipients. Not part of the hosted API.',
  params: byId,
}
export const getEmailRecord = operation('GET /emails/:id/record', {
  ...about,
  summary: 'Get all that is known about an email',
  response: { 200: EmailRecord },
})
export const getEmailRecordPage = operation('GET /emails/:id/record.html', {
  ...about,
  summary: 'Download all that is known about an email as a page',
  response: { 200: nonJsonContent('text/html', 'The page.') },
})

/** Formats the record of an email. */
export function presentEmailRecord(parts: EmailRecordParts, now: number): EmailRecord {
  const { email, requests, history, returned, told } = parts
  const { html: _html, text: _text, ...shown } = presentEmail(email, { html: null, text: null })
  return {
    object: 'email_record',
    recorded_at: timestamp(now),
    size: email.size,
    return_path: email.returnPath,
    email: shown,
    requests: requests.map(presentListedLog),
    timeline: presentTimeline(email, history, [], returned),
    webhooks: presentEmailWebhooks(told),
  }
}
