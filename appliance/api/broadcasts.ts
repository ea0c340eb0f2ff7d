/** Broadcasts: one email to each contact of a segment. */
import { Type, type Static } from 'typebox'
import {
  BROADCAST_STATUSES,
  pauseSentence,
  type ProviderResult,
  type Review as Reviewed,
  SKIP_REASONS,
} from '../mail/broadcast.ts'
import type { Broadcast as Stored, BroadcastReach, BroadcastRecipient } from '../storage/storage.ts'
import { operation } from './operation.ts'
import { choice, choiceCondition, limit, page, path, pathUuid, query, text } from './parameters.ts'
import {
  Deleted,
  GivenDocument,
  Id,
  kind,
  listOf,
  literals,
  Nullable,
  presentDocument,
  StoredDocument,
  Timestamp,
} from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const described = (description: string) => ({ description })
const optionalText = (description: string) => Type.Optional(Nullable(Type.String(), described(description)))
const count = (description: string) => Type.Integer({ minimum: 0, description })

const draftFields = {
  name: optionalText('Name, at most 70 characters. Readers do not see it. Default: the subject.'),
  segment_id: optionalText('The segment whose contacts get it.'),
  audience_id: Type.Optional(Nullable(Type.String(), { deprecated: true, description: 'Use `segment_id`.' })),
  exclude_segment_ids: Type.Optional(
    Nullable(Type.Array(Type.String()), described('Segments whose contacts get nothing, at most 20.')),
  ),
  from: optionalText('The From field: `Name <address>` or an address of a verified domain.'),
  subject: optionalText('The subject. May contain merge tags.'),
  reply_to: Type.Optional(
    Nullable(Type.Union([Type.String(), Type.Array(Type.String())]), described('Where answers go.')),
  ),
  preview_text: optionalText('What mail programs show after the subject in lists.'),
  html: optionalText('The HTML, with merge tags such as `{{{FIRST_NAME|there}}}`.'),
  text: optionalText('Plain text. null: generated from the HTML; "": none.'),
  document: GivenDocument,
  topic_id: optionalText('The topic it is about: who opted out of it gets nothing. null: none.'),
}

/** POST /broadcasts */
export const CreateBroadcast = Type.Object(
  {
    ...draftFields,
    send: Type.Optional(Nullable(Type.Boolean(), described('true: send it at once, or at `scheduled_at`.'))),
    scheduled_at: optionalText('When to send it, as in `POST /emails`. Needs `send`.'),
  },
  described('A broadcast to create.'),
)
/** PATCH /broadcasts/:id */
export const UpdateBroadcast = Type.Object(
  {
    ...draftFields,
    edits: Type.Optional(
      Type.Integer(described('The `edits` that you read: refused with 409 if somebody changed it since.')),
    ),
  },
  described('What to change. Once sending has begun, only the name can be changed.'),
)
export type UpdateBroadcast = Static<typeof UpdateBroadcast>
/** POST /broadcasts/:id/send */
export const SendBroadcast = Type.Object(
  {
    scheduled_at: optionalText('When to send it, as in `POST /emails`. Default: now.'),
    edits: Type.Optional(
      Type.Integer(described('The `edits` that you read: refused with 409 if somebody changed it since.')),
    ),
  },
  described('When to send it.'),
)

/** POST /broadcasts/:id/test */
export const TestBroadcast = Type.Object(
  {
    // Optional here, so that a broadcast of another team is not found before anything else is said.
    to: Type.Optional(
      Type.Union(
        [Type.String(), Type.Array(Type.String())],
        described('Who gets it: at most 5 addresses. Required.'),
      ),
    ),
    contact_id: optionalText('Id or address of the contact whose values it has. Default: sample values.'),
  },
  described('A test of a broadcast.'),
)

const reference = { object: kind('broadcast'), id: Id }
export const BroadcastRef = Type.Object(reference, described('The broadcast.'))
export const BroadcastTested = Type.Object(
  { ...reference, email_ids: Type.Array(Id, described('The emails.')) },
  described('A test that was sent.'),
)
export const BroadcastDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  described('The deleted broadcast.'),
)

