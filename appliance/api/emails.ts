/** Accepted emails. Sending: sending.ts. Search: email-search.ts. History: timeline.ts. */
import { Type, type Static } from 'typebox'
import { type VariantName, VARIANTS } from '../mail/ab-test.ts'
import { LAST_EVENTS } from '../mail/event.ts'
import { RECIPIENT_STATUSES } from '../mail/recipient-status.ts'
import type {
  Email as StoredEmail,
  EmailSummary as StoredSummary,
  WebhookDelivery,
} from '../storage/storage.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId, choice, id, page, query } from './parameters.ts'
import { TagSchema } from './sending.ts'
import {
  array,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  string,
} from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { SuppressionList } from './suppressions.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { presentWebhookDeliverySummary, WebhookEventSummary } from './webhook-events.ts'

/** The state of a recipient. */
export const RecipientStatus = literals(
  RECIPIENT_STATUSES,
  'Status of this recipient: `queued` or `scheduled` before the first attempt, `sent` during it, `delayed` after it; `complained` after a complaint.',
)
export type RecipientStatus = Static<typeof RecipientStatus>

/** Numbers of recipients by state. */
export const RecipientCounts = object(
  'Number of recipients with each status. Statuses without recipients are absent.',
  Object.fromEntries(
    RECIPIENT_STATUSES.map((status) => [
      status,
      Type.Optional(integer(`Recipients with the status \`${status}\`.`, { minimum: 1 })),
    ]),
  ) as Record<
    (typeof RECIPIENT_STATUSES)[number],
    ReturnType<typeof Type.Optional<ReturnType<typeof Type.Integer>>>
  >,
)
export type RecipientCounts = Static<typeof RecipientCounts>

const summary = {
  id: Id,
  message_id: Nullable(Type.String(), 'The Message-ID field, in angle brackets.'),
  to: array(Type.String(), 'The To field, one address each.'),
  from: string('The From field.'),
  created_at: Timestamp,
  subject: string('The subject.'),
  bcc: Nullable(Type.Array(Type.String()), 'Recipients hidden from the others; null: none.'),
  cc: Nullable(Type.Array(Type.String()), 'The Cc field, one address each; null: none.'),
  reply_to: Nullable(Type.Array(Type.String()), 'Address for replies; null: the sender.'),
  last_event: literals(LAST_EVENTS, 'The last event.'),
  scheduled_at: Nullable(Timestamp, 'When it will be sent; null: not scheduled.'),
  broadcast_id: Type.Optional(string('The broadcast that it is part of. Absent: none.', { format: 'uuid' })),
}

export const EmailSummary = object('An email, without its content.', summary)
export type EmailSummary = Static<typeof EmailSummary>
export const EmailList = listOf(EmailSummary, 'emails')
export type EmailList = Static<typeof EmailList>

export const Email = object('An email.', {
  object: kind('email'),
  ...summary,
  html: Nullable(Type.String(), 'The HTML, as sent; null: none.'),
  text: Nullable(Type.String(), 'The plain text, as sent; null: none.'),
  tags: array(TagSchema, 'The tags of the email.'),
  variant: Type.Optional(literals(VARIANTS, 'The variant of the A/B test of its broadcast. Absent: none.')),
  template: Type.Optional(
    object('The version of a template that it was made from. Absent: none.', {
      id: string('The id of the template.'),
      version_id: string('The id of the version.'),
    }),
  ),
})
export type Email = Static<typeof Email>

/** Body of PATCH /emails/:id */
export const UpdateEmail = object('The new time of a scheduled email.', {
  scheduled_at: string('The new time, at most 30 days ahead: ISO 8601 or English words.', {
    examples: ['in 1 hour'],
  }),
})

/** The response to changes of an email. */
export const EmailChanged = object('The changed email.', { object: kind('email'), id: Id })

/** Body of POST /emails/:id/share */
export const ShareEmail = object('Options of the link. The body is optional.', {
  expires_in: optionalOrNull(
    Type.String({ examples: ['2 hours'] }),
    'How long the link works: a duration such as `10m`, `2 hours` or `1 day`. Default and maximum: 48 hours.',
  ),
})

export const EmailShared = object('The link.', {
  object: kind('email'),
  id: Id,
  url: string('A link that shows the email to anyone who has it.'),
})

export const EmailWebhookEvent = object('A webhook delivery of an email.', {
  ...WebhookEventSummary.properties,
  webhook_id: Id,
})

