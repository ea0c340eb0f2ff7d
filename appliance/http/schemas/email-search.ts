import { Type, type Static } from 'typebox'
import { DELIVERY_STATES } from '../../mail/verdict.ts'
import { EmailSummary } from './emails.ts'
import { RecipientCounts } from '../../api/recipients.ts'
import { Id, kind, literals, Nullable, Timestamp } from '../../api/shared.ts'
import { WebhookEventSummary } from '../../api/webhook-events.ts'

/** What was last heard about a recipient. */
export const LastHeard = Type.Object(
  {
    recipient: Type.String({ description: 'The recipient address.' }),
    state: literals(DELIVERY_STATES, { description: 'State of the delivery.' }),
    host: Nullable(Type.String(), { description: 'The mail server of the last attempt; null: none.' }),
    note: Type.String({ description: 'Explanation of the state, in one sentence.' }),
    reply: Nullable(Type.String(), { description: 'The last SMTP reply; null: none.' }),
  },
  { description: 'The latest result for one of the recipients.' },
)

/** An element of GET /emails/search. */
export const FoundEmail = Type.Object(
  {
    ...EmailSummary.properties,
    api_key_id: Nullable(Type.String(), { description: 'The API key it was sent with; null: none.' }),
    attempts: Type.Integer({ description: 'Attempts so far, of the recipient with the most.' }),
    recipients: RecipientCounts,
    opened: Type.Boolean({ description: 'Whether a person opened it, whatever happened later.' }),
    clicked: Type.Boolean({ description: 'Whether a person clicked a link in it.' }),
    last: Nullable(LastHeard, { description: 'The latest result; null: none yet.' }),
  },
  { description: 'A matching email.' },
)
export type FoundEmail = Static<typeof FoundEmail>

/** GET /emails/search */
export const EmailSearch = Type.Object(
  {
    object: kind('list'),
    has_more: Type.Boolean({ description: 'Whether there are older emails that were not searched yet.' }),
    data: Type.Array(FoundEmail, { description: 'Matching emails, newest first.' }),
    next: Nullable(Id, {
      description:
        'Cursor for the next page: pass it as `after`. It may be the id of an email that is not on this page. Null: no more results.',
    }),
    looked_back_to: Nullable(Timestamp, {
      description: 'How far back this request searched; null: all emails.',
    }),
  },
  {
    description:
      'Search results. Each request scans a limited number of emails, so a page can be short or empty without being the last.',
  },
)
export type EmailSearch = Static<typeof EmailSearch>

/** An element of GET /emails/:id/webhooks. */
export const EmailWebhookEvent = Type.Object(
  { ...WebhookEventSummary.properties, webhook_id: Id },
  { description: 'A webhook delivery of an email.' },
)

/** GET /emails/:id/webhooks */
export const EmailWebhookEvents = Type.Object(
  {
    object: kind('list'),
    has_more: Type.Boolean({ description: 'Whether there are more than the first 100.' }),
    data: Type.Array(EmailWebhookEvent, { description: 'Oldest first.' }),
  },
  { description: 'Webhook deliveries of an email.' },
)
export type EmailWebhookEvents = Static<typeof EmailWebhookEvents>