const status = literals(
  BROADCAST_STATUSES,
  described('queued: it is being sent, or paused. sent: every email was handed over at least once.'),
)
const summary = {
  id: Id,
  name: Type.String(described('Name.')),
  audience_id: Id,
  segment_id: Id,
  status,
  created_at: Timestamp,
  scheduled_at: Nullable(Timestamp, described('When it is sent; null: not scheduled.')),
  sent_at: Nullable(Timestamp, described('When sending ended.')),
  topic_id: Nullable(Id, described('The topic it is about; null: none.')),
  paused_at: Nullable(Timestamp, described('When it was paused; null: it is not paused.')),
  pause_reason: Nullable(Type.String(), described('Why it is paused, in a sentence.')),
  recipients: count('Contacts that it goes to, or went to.'),
  counts: Type.Record(Type.String(), Type.Integer(), described('Its emails by their last event.')),
}
export const BroadcastSummary = Type.Object(summary, described('A broadcast.'))
export type BroadcastSummary = Static<typeof BroadcastSummary>
export const BroadcastList = listOf(BroadcastSummary, 'broadcasts')
/** GET /broadcasts/:id */
export const Broadcast = Type.Object(
  {
    object: kind('broadcast'),
    ...summary,
    from: Type.String(described('The From field.')),
    subject: Type.String(described('The subject.')),
    reply_to: Nullable(Type.Array(Type.String()), described('Where answers go.')),
    preview_text: Nullable(Type.String(), described('The preview text.')),
    html: Nullable(Type.String(), described('The HTML.')),
    text: Nullable(Type.String(), described('The plain text.')),
    document: StoredDocument,
    exclude_segment_ids: Type.Array(Id, described('Segments whose contacts get nothing.')),
    edits: Type.Integer(described('Raised by each change of the draft.')),
    problem: Nullable(Type.String(), described('Why it failed.')),
    skipped: Type.Object(
      Object.fromEntries(SKIP_REASONS.map((reason) => [reason, count('Contacts.')])) as Record<
        (typeof SKIP_REASONS)[number],
        ReturnType<typeof count>
      >,
      described('Contacts of the segment that got nothing, by reason.'),
    ),
  },
  described('A broadcast.'),
)
export type Broadcast = Static<typeof Broadcast>

const TYPES = [
  ...(['sent', 'delivered', 'opened', 'clicked'] as const),
  ...(['bounced', 'complained', 'unsubscribed', 'suppressed'] as const),
] as const
const BOUNCE_TYPES = ['permanent', 'transient', 'undetermined'] as const

/** An element of GET /broadcasts/:id/recipients. */
export const Recipient = Type.Object(
  {
    id: Type.String(described('A cursor for `after` and `before`.')),
    contact_id: Nullable(Id, described('null: the address has no contact any more.')),
    email: Type.String(described('The address.')),
    count: Type.Optional(count('How often it was opened or clicked.')),
    bounce_type: Type.Optional(literals(BOUNCE_TYPES, described('The type of bounce.'))),
    clicked_links: Type.Optional(
      Type.Array(
        Type.Object({ url: Type.String(described('The link.')), clicks: count('Clicks on it.') }),
        described('The links that were clicked.'),
      ),
    ),
  },
  described('A recipient.'),
)
export const RecipientList = listOf(Recipient, 'recipients')
export const ClickedLink = Type.Object(
  {
    id: Type.String(described('A cursor for `after` and `before`.')),
    url: Type.String(described('The link.')),
    clicks: count('Clicks of people.'),
    unique_clicks: count('Contacts that clicked it.'),
  },
  described('A clicked link.'),
)
export const ClickedLinkList = listOf(ClickedLink, 'links')