/** Maximum number of webhook deliveries of an email in a list. */
export const MAX_WEBHOOK_DELIVERIES = 100

export const EmailWebhookEvents = object('Webhook deliveries of an email.', {
  object: kind('list'),
  has_more: boolean('Whether there are more than the first 100.'),
  data: array(EmailWebhookEvent, 'Oldest first.'),
})
export type EmailWebhookEvents = Static<typeof EmailWebhookEvents>

const emailOperation = operationsIn('Emails')
const dashboardOperation = operationsIn('Dashboard')

export const listEmails = emailOperation('GET /emails', {
  summary: 'List emails',
  querystring: query({
    ...page,
    broadcast_id: id('Only emails of this broadcast. Not part of the hosted API.'),
  }),
  response: { 200: EmailList },
})
export const getEmail = emailOperation('GET /emails/:id', {
  summary: 'Get an email',
  params: byId,
  response: { 200: Email },
})
export const rescheduleEmail = emailOperation('PATCH /emails/:id', {
  summary: 'Reschedule an email',
  description: 'Only while the email is scheduled.',
  params: byId,
  body: UpdateEmail,
  response: { 200: EmailChanged },
})
export const cancelEmail = emailOperation('POST /emails/:id/cancel', {
  summary: 'Cancel a scheduled email',
  description: 'Only while the email is scheduled. A canceled email is never sent.',
  params: byId,
  response: { 200: EmailChanged },
})
export const shareEmail = emailOperation('POST /emails/:id/share', {
  summary: 'Share an email',
  description: 'Creates a link that shows the email to people without an account, for at most 48 hours.',
  params: byId,
  body: Nullable(ShareEmail),
  response: { 200: EmailShared },
})
export const getSource = emailOperation('GET /emails/:id/source', {
  summary: 'Get the source of an email',
  description: 'The message as accepted, before signing. Not part of the hosted API.',
  params: byId,
  response: { 200: nonJsonContent('message/rfc822', 'The RFC 5322 message.') },
})
export const previewEmail = dashboardOperation('GET /emails/:id/preview', {
  access: 'people',
  summary: 'Preview the HTML of an email with its remote images',
  description: 'For a frame in the dashboard. The page runs no scripts and loads only images.',
  params: byId,
  querystring: query({ look: choice(['light', 'dark'], 'Color scheme of the page. Default: light.') }),
  response: { 200: nonJsonContent('text/html', 'The page.') },
})
export const listEmailSuppressions = emailOperation('GET /emails/:id/suppressions', {
  summary: 'List the suppressed recipients of an email',
  description: 'Recipients that are on the suppression list now. Not part of the hosted API.',
  params: byId,
  response: { 200: SuppressionList },
})
export const listEmailWebhooks = emailOperation('GET /emails/:id/webhooks', {
  summary: 'List the webhook deliveries of an email',
  description: 'The first 100. Not part of the hosted API.',
  params: byId,
  response: { 200: EmailWebhookEvents },
})

const listOrNull = (addresses: string[]): string[] | null => (addresses.length > 0 ? addresses : null)

/**
 * Formats the response of GET /emails/:id/webhooks. @param told the first webhook deliveries; one more than the list
 * shows if there are more
 */
export function presentEmailWebhooks(told: readonly WebhookDelivery[]): EmailWebhookEvents {
  const data = told.slice(0, MAX_WEBHOOK_DELIVERIES)
  return {
    object: 'list',
    has_more: told.length > MAX_WEBHOOK_DELIVERIES,
    data: data.map((one) => ({ ...presentWebhookDeliverySummary(one), webhook_id: one.webhookId })),
  }
}

/** Formats an element of GET /emails. */
export function presentEmailSummary(email: StoredSummary): EmailSummary {
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
    ...(email.broadcastId !== null && { broadcast_id: email.broadcastId }),
  }
}

/**
 * Formats the response of GET /emails/:id.
 * @param content the body of the email
 * @param variant of an A/B test; null: none
 */
export function presentEmail(
  email: StoredEmail,
  content: Pick<Email, 'html' | 'text'>,
  variant: VariantName | null = null,
): Email {
  return {
    object: 'email',
    ...presentEmailSummary(email),
    html: content.html,
    text: content.text,
    tags: email.tags,
    ...(variant !== null && { variant }),
    ...(email.template && { template: { id: email.template.id, version_id: email.template.versionId } }),
  }
}
