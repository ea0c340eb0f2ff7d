import { Type, type Static } from 'typebox'
import { DELIVERY_STATES } from '../../mail/verdict.ts'
import { EmailSummary } from './emails.ts'
import { RecipientCounts } from './recipients.ts'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'
import { WebhookEventSummary } from './webhooks.ts'

/** What was last heard about a recipient. */
export const LastHeard = Type.Object(
  {
    recipient: Type.String({ description: 'The address.' }),
    state: literals(DELIVERY_STATES, { description: 'Where the delivery stands.' }),
    host: Nullable(Type.String(), { description: 'The mail server that was asked; null: none was.' }),
    note: Type.String({ description: 'Why it stands there, in a sentence.' }),
    reply: Nullable(Type.String(), { description: 'What the mail server said; null: it said nothing.' }),
  },
  { description: 'The last word about one of the recipients.' },
)

/** An element of GET /emails/search. */
export const FoundEmail = Type.Object(
  {
    ...EmailSummary.properties,
    api_key_id: Nullable(Type.String(), { description: 'The API key it was sent with; null: none.' }),
    attempts: Type.Integer({ description: 'Attempts so far, of the recipient who had the most.' }),
    recipients: RecipientCounts,
    opened: Type.Boolean({ description: 'A person opened it, whatever happened since.' }),
    clicked: Type.Boolean({ description: 'A person followed one of its links.' }),
    last: Nullable(LastHeard, { description: 'What was heard last; null: nothing yet.' }),
  },
  { description: 'An email that was found.' },
)
export type FoundEmail = Static<typeof FoundEmail>

/** GET /emails/search */
export const EmailSearch = Type.Object(
  {
    object: kind('list'),
    has_more: Type.Boolean({ description: 'Whether older emails were not looked at yet.' }),
    data: Type.Array(FoundEmail, { description: 'Those that were found, newest first.' }),
    next: Nullable(Id, {
      description:
        'Where to go on: give it as `after`. It need not be an email of this page. Null: that was all.',
    }),
    looked_back_to: Nullable(Timestamp, {
      description: 'How far back was looked; null: as far as there are emails.',
    }),
  },
  {
    description:
      'What a search found. It looks at a bounded number of emails at once, so a page may be short or empty and still not be the last.',
  },
)
export type EmailSearch = Static<typeof EmailSearch>

/** An element of GET /emails/:id/webhooks. */
export const EmailWebhookEvent = Type.Object(
  { ...WebhookEventSummary.properties, webhook_id: Id },
  { description: 'What a webhook was told of an email.' },
)

/** GET /emails/:id/webhooks */
export const EmailWebhookEvents = Type.Object(
  {
    object: kind('list'),
    has_more: Type.Boolean({ description: 'Whether there are more than the first hundred.' }),
    data: Type.Array(EmailWebhookEvent, { description: 'Oldest first.' }),
  },
  { description: 'What webhooks were told of an email.' },
)
export type EmailWebhookEvents = Static<typeof EmailWebhookEvents>