/** GET /broadcasts/:id/results */
export const BroadcastResults = Type.Object(
  {
    opened: count('Recipients that opened it.'),
    clicked: count('Recipients that clicked a link.'),
    unsubscribed: count('Recipients that unsubscribed with its link.'),
    providers: Type.Array(
      Type.Object({
        provider: Type.String(described('The mailbox provider; empty: not known yet.')),
        emails: count('Emails to it.'),
        waiting: count('In the queue.'),
        deferred: count('Of those in the queue, the ones to be tried again later.'),
        delivered: count('Delivered.'),
        bounced: count('Bounced.'),
        complained: count('Reported as spam.'),
      }),
      described('By mailbox provider, the largest first.'),
    ),
  },
  described('Results.'),
)
/** GET /broadcasts/:id/review */
export const BroadcastReview = Type.Object(
  {
    findings: Type.Array(
      Type.Object({
        id: Type.String(described('Which check.')),
        verdict: literals(['block', 'attention', 'pass'], described('block: fix it before you send.')),
        note: Type.String(described('A sentence.')),
        fix: Nullable(Type.String(), described('What to do about it; null: nothing.')),
      }),
      described('What was checked.'),
    ),
    recipients: Type.Object(
      {
        contacts: count('Contacts of the segment.'),
        eligible: count('Those that would get it.'),
        estimated: Type.Boolean(described('Whether the numbers are estimated from the first 50,000.')),
        out: Type.Record(Type.String(), Type.Integer(), described('Those that would not, by reason.')),
      },
      described('Who would get it.'),
    ),
    providers: Type.Array(
      Type.Object({
        provider: Type.String(described('The provider; empty: not known yet.')),
        contacts: count('Contacts that would get it.'),
        hours: Nullable(
          Type.Number(),
          described(
            'About how long sending takes, by the limits and the warm-up of the sending IPs. null: not known, or more than 60 days.',
          ),
        ),
      }),
      described('By mailbox provider, the largest first.'),
    ),
    tags: Type.Array(
      Type.Object({
        key: Type.String(described('The name in the tag.')),
        fallback: Nullable(Type.String(), described('What it says in place of a value.')),
        missing: count('Contacts without a value.'),
        known: Type.Boolean(described('Whether there is a field or property of that name.')),
      }),
      described('Merge tags, and how many contacts have no value.'),
    ),
    looked: count('Contacts that the tags were counted for.'),
    samples: Type.Array(
      Type.Object({
        email: Type.String(described('The address.')),
        subject: Type.String(described('The subject.')),
        text: Type.String(described('The beginning of the last part.')),
      }),
      described('What some contacts would get.'),
    ),
  },
  described('A look at a draft before it is sent.'),
)

const params = path({ id: pathUuid('The id of the broadcast.') })
const tags = ['Broadcasts'] as const
const ref = { 200: BroadcastRef }

export const createBroadcast = operation('POST /broadcasts', {
  ...{ operationId: 'createBroadcast', tags, summary: 'Create a broadcast', body: CreateBroadcast },
  description: 'A draft, unless `send` is true.',
  response: { 201: BroadcastRef },
})
export const listBroadcasts = operation('GET /broadcasts', {
  ...{ operationId: 'listBroadcasts', tags, summary: 'List broadcasts' },
  querystring: query({
    ...page,
    status: choiceCondition(BROADCAST_STATUSES, 'Only those with this status.'),
    text: text(Type.String(described('Only broadcasts with this text in the name.'))),
  }),
  response: { 200: BroadcastList },
})
export const getBroadcast = operation('GET /broadcasts/:id', {
  ...{ operationId: 'getBroadcast', tags, summary: 'Get a broadcast', params, response: { 200: Broadcast } },
})
export const updateBroadcast = operation('PATCH /broadcasts/:id', {
  ...{ operationId: 'updateBroadcast', tags, summary: 'Change a broadcast', params },
  ...{ body: UpdateBroadcast, response: ref },
})
export const deleteBroadcast = operation('DELETE /broadcasts/:id', {
  ...{ operationId: 'deleteBroadcast', tags, summary: 'Delete a broadcast', params },
  description: 'Only drafts and scheduled broadcasts can be deleted.',
  response: { 200: BroadcastDeleted },
})
export const sendBroadcast = operation(
  'POST /broadcasts/:id/send',
  {
    ...{ operationId: 'sendBroadcast', tags, summary: 'Send or schedule a broadcast', params },
    description: 'The content is fixed when sending begins.',
    ...{ body: Nullable(SendBroadcast), response: ref },
  },
  'sending',
)
export const cancelBroadcast = operation('POST /broadcasts/:id/cancel', {
  ...{ operationId: 'cancelBroadcast', tags, summary: 'Cancel a broadcast', params, response: ref },
  description: 'A scheduled one becomes a draft. One that is being sent stops for good.',
})
export const pauseBroadcast = operation('POST /broadcasts/:id/pause', {
  ...{ operationId: 'pauseBroadcast', tags, summary: 'Pause a broadcast', params, response: ref },
  description: 'Emails that are on their way finish. The others wait.',
})
export const resumeBroadcast = operation('POST /broadcasts/:id/resume', {
  ...{ operationId: 'resumeBroadcast', tags, summary: 'Resume a broadcast', params, response: ref },
})
export const duplicateBroadcast = operation('POST /broadcasts/:id/duplicate', {
  ...{ operationId: 'duplicateBroadcast', tags, summary: 'Duplicate a broadcast', params },
  description: 'Creates a draft that says the same.',
  response: ref,
})
export const testBroadcast = operation('POST /broadcasts/:id/test', {
  ...{ operationId: 'testBroadcast', tags, summary: 'Send a test of a broadcast', params },
  description:
    'Sends the draft to up to 5 addresses, with `[Test]` before its subject. Each counts as an email. Not part of the hosted API.',
  ...{ body: TestBroadcast, response: { 200: BroadcastTested }, errors: ['507'] },
})
export const reviewBroadcast = operation('GET /broadcasts/:id/review', {
  ...{ operationId: 'reviewBroadcast', tags, summary: 'Review a draft', params },
  response: { 200: BroadcastReview },
})
export const getBroadcastResults = operation('GET /broadcasts/:id/results', {
  ...{ operationId: 'getBroadcastResults', tags, summary: 'Get the results of a broadcast', params },
  response: { 200: BroadcastResults },
})
const cursors = {
  after: text(Type.String(described('The page after this row, exclusive.'))),
  before: text(Type.String(described('The page before this row, exclusive.'))),
}
export const listBroadcastRecipients = operation('GET /broadcasts/:id/recipients', {
  ...{ operationId: 'listBroadcastRecipients', tags, summary: 'List recipients of a broadcast', params },
  querystring: query({
    ...{ limit, ...cursors },
    type: choice(TYPES, 'What happened. Required.'),
    email: text(Type.String(described('Part of the address.'))),
    bounce_type: choiceCondition(BOUNCE_TYPES, 'The type of bounce, with `type=bounced`.'),
  }),
  response: { 200: RecipientList },
})
export const listBroadcastLinks = operation('GET /broadcasts/:id/clicked-links', {
  ...{ operationId: 'listBroadcastLinks', tags, summary: 'List clicked links of a broadcast', params },
  querystring: query({ limit, ...cursors }),
  response: { 200: ClickedLinkList },
})

