/** From a submission that may be sent to the message that is stored. */
import type { PreferencesTarget } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { returnPathHost } from '../mail/return-path.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { Caller } from '../senders/caller.ts'
import type { ReturnPaths } from '../senders/senders.ts'
import type { Domain, TopicRecipient } from '../storage/storage.ts'
import type { TrackingPlan } from '../tracking/rewrite.ts'
import { trackMessage, type Tracking } from '../tracking/tracking.ts'
import type { Composed } from './compose.ts'
import type { Composer } from './composer.ts'
import type { Prepared } from './email.ts'
import { feedbackFields } from './feedback-id.ts'
import { finishMessage } from './message-fields.ts'
import type { ArrivedMessage, Submission } from './submission.ts'
import { hasOwnUnsubscribe, unsubscribeFields } from './topic.ts'
import { hasUnsubscribeTag, withUnsubscribeLink } from './unsubscribe-tag.ts'

export interface PrepareTools {
  composer: Composer
  mime: Pick<MimeReader, 'read'>
  clock: Clock
  returnPaths: Pick<ReturnPaths, 'make'>
  limits: {
    /** Largest message, attachments encoded, in bytes. */
    message_bytes: number
  }
  feedbackId?: boolean | undefined
  tracking?: Pick<Tracking, 'planFor'> | undefined
  /** The link by which somebody leaves a topic; null when nobody could follow it. Default: there is none. */
  unsubscribeLink?: ((domain: Domain, target: PreferencesTarget) => string | null) | undefined
}

/** A submission that its caller may send. */
export interface Allowed {
  /** Without links. */
  submission: Submission
  domain: Domain
  /** Of an email about a topic: who is given a link to leave it. */
  reader: TopicRecipient | null
}

/** What the message says of itself beside what the caller gave. */
interface Own {
  id: string
  /** With its angle brackets. */
  messageId: string
  now: number
  added: Submission['headers']
  plan: TrackingPlan | null
}

/**
 * Makes the message of one submission.
 * Refuses: `message_too_large`, `overloaded`, `invalid_field` (html), `unsubscribe_tag_recipients`, `unsubscribe_tag_link`.
 */
export async function prepare(tools: PrepareTools, allowed: Allowed, caller: Caller): Promise<Prepared> {
  const { domain } = allowed
  const now = tools.clock.now()
  const id = newId(now)
  const submission = filled(tools, allowed, id)
  const messageId = submission.messageId ?? `<${id}@${submission.from.domain}>`
  const plan = submission.notice ? null : (tools.tracking?.planFor(domain, id, submission.headers) ?? null)
  const feedback = tools.feedbackId ? feedbackFields(submission, caller) : []
  const added = [...feedback, ...leavingFields(tools, allowed, id)]
  const own = { id, messageId, now, added, plan }
  const composed = submission.arrived
    ? await finish(tools, submission.arrived, own, domain.teamId)
    : await compose(tools, submission, own, domain.teamId)
  const returnPath = await tools.returnPaths.make(id, returnPathHost(domain))
  return { id, messageId, submission, composed, domain, returnPath }
}

/** Finishes a message that arrived. Its size was held to the limit as it came in; what we add is ours. */
async function finish(
  { mime }: PrepareTools,
  { bytes, header, trace, content }: ArrivedMessage,
  { plan, ...own }: Own,
  teamId: string,
): Promise<Composed> {
  const arrived = finishMessage(bytes, header, { trace, ...own })
  const message = plan ? trackMessage(arrived, plan) : arrived
  if (message === arrived) return { message, content: { place: 'message', html: null, text: null } }
  // What the app wrote is kept beside the message where that was changed.
  const { html, text } = content ?? (await mime.read(bytes, teamId, header))
  return { message, content: { place: 'row', html, text } }
}

async function compose(
  { composer, limits }: PrepareTools,
  submission: Submission,
  { messageId, now, added, plan }: Own,
  teamId: string,
): Promise<Composed> {
  const tooLarge = () => refuse('message_too_large', { limit: limits.message_bytes })
  if (leastSize(submission) > limits.message_bytes) throw tooLarge()
  // What composing may know; Bcc is not among it.
  const { from, to, cc, replyTo, subject, html, text, attachments } = submission
  const headers = [...added, ...submission.headers]
  const date = submission.scheduledAt ?? now
  const draft = { from, to, cc, replyTo, subject, html, text, headers, attachments, messageId, date }
  const composed = await composer.compose({ ...draft, tracking: plan }, teamId)
  if (composed.message.length > limits.message_bytes) throw tooLarge()
  return composed
}

/** The submission with the recipient's link in place of the unsubscribe tag. Refuses: `unsubscribe_tag_recipients`, `unsubscribe_tag_link`. */
function filled(tools: PrepareTools, allowed: Allowed, emailId: string): Submission {
  const { submission, reader } = allowed
  if (!hasUnsubscribeTag(submission)) return submission
  const { contactId = null } = reader ?? {}
  return withUnsubscribeLink(submission, (address) =>
    linkFor(tools, allowed, emailId, { contactId, address }),
  )
}

/** How to leave the topic. The app's own goes before ours. */
function leavingFields(tools: PrepareTools, allowed: Allowed, emailId: string): Submission['headers'] {
  const { submission, reader } = allowed
  if (reader === null || hasOwnUnsubscribe(submission)) return []
  const link = linkFor(tools, allowed, emailId, reader)
  return link === null ? [] : unsubscribeFields(link)
}

/** By which somebody leaves the topic of an email, or everything where it has none; null when nobody could follow it. */
const linkFor = (
  { unsubscribeLink }: PrepareTools,
  { submission: { topicId }, domain }: Allowed,
  sourceId: string,
  { contactId, address }: Pick<TopicRecipient, 'contactId' | 'address'>,
): string | null =>
  unsubscribeLink?.(domain, { teamId: domain.teamId, contactId, address, topicId, sourceId }) ?? null

/** No message made of it can be smaller: base64 takes 4 octets for 3 (RFC 2045 §6.8). Spares composing what will be refused. */
function leastSize({ html, text, attachments }: Submission): number {
  const encoded = attachments.reduce((sum, { content }) => sum + Math.ceil(content.byteLength / 3) * 4, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + encoded
}
