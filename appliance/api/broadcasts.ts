/** Broadcasts: one email to each contact of a segment. */
import { Type, type Static } from 'typebox'
import { getComplaintWarning, explainHold } from '../mail/automatic-pause.ts'
import { BROADCAST_STATUSES, BROADCAST_ACTIONS, explainPause, SKIP_REASONS } from '../mail/broadcast.ts'
import type { Broadcast as Stored } from '../storage/storage.ts'
import { AbTest, GivenAbTest, presentAbTest } from './broadcast-ab-test.ts'
import { operationsIn } from './operation.ts'
import { choiceCondition, id, page, path, pathUuid, query, text } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  count,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Deleted, DocumentInput, Id, listOf, presentDocument, StoredDocument, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const draftFields = {
  name: optionalText('Name, at most 70 characters. Readers do not see it. Default: the subject.'),
  segment_id: optionalText('The segment whose contacts get it.'),
  audience_id: Type.Optional(Nullable(Type.String(), { deprecated: true, description: 'Use `segment_id`.' })),
  exclude_segment_ids: optionalOrNull(
    Type.Array(Type.String()),
    'Segments whose contacts get nothing, at most 20.',
  ),
  from: optionalText('The From field: `Name <address>` or an address of a verified domain.'),
  subject: optionalText('The subject. May contain merge tags.'),
  reply_to: optionalOrNull(Type.Union([Type.String(), Type.Array(Type.String())]), 'Address for replies.'),
  preview_text: optionalText('What mail programs show after the subject in lists.'),
  html: optionalText('The HTML, with merge tags such as `{{{FIRST_NAME|there}}}`.'),
  text: optionalText('Plain text. null: generated from the HTML; "": none.'),
  document: DocumentInput,
  topic_id: optionalText('The topic it is about: contacts who opted out of it get nothing. null: none.'),
  emails_per_hour: optionalOrNull(
    Type.Integer(),
    'Emails per hour at most, 1 to 1,000,000, spread evenly. null: as fast as the lanes allow. Not part of the hosted API.',
  ),
  ab_test: GivenAbTest,
  archive: Type.Optional(
    boolean(
      'Whether it is in the public archive once it is sent, if the team enabled that. Not part of the hosted API.',
    ),
  ),
}

export const CreateBroadcast = object('A broadcast to create.', {
  ...draftFields,
  template_id: optionalText(
    'Id or alias of the template that you made the content from, so that the template says where it is used. It doesn’t set the content.',
  ),
  send: optionalOrNull(Type.Boolean(), 'true: send it at once, or at `scheduled_at`.'),
  scheduled_at: optionalText('When to send it, as in `POST /emails`. Needs `send`.'),
})
export const UpdateBroadcast = object(
  'What to change. Once sending has begun, only the name and `archive` can be changed, and the rate until it is sent.',
  {
    ...draftFields,
    edits: Type.Optional(
      integer('The `edits` that you read: refused with 409 if somebody changed it since.'),
    ),
  },
)
export type UpdateBroadcast = Static<typeof UpdateBroadcast>
export const SendBroadcast = object('When to send it.', {
  scheduled_at: optionalText('When to send it, as in `POST /emails`. Default: now.'),
  edits: Type.Optional(integer('The `edits` that you read: refused with 409 if somebody changed it since.')),
})
export const DuplicateBroadcast = object('Whom to leave out.', {
  without: Type.Optional(
    literals(
      BROADCAST_ACTIONS,
      'Leaves out those who opened or clicked the original, also if they do it later.',
    ),
  ),
})

export const ResumeBroadcast = object('What to resume.', {
  provider: optionalText('Only the part for this provider, out of `paused_providers`.'),
})

const reference = { object: kind('broadcast'), id: Id }
export const BroadcastRef = object('The broadcast.', reference)
export const BroadcastPaused = object('The paused broadcast.', {
  ...reference,
  in_flight: count('Emails in flight, or waiting for a connection. They are still sent.'),
})
export const BroadcastDeleted = object('The deleted broadcast.', { ...reference, deleted: Deleted })