/** A broadcast as lists show it. */
export function presentBroadcastSummary(one: Stored): BroadcastSummary {
  const { id, name, segmentId, status: state, createdAt, scheduledAt, finishedAt, topicId, paused } = one
  const skipped = Object.values(one.skipped).reduce((sum, n = 0) => sum + n, 0)
  return {
    ...{ id, name, audience_id: segmentId, segment_id: segmentId, status: state },
    created_at: timestamp(createdAt),
    scheduled_at: timestampOrNull(scheduledAt),
    sent_at: timestampOrNull(state === 'sent' ? finishedAt : null),
    topic_id: topicId,
    paused_at: timestampOrNull(paused?.at ?? null),
    pause_reason: paused && pauseSentence(paused.reason, paused.figures),
    recipients: one.expanded - skipped,
    counts: one.counts as Record<string, number>,
  }
}

/** A broadcast with what it says. */
export function presentBroadcast(one: Stored): Broadcast {
  const { from, subject, replyTo, previewText, html, text: plain } = one.content
  const { unsubscribed = 0, topic = 0, deleted = 0, canceled = 0 } = one.skipped
  return {
    object: 'broadcast',
    ...presentBroadcastSummary(one),
    ...{ from, subject, reply_to: replyTo.length > 0 ? replyTo : null, preview_text: previewText },
    document: presentDocument(one.document),
    ...{ html, text: plain, exclude_segment_ids: one.exclude, edits: one.edits, problem: one.problem },
    skipped: { unsubscribed, topic, deleted, canceled },
  }
}

/** @param type what they are listed by */
export function presentRecipient(
  type: (typeof TYPES)[number],
  { id, contactId, email, opens, links, bounceType }: BroadcastRecipient,
): Static<typeof Recipient> {
  return {
    ...{ id, contact_id: contactId, email },
    ...(type === 'opened' && { count: opens }),
    ...(type === 'clicked' && {
      count: links.reduce((sum, { clicks }) => sum + clicks, 0),
      clicked_links: links,
    }),
    ...(type === 'bounced' &&
      bounceType && { bounce_type: bounceType.toLowerCase() as (typeof BOUNCE_TYPES)[number] }),
  }
}

/** Results as the API shows them. */
export const presentResults = (
  reach: BroadcastReach,
  providers: ProviderResult[],
): Static<typeof BroadcastResults> => ({ ...reach, providers })

/** A review as the API shows it. */
export function presentReview(
  { findings, recipients, providers, tags: used, looked, samples }: Reviewed,
  hours: (number | null)[],
): Static<typeof BroadcastReview> {
  return {
    ...{ findings, recipients, tags: used, looked, samples },
    providers: providers.map((one, at) => ({ ...one, hours: hours[at] ?? null })),
  }
}
