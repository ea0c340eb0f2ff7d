/** What the API document says of finding emails. */
import { CATEGORIES } from '../mail/bounce.ts'
import { COUNTED } from '../mail/counted.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  status: { description: 'Only those whose last event is one of these, with commas between.', schema: text },
  domain: { description: 'Only those whose From address has this domain.', schema: text },
  from: { description: 'Only those whose From field contains this.', schema: text },
  to: { description: 'Only those to this address, or to one that contains this.', schema: text },
  to_domain: { description: 'Only those to a recipient of this domain.', schema: text },
  tag: { description: 'Only those with this tag: `name` or `name:value`.', schema: text },
  key: { description: 'Only those sent with this API key: its id or its name.', schema: text },
  subject: { description: 'Only those whose subject contains each of these words.', schema: text },
  id: { description: 'Only the email with this id.', schema: { type: 'string', format: 'uuid' } },
  message_id: { description: 'Only those with this Message-ID.', schema: text },
  reply: {
    description: 'Only those of which the last word of a mail server contains this, such as its queue id.',
    schema: text,
  },
  since: { description: 'Only those accepted at or after this instant (ISO 8601).', schema: text },
  until: { description: 'Only those accepted before this instant (ISO 8601).', schema: text },
  event: {
    description:
      'Only those to which this happened, even if something else has since. The words are those of the metrics. All conditions on what happened have to hold of one event.',
    schema: { type: 'string', enum: [...COUNTED] },
  },
  event_since: { description: 'It happened at or after this instant (ISO 8601).', schema: text },
  event_until: { description: 'It happened before this instant (ISO 8601).', schema: text },
  provider: { description: 'It was about a recipient at this mailbox provider (its id).', schema: text },
  bounce: {
    description: 'It was a bounce about this; `undetermined`: one of which that was not told.',
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
      'All conditions have to hold. A request looks at a bounded number of emails, newest first: go on with `next` as `after` until it is null, also where a page is empty. Not at the hosted service.',
    query: ['limit', 'after', ...conditions],
  },
  'GET /emails/export.csv': {
    id: 'exportEmails',
    tag: 'Emails',
    summary: 'Export emails',
    description: 'Everything that a search with these conditions finds. Not at the hosted service.',
    query: conditions,
    answers: { type: 'text/csv', description: 'The list, with a line of column names.' },
  },
  'GET /emails/:id/suppressions': {
    id: 'listEmailSuppressions',
    tag: 'Emails',
    summary: 'List the suppressed recipients of an email',
    description: 'Those that are on the suppression list now. Not at the hosted service.',
  },
  'GET /emails/:id/webhooks': {
    id: 'listEmailWebhooks',
    tag: 'Emails',
    summary: 'List what webhooks were told of an email',
    description: 'The first hundred. Not at the hosted service.',
  },
  'GET /emails/:id/preview': {
    id: 'previewEmail',
    tag: 'Dashboard',
    summary: 'Show the html of an email with its remote images',
    description: 'For a frame of the dashboard: it runs nothing, and loads nothing but images.',
    answers: { type: 'text/html', description: 'The page.' },
  },
  'POST /emails/:id/resend': {
    id: 'resendEmail',
    tag: 'Emails',
    summary: 'Send an email again',
    description:
      'Makes a new email with the same sender, recipients, content and tags; it goes through every check that a new one goes through. Refused where the content is not kept any more, and for a message by SMTP whose header names others than it was sent to. Not at the hosted service.',
    headers: ['Idempotency-Key'],
  },
}