const status = literals(
  BROADCAST_STATUSES,
  'queued: it is being sent, or paused. sent: every email was handed over at least once.',
)
const summary = {
  id: Id,
  name: string('Name.'),
  audience_id: Id,
  segment_id: Id,
  status,
  created_at: Timestamp,
  scheduled_at: Nullable(Timestamp, 'When it is sent; null: not scheduled.'),
  sent_at: Nullable(Timestamp, 'When sending ended.'),
  topic_id: Nullable(Id, 'The topic it is about; null: none.'),
  emails_per_hour: Nullable(Type.Integer(), 'Emails per hour at most; null: as fast as the lanes allow.'),
  archive: boolean('Whether it is in the public archive once it is sent.'),
  paused_at: Nullable(Timestamp, 'When it was paused; null while it is not paused.'),
  pause_reason: Nullable(Type.String(), 'Why it is paused, in a sentence.'),
  paused_providers: arrayOfObjects('Providers whose recipients wait while the others get it.', {
    provider: string('The mailbox provider.'),
    name: string('Its display name.'),
    paused_at: Timestamp,
    reason: string('Why its recipients wait, in a sentence.'),
  }),
  warning: Nullable(
    Type.String(),
    'While it is being sent: that too many recipients report it as spam, in a sentence.',
  ),
  recipients: count('Contacts that it goes to, or went to.'),
  counts: record(Type.Integer(), 'Its emails by their last event.'),
  opened: count('Recipients that opened it, at most a minute ago.'),
  clicked: count('Recipients that clicked a link, at most a minute ago.'),
  unsubscribed: count('Recipients that unsubscribed with its link, at most a minute ago.'),
}
export const BroadcastSummary = object('A broadcast.', summary)
export type BroadcastSummary = Static<typeof BroadcastSummary>
export const BroadcastList = listOf(BroadcastSummary, 'broadcasts')
export const Broadcast = object('A broadcast.', {
  object: kind('broadcast'),
  ...summary,
  from: string('The From field.'),
  subject: string('The subject.'),
  reply_to: Nullable(Type.Array(Type.String()), 'Address for replies.'),
  preview_text: Nullable(Type.String(), 'The preview text.'),
  html: Nullable(Type.String(), 'The HTML.'),
  text: Nullable(Type.String(), 'The plain text.'),
  document: StoredDocument,
  ab_test: AbTest,
  template_id: Nullable(Id, 'The template that the content was made from; null if there is none.'),
  exclude_segment_ids: array(Id, 'Segments whose contacts get nothing.'),
  archive_url: Nullable(
    Type.String(),
    'URL of its page in the public archive; null before sending begins, and if it is not published.',
  ),
  edits: integer('Raised by each change of the draft.'),
  problem: Nullable(Type.String(), 'Why it failed.'),
  in_flight: count('Emails in flight, or waiting for a connection. A pause doesn’t stop them.'),
  skipped: object(
    'Contacts of the segment that got nothing, by reason.',
    Object.fromEntries(SKIP_REASONS.map((reason) => [reason, count('Contacts.')])) as Record<
      (typeof SKIP_REASONS)[number],
      ReturnType<typeof count>
    >,
  ),
})
export type Broadcast = Static<typeof Broadcast>

const params = path({ id: pathUuid('The id of the broadcast.') })
const operation = operationsIn('Broadcasts')
const ref = { 200: BroadcastRef }

