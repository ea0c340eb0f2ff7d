/** Turns an allowed submission into the message that is stored. */
import type { PreferencesTarget } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { getReturnPathHost } from '../mail/return-path.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { Caller } from '../senders/api-keys.ts'
import type { ReturnPaths } from '../senders/senders.ts'
import type { Domain, TopicRecipient } from '../storage/storage.ts'
import type { TrackingPlan } from '../tracking/rewrite.ts'
import { trackMessage, type Tracking } from '../tracking/tracking.ts'
import type { ComposedMessage } from './compose.ts'
import type { Composer } from './composer.ts'
import type { PreparedEmail } from './email.ts'
import { buildFeedbackFields } from './feedback-id.ts'
import { finishMessage } from './message-fields.ts'
import type { ArrivedMessage, Submission } from './submission.ts'
import { hasOwnUnsubscribe, buildUnsubscribeFields } from './topic.ts'
import { hasUnsubscribeTag, replaceUnsubscribeTags } from './unsubscribe-tag.ts'

export interface PrepareDeps {
  composer: Composer
  mime: Pick<MimeReader, 'read'>
  clock: Clock
  returnPaths: Pick<ReturnPaths, 'make'>
  limits: {
    /** Limit on message size with encoded attachments, in bytes. */
    message_bytes: number
  }
  feedbackId?: boolean | undefined
  tracking?: Pick<Tracking, 'planFor'> | undefined
  /** Makes the link to unsubscribe from a topic; null if no public URL is available. Default: none. */
  unsubscribeLink?: ((domain: Domain, target: PreferencesTarget) => string | null) | undefined
}

/** A submission that its caller may send. */
export interface AllowedSubmission {
  /** Without links: attachments were fetched. */
  submission: Submission
  domain: Domain
  /** The recipient who gets the unsubscribe link in an email about a topic; null if there is none. */
  reader: TopicRecipient | null
}

/** Fields that Posthaste adds to those of the caller. */
interface Own {
  id: string
  /** The Message-ID with angle brackets. */
  messageId: string
  now: number
  added: Submission['headers']
  plan: TrackingPlan | null
}

/**
 * Makes the message of one submission.
 * Refuses: `message_too_large`, `overloaded`, `invalid_field` (html), `unsubscribe_tag_smtp`,
 * `unsubscribe_tag_recipients`, `unsubscribe_tag_link`.
 */
export async function prepareEmail(
  tools: PrepareDeps,
  allowed: AllowedSubmission,
  caller: Caller,
): Promise<PreparedEmail> {
  const { domain } = allowed
  const now = tools.clock.now()
  const id = newId(now)
  const submission = filled(tools, allowed, id)
  const messageId = submission.messageId ?? `<${id}@${submission.from.domain}>`
  const plan = submission.notice ? null : (tools.tracking?.planFor(domain, id, submission.headers) ?? null)
  const feedback = tools.feedbackId ? buildFeedbackFields(submission, caller) : []
  const added = [...feedback, ...leavingFields(tools, allowed, id)]
  const own = { id, messageId, now, added, plan }
  const composed = submission.arrived
    ? await finish(tools, submission.arrived, own, domain.teamId)
    : await compose(tools, submission, own, domain.teamId)
  const returnPath = await tools.returnPaths.make(id, getReturnPathHost(domain))
  return { id, messageId, submission, composed, domain, returnPath }
}

/** Finishes a message that arrived as bytes. Its size was checked on arrival; what Posthaste adds doesn't count. */
async function finish(
  { mime }: PrepareDeps,
  { bytes, header, trace, content }: ArrivedMessage,
  { plan, ...own }: Own,
  teamId: string,
): Promise<ComposedMessage> {
  const arrived = finishMessage(bytes, header, { trace, ...own })
  const message = plan ? trackMessage(arrived, plan) : arrived
  if (message === arrived) return { message, content: { place: 'message', html: null, text: null } }
  // If tracking changes the message, the app's original content is stored separately.
  const { html, text } = content ?? (await mime.read(bytes, teamId, header))
  return { message, content: { place: 'row', html, text } }
}

async function compose(
  { composer, limits }: PrepareDeps,
  submission: Submission,
  { messageId, now, added, plan }: Own,
  teamId: string,
): Promise<ComposedMessage> {
  const tooLarge = () => refuse('message_too_large', { limit: limits.message_bytes })
  if (leastSize(submission) > limits.message_bytes) throw tooLarge()
  // The fields that composing may use. Bcc isn't one of them.
  const { from, to, cc, replyTo, subject, html, text, attachments } = submission
  const headers = [...added, ...submission.headers]
  const date = submission.scheduledAt ?? now
  const draft = { from, to, cc, replyTo, subject, html, text, headers, attachments, messageId, date }
  const composed = await composer.compose({ ...draft, tracking: plan }, teamId)
  if (composed.message.length > limits.message_bytes) throw tooLarge()
  return composed
}

/**
 * Replaces the unsubscribe tag with the recipient's link. Refuses: `unsubscribe_tag_smtp`,
 * `unsubscribe_tag_recipients`, `unsubscribe_tag_link`.
 */
function filled(tools: PrepareDeps, allowed: AllowedSubmission, emailId: string): Submission {
  const { submission, reader } = allowed
  if (!hasUnsubscribeTag(submission)) return submission
  const { contactId = null } = reader ?? {}
  return replaceUnsubscribeTags(submission, (address) =>
    linkFor(tools, allowed, emailId, { contactId, address }),
  )
}

/** Returns the List-Unsubscribe fields, unless the app has set its own. */
function leavingFields(
  tools: PrepareDeps,
  allowed: AllowedSubmission,
  emailId: string,
): Submission['headers'] {
  const { submission, reader } = allowed
  if (reader === null || hasOwnUnsubscribe(submission)) return []
  const link = linkFor(tools, allowed, emailId, reader)
  return link === null ? [] : buildUnsubscribeFields(link)
}

/**
 * Makes the link to unsubscribe from an email's topic, or from everything if it has none; null if the server has no
 * public URL for it.
 */
const linkFor = (
  { unsubscribeLink }: PrepareDeps,
  { submission: { topicId }, domain }: AllowedSubmission,
  sourceId: string,
  { contactId, address }: Pick<TopicRecipient, 'contactId' | 'address'>,
): string | null =>
  unsubscribeLink?.(domain, { teamId: domain.teamId, contactId, address, topicId, sourceId }) ?? null

/**
 * Returns a lower bound on the message size: base64 encodes 3 bytes as 4 (RFC 2045 §6.8). Avoids composing messages
 * that will be refused.
 */
function leastSize({ html, text, attachments }: Submission): number {
  const encoded = attachments.reduce((sum, { content }) => sum + Math.ceil(content.byteLength / 3) * 4, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + encoded
}
