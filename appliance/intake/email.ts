/** Converts a submission to the email that storage keeps. Pure. */
import { formatMailbox, type Mailbox, getTestOutcome } from '../mail/address.ts'
import { newId } from '../mail/ids.ts'
import type { RegionMap } from '../mail/region.ts'
import { choosePool, type Assignment } from '../mail/source.ts'
import { createSuppressionCause } from '../mail/suppression.ts'
import type { Caller } from '../senders/api-keys.ts'
import { RETRY_PERIOD } from '../queue/schedule.ts'
import type { AttachmentInfo, Domain, NewDelivery, NewEmail, StoredContent } from '../storage/storage.ts'
import { chooseDisposition, type ComposedMessage } from './compose.ts'
import type { Submission } from './submission.ts'
import { resolveRequireTls, type RequireTls } from '../mail/tls-policy.ts'

/** An allowed and composed submission. */
export interface PreparedEmail {
  id: string
  /** The Message-ID with angle brackets. */
  messageId: string
  submission: Submission
  composed: ComposedMessage
  domain: Domain
  returnPath: string
}

/** Which mail uses which pool, and where the pools are. */
export interface PoolRouting {
  assignments: readonly Assignment[]
  regions: RegionMap
}

const WITHHELD: StoredContent = { place: 'row', html: null, text: null }

/** Builds an email for storage. `storage.put` checks the suppression list, in the transaction that stores it. */
export function buildEmail(
  { id, messageId, submission, composed, domain, returnPath }: PreparedEmail,
  caller: Caller,
  { assignments, regions }: PoolRouting,
  now: number,
  testDomains: readonly string[] = [],
): NewEmail {
  return {
    id,
    teamId: caller.teamId,
    domainId: domain.id,
    apiKeyId: caller.apiKey?.id ?? null,
    via: getSubmissionChannel(submission, caller),
    from: formatMailbox(submission.from),
    to: submission.to.map(formatMailbox),
    cc: submission.cc.map(formatMailbox),
    bcc: submission.bcc.map(formatMailbox),
    replyTo: submission.replyTo.map(formatMailbox),
    subject: submission.subject,
    // A notice contains links for its recipient only. Members of the team must not read them.
    content: submission.notice ? WITHHELD : composed.content,
    headers: submission.headers,
    tags: submission.tags,
    attachments: attachmentsOf(submission).map((attachment) => ({ id: newId(now), ...attachment })),
    messageId,
    returnPath,
    reportTo: submission.arrived?.reportTo ?? null,
    dsn: submission.arrived?.dsn ?? null,
    requireTls: requireTlsFor(submission),
    scheduledAt: submission.scheduledAt,
    stream: submission.stream,
    topicId: submission.topicId,
    template: submission.template,
    pool: choosePool(
      assignments,
      { teamId: caller.teamId, domainId: domain.id, region: domain.region, stream: submission.stream },
      regions,
    ),
    message: composed.message,
    deliveries: deliveriesOf(submission, now).map((one) => heedTest(one, testDomains)),
  }
}

/** Returns how the email was submitted. */
export function getSubmissionChannel(
  { notice, arrived }: Submission,
  { apiKey }: Caller,
): 'notice' | 'smtp' | 'rest' | 'dashboard' {
  if (notice) return 'notice'
  if (arrived) return 'smtp'
  return apiKey ? 'rest' : 'dashboard'
}

/** Handles the test address that behaves as if it were suppressed. */
function heedTest(delivery: NewDelivery, testDomains: readonly string[]): NewDelivery {
  if (getTestOutcome(delivery.recipient, testDomains) !== 'suppressed') return delivery
  return { ...delivery, suppressed: createSuppressionCause({ origin: 'bounce' }) }
}

/** Returns the sender's TLS requirement. REST has no parameter for it, but `headers` may contain the field. */
function requireTlsFor({ arrived, headers }: Submission): RequireTls {
  if (arrived) return arrived.requireTls
  const fields = headers.filter(({ name }) => name.toLowerCase() === 'tls-required')
  return resolveRequireTls(
    false,
    fields.map(({ value }) => value),
  )
}

function attachmentsOf({ attachments, arrived }: Submission): Omit<AttachmentInfo, 'id'>[] {
  if (arrived)
    return arrived.attachments.map(({ filename, contentType, contentId, disposition, size }) => ({
      filename,
      contentType,
      contentId,
      disposition,
      size,
    }))
  return attachments.map((attachment) => ({
    filename: attachment.filename,
    contentType: attachment.contentType,
    contentId: attachment.contentId,
    disposition: chooseDisposition(attachment),
    size: attachment.content.byteLength,
  }))
}

/** Creates one delivery for each address, however often it occurs. The first field with it wins. */
function deliveriesOf({ to, cc, bcc, scheduledAt, arrived }: Submission, now: number): NewDelivery[] {
  const dueAt = scheduledAt ?? now
  const deliveries = new Map<string, NewDelivery>()
  const wanted = arrived && new Map(arrived.recipients.map(({ mailbox, dsn }) => [mailbox.address, dsn]))
  const add = (mailboxes: Mailbox[], field: NewDelivery['field']): void => {
    for (const { address } of mailboxes) {
      if (deliveries.has(address) || wanted?.has(address) === false) continue
      deliveries.set(address, {
        id: newId(now),
        recipient: address,
        field,
        dueAt,
        expiresAt: dueAt + RETRY_PERIOD,
        suppressed: null,
        dsn: wanted?.get(address) ?? null,
      })
    }
  }
  add(to, 'to')
  add(cc, 'cc')
  add(bcc, 'bcc')
  return [...deliveries.values()]
}