export const createBroadcast = operation('POST /broadcasts', {
  summary: 'Create a broadcast',
  body: CreateBroadcast,
  description: 'A draft, unless `send` is true.',
  response: { 201: BroadcastRef },
})
export const listBroadcasts = operation('GET /broadcasts', {
  summary: 'List broadcasts',
  querystring: query({
    ...page,
    status: choiceCondition(BROADCAST_STATUSES, 'Only those with this status.'),
    text: text(string('Only broadcasts with this text in the name.')),
    segment_id: id('Only broadcasts to this segment.'),
  }),
  response: { 200: BroadcastList },
})
export const getBroadcast = operation('GET /broadcasts/:id', {
  summary: 'Get a broadcast',
  params,
  response: { 200: Broadcast },
})
export const updateBroadcast = operation('PATCH /broadcasts/:id', {
  summary: 'Change a broadcast',
  params,
  body: UpdateBroadcast,
  response: ref,
})
export const deleteBroadcast = operation('DELETE /broadcasts/:id', {
  summary: 'Delete a broadcast',
  params,
  description: 'Only drafts and scheduled broadcasts can be deleted.',
  response: { 200: BroadcastDeleted },
})
export const sendBroadcast = operation('POST /broadcasts/:id/send', {
  access: 'sending',
  summary: 'Send or schedule a broadcast',
  params,
  description: 'The content is fixed when sending begins.',
  body: Nullable(SendBroadcast),
  response: ref,
})
export const cancelBroadcast = operation('POST /broadcasts/:id/cancel', {
  summary: 'Cancel a broadcast',
  params,
  response: ref,
  description: 'A scheduled broadcast becomes a draft. One that is being sent stops permanently.',
})
export const pauseBroadcast = operation('POST /broadcasts/:id/pause', {
  summary: 'Pause a broadcast',
  params,
  response: { 200: BroadcastPaused },
  description: 'Emails in flight are still sent. The others wait.',
})
export const resumeBroadcast = operation('POST /broadcasts/:id/resume', {
  summary: 'Resume a broadcast',
  description: 'With `provider`, only the part that waits for that provider.',
  params,
  body: Nullable(ResumeBroadcast),
  response: ref,
})
export const duplicateBroadcast = operation('POST /broadcasts/:id/duplicate', {
  summary: 'Duplicate a broadcast',
  params,
  description:
    'Creates a draft with the same content. With `without`, it excludes a segment of those who opened or clicked the original.',
  body: Nullable(DuplicateBroadcast),
  response: ref,
})
/** Returns the display name of a provider id. */
type NameOf = (provider: string) => string

/** Formats a broadcast for lists. */
export function presentBroadcastSummary(one: Stored, nameOf: NameOf): BroadcastSummary {
  const { id, name, segmentId, status: state, createdAt, scheduledAt, finishedAt, topicId, paused } = one
  const skipped = Object.values(one.skipped).reduce((sum, n = 0) => sum + n, 0)
  return {
    id,
    name,
    audience_id: segmentId,
    segment_id: segmentId,
    status: state,
    created_at: timestamp(createdAt),
    scheduled_at: timestampOrNull(scheduledAt),
    sent_at: timestampOrNull(state === 'sent' ? finishedAt : null),
    topic_id: topicId,
    emails_per_hour: one.hourlyRate,
    archive: one.archivedAt !== null,
    paused_at: timestampOrNull(paused?.at ?? null),
    pause_reason: paused && explainPause(paused.reason, paused.figures),
    paused_providers: state === 'queued' ? presentHolds(one.holds, nameOf) : [],
    warning: warningOf(one),
    recipients: one.expanded - skipped,
    counts: one.counts as Record<string, number>,
    opened: one.reach.opened,
    clicked: one.reach.clicked,
    unsubscribed: one.reach.unsubscribed,
  }
}

const warningOf = ({ status, paused, counts }: Stored): string | null =>
  status === 'queued' && paused?.reason !== 'complaints' ? getComplaintWarning(counts) : null

const presentHolds = (holds: Stored['holds'], nameOf: NameOf): BroadcastSummary['paused_providers'] =>
  Object.entries(holds).flatMap(([provider, { heldAt, figures }]) => {
    if (heldAt === null) return []
    const name = nameOf(provider)
    return { provider, name, paused_at: timestamp(heldAt), reason: explainHold(name, figures) }
  })

/** Formats a broadcast with its content. @param archiveUrl URL of its page in the archive; null if it is not published */
export function presentBroadcast(
  one: Stored,
  inFlight: number,
  nameOf: NameOf,
  archiveUrl: string | null,
): Broadcast {
  const { from, subject, replyTo, previewText, html, text: plain } = one.content
  const { unsubscribed = 0, topic = 0, deleted = 0, canceled = 0 } = one.skipped
  return {
    object: 'broadcast',
    ...presentBroadcastSummary(one, nameOf),
    from,
    subject,
    reply_to: replyTo.length > 0 ? replyTo : null,
    preview_text: previewText,
    document: presentDocument(one.document),
    ab_test: presentAbTest(one.content.abTest),
    template_id: one.templateId,
    html,
    text: plain,
    exclude_segment_ids: one.exclude,
    archive_url: archiveUrl,
    edits: one.edits,
    problem: one.problem,
    in_flight: inFlight,
    skipped: { unsubscribed, topic, deleted, canceled },
  }
}
