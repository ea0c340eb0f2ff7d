/** What the API document says of finding emails. */
import { CATEGORIES } from '../mail/bounce.ts'
import { COUNTED } from '../mail/counted.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  status: { description: 'Comma-separated. Only emails whose last event is one of these.', schema: text },
  domain: { description: 'Only emails whose From address is in this domain.', schema: text },
  from: { description: 'Only emails whose From field contains this text.', schema: text },
  to: { description: 'Only emails to this address, or to an address that contains this text.', schema: text },
  to_domain: { description: 'Only emails to a recipient in this domain.', schema: text },
  tag: { description: 'Only emails with this tag: `name` or `name:value`.', schema: text },
  key: { description: 'Only emails sent with this API key: its id or name.', schema: text },
  subject: { description: 'Only emails whose subject contains each of these words.', schema: text },
  id: { description: 'Only the email with this id.', schema: { type: 'string', format: 'uuid' } },
  message_id: { description: 'Only emails with this Message-ID.', schema: text },
  reply: {
    description: 'Only emails whose last SMTP reply contains this text, such as a queue id.',
    schema: text,
  },
  since: { description: 'Only emails accepted at or after this time (ISO 8601).', schema: text },
  until: { description: 'Only emails accepted before this time (ISO 8601).', schema: text },
  event: {
    description:
      'Only emails to which this happened, even if something else happened later. The values are names of metrics. All conditions about events must match the same event.',
    schema: { type: 'string', enum: [...COUNTED] },
  },
  event_since: { description: 'The event happened at or after this time (ISO 8601).', schema: text },
  event_until: { description: 'The event happened before this time (ISO 8601).', schema: text },
  provider: {
    description: 'The event concerned a recipient at this mailbox provider (its id).',
    schema: text,
  },
  bounce: {
    description:
      'The event was a bounce of this category. `undetermined`: a bounce without a known category.',
    schema: { type: 'string', enum: [...CATEGORIES, 'undetermined'] },
  },
}

/** The conditions as query parameters: their names mean other things elsewhere. */
export const SEARCH_PARAMETERS: Record<string, ParameterNotes> = Object.fromEntries(
  Object.entries(CONDITIONS).map(([name, notes]) => [`emails_${name}`, { name, ...notes }]),
)

const conditions = Object.keys(SEARCH_PARAMETERS)

/** The words for each route. */
export const emailSearchOperations: Record<string, OperationNotes> = {
  'GET /emails/search': {
    id: 'searchEmails',
    tag: 'Emails',
    summary: 'Search emails',
    description:
      'All conditions must match. Each request scans a limited number of emails, newest first, so a page can be short or empty. To get the next page, pass `next` as `after` until it is null. Not part of the hosted API.',
    query: ['limit', 'after', ...conditions],
  },
  'GET /emails/export.csv': {
    id: 'exportEmails',
    tag: 'Emails',
    summary: 'Export emails',
    description: 'All emails that match these conditions. Not part of the hosted API.',
    query: conditions,
    answers: { type: 'text/csv', description: 'The emails, with a header row.' },
  },
  'GET /emails/:id/suppressions': {
    id: 'listEmailSuppressions',
    tag: 'Emails',
    summary: 'List the suppressed recipients of an email',
    description: 'Recipients that are on the suppression list now. Not part of the hosted API.',
  },
  'GET /emails/:id/webhooks': {
    id: 'listEmailWebhooks',
    tag: 'Emails',
    summary: 'List the webhook deliveries of an email',
    description: 'The first 100. Not part of the hosted API.',
  },
  'GET /emails/:id/preview': {
    id: 'previewEmail',
    tag: 'Dashboard',
    summary: 'Preview the HTML of an email with its remote images',
    description: 'For a frame in the dashboard. The page runs no scripts and loads only images.',
    answers: { type: 'text/html', description: 'The page.' },
  },
  'POST /emails/:id/resend': {
    id: 'resendEmail',
    tag: 'Emails',
    summary: 'Send an email again',
    description:
      "Creates a new email with the same sender, recipients, content and tags, subject to the same checks as any new email. Refused if the content is no longer stored, or if an SMTP message's header lists different recipients than its envelope. Not part of the hosted API.",
    headers: ['Idempotency-Key'],
  },
}
