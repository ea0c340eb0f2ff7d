/** Search for emails, and its export. */
import { Type, type Static } from 'typebox'
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { EVENT_COUNTERS, LAST_EVENTS, type LastEvent } from '../mail/event.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import { refuse } from '../mail/refusals.ts'
import { DELIVERY_STATES } from '../mail/verdict.ts'
import type { EmailFilter, FoundEmail as StoredFound } from '../storage/storage.ts'
import { EmailSummary, presentEmailSummary, RecipientCounts } from './emails.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import {
  choiceCondition,
  condition,
  idSchema,
  parseId,
  parseInstant,
  search,
  searchPage,
  type RawParameters,
} from './parameters.ts'
import { array, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import { isoTimestamp } from './timestamp.ts'

/** The latest event of a recipient. */
export const LatestResult = object('The latest result for one of the recipients.', {
  recipient: string('The recipient address.'),
  state: literals(DELIVERY_STATES, 'State of the delivery.'),
  host: Nullable(Type.String(), 'The mail server of the last attempt; null: none.'),
  note: string('Explanation of the state, in one sentence.'),
  reply: Nullable(Type.String(), 'The last SMTP reply; null: none.'),
})

export const FoundEmail = object('A matching email.', {
  ...EmailSummary.properties,
  api_key_id: Nullable(Type.String(), 'The API key it was sent with; null: none.'),
  attempts: integer('Attempts so far, of the recipient with the most.'),
  recipients: RecipientCounts,
  opened: boolean('Whether a person opened it, whatever happened later.'),
  clicked: boolean('Whether a person clicked a link in it.'),
  last: Nullable(LatestResult, 'The latest result; null: none yet.'),
})
export type FoundEmail = Static<typeof FoundEmail>

export const EmailSearch = object(
  'Search results. Each request scans a limited number of emails, so a page can be short or empty without being the last.',
  {
    object: kind('list'),
    has_more: boolean('Whether there are older emails that were not searched yet.'),
    data: array(FoundEmail, 'Matching emails, newest first.'),
    next: Nullable(
      Id,
      'Cursor for the next page: pass it as `after`. It may be the id of an email that is not on this page. Null: no more results.',
    ),
    looked_back_to: Nullable(Timestamp, 'How far back this request searched; null: all emails.'),
  },
)
export type EmailSearch = Static<typeof EmailSearch>

/** Maximum number of words of the subject in a search. */
const MOST_WORDS = 10

function statuses(given: string, parameter: string): LastEvent[] {
  return given.split(',').map((word) => {
    const found = LAST_EVENTS.find((one) => one === word.trim().toLowerCase())
    if (!found)
      throw refuse('invalid_parameter', {
        parameter,
        expected: `a comma-separated list of ${LAST_EVENTS.join(', ')}`,
      })
    return found
  })
}

/** Parses `name` or `name:value`; neither may contain a colon, and the value may be empty. */
function tag(given: string, parameter: string): NonNullable<EmailFilter['tag']> {
  const [, name, value = null] = /^([\w-]+)(?::([\w-]*))?$/.exec(given) ?? []
  if (name === undefined)
    throw refuse('invalid_parameter', {
      parameter,
      expected: '`name` or `name:value`, of ASCII letters, digits, underscores and dashes',
    })
  return { name, value }
}

function words(given: string, parameter: string): string[] {
  const found = given.split(/\s+/)
  if (found.length > MOST_WORDS)
    throw refuse('invalid_parameter', { parameter, expected: `at most ${MOST_WORDS} words` })
  return found
}

const withoutAt = (given: string): string => given.replace(/^@/, '')

/** Adds the angle brackets, which people omit (RFC 5322 §3.6.4). */
const messageId = (given: string): string => (given.startsWith('<') ? given : `<${given}>`)

const BOUNCES = [...BOUNCE_CATEGORIES, 'undetermined'] as const

const conditions = {
  status: condition(string('Comma-separated. Only emails whose last event is one of these.'), statuses),
  domain: condition(string('Only emails whose From address is in this domain.'), withoutAt),
  from: condition(string('Only emails whose From field contains this text.')),
  to: condition(string('Only emails to this address, or to an address that contains this text.')),
  to_domain: condition(string('Only emails to a recipient in this domain.'), withoutAt),
  tag: condition(string('Only emails with this tag: `name` or `name:value`.'), tag),
  key: condition(string('Only emails sent with this API key: its id or name.')),
  subject: condition(string('Only emails whose subject contains each of these words.'), words),
  id: condition(idSchema('Only the email with this id.'), parseId),
  message_id: condition(string('Only emails with this Message-ID.'), messageId),
  broadcast: condition(idSchema('Only emails of the broadcast with this id.'), parseId),
  reply: condition(string('Only emails whose last SMTP reply contains this text, such as a queue id.')),
  since: condition(string('Only emails accepted at or after this time (ISO 8601).'), parseInstant),
  until: condition(string('Only emails accepted before this time (ISO 8601).'), parseInstant),
  event: choiceCondition(
    EVENT_COUNTERS,
    'Only emails to which this happened, even if something else happened later. The values are names of metrics. All conditions about events must match the same event.',
  ),
  event_since: condition(string('The event happened at or after this time (ISO 8601).'), parseInstant),
  event_until: condition(string('The event happened before this time (ISO 8601).'), parseInstant),
  provider: condition(string('The event concerned a recipient at this mailbox provider (its id).')),
  bounce: choiceCondition(
    BOUNCES,
    'The event was a bounce of this category. `undetermined`: a bounce without a known category.',
  ),
}
/** The filter parameters in a request. */
export type EmailConditions = RawParameters<typeof conditions>
type Conditions = { [Name in keyof typeof conditions]?: ReturnType<(typeof conditions)[Name]['read']> }

/** Converts the parameters to a filter. */
export function parseEmailFilter(given: Conditions): EmailFilter {
  const { to_domain, key, message_id, event, event_since, event_until, provider, bounce, ...same } = given
  const happened = { event, since: event_since, until: event_until, provider, bounce }
  const anyEvent = Object.values(happened).some((value) => value !== undefined)
  return {
    ...same,
    toDomain: to_domain,
    apiKey: key,
    messageId: message_id,
    happened: anyEvent ? happened : undefined,
  }
}

const operation = operationsIn('Emails')

export const searchEmails = operation('GET /emails/search', {
  summary: 'Search emails',
  description:
    'All conditions must match. Each request scans a limited number of emails, newest first, so a page can be short or empty. To get the next page, pass `next` as `after` until it is null. Not part of the hosted API.',
  querystring: search({ ...searchPage, ...conditions }, Object.keys(conditions)),
  response: { 200: EmailSearch },
})
export const exportEmails = operation('GET /emails/export.csv', {
  summary: 'Export emails',
  description: 'All emails that match these conditions. Not part of the hosted API.',
  querystring: search(conditions),
  response: { 200: nonJsonContent('text/csv', 'The emails, with a header row.') },
})

/** Formats an element of GET /emails/search. */
export function presentFoundEmail(email: StoredFound): FoundEmail {
  return {
    ...presentEmailSummary(email),
    api_key_id: email.apiKeyId,
    attempts: email.attempts,
    recipients: email.recipients,
    opened: email.opened,
    clicked: email.clicked,
    last: presentLast(email),
  }
}

function presentLast({ last }: StoredFound): FoundEmail['last'] {
  if (!last) return null
  const { host, note } = last.cause
  return { recipient: last.recipient, state: last.state, host, note, reply: replyOf(last.cause) }
}

/** Formats a reply on one line. */
function replyOf({ reply }: NonNullable<StoredFound['last']>['cause']): string | null {
  if (!reply) return null
  return [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ').replaceAll(/\s+/g, ' ')
}

/** The header row of an export. */
export const EMAIL_CSV_HEADER = formatCsvRecord([
  'id',
  'created_at',
  'status',
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'message_id',
  'attempts',
  'api_key_id',
  'last_recipient',
  'last_host',
  'last_note',
  'last_reply',
  'recipients',
])

/** Formats an email as a CSV row. */
export function formatEmailRow(email: StoredFound): string {
  const last = presentLast(email)
  return formatCsvRecord([
    email.id,
    isoTimestamp(email.createdAt),
    email.lastEvent,
    email.from,
    email.to.join(', '),
    email.cc.join(', '),
    email.bcc.join(', '),
    email.subject,
    email.messageId,
    String(email.attempts),
    email.apiKeyId ?? '',
    last?.recipient ?? '',
    last?.host ?? '',
    last?.note ?? '',
    last?.reply ?? '',
    Object.entries(email.recipients)
      .map(([status, count]) => `${count} ${status}`)
      .join(', '),
  ])
}
