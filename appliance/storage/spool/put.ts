/** Accepts emails: stores them durably with all related data. */
import { type EnvelopeDsn, type RecipientDsn, isReportWanted } from '../../mail/dsn.ts'
import { type EmailEventType, type EventData, toLastEvent } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import { formatQueueName, type Stream, toProviderPlaceholder } from '../../mail/queue.ts'
import { createSuppressionCause, createSuppressionData } from '../../mail/suppression.ts'
import type { Cause } from '../../mail/verdict.ts'
import { createStepRecorder, type SendingStep } from '../automations/running.ts'
import { createTopicOptOutChecker } from '../audience/topic-opt-outs.ts'
import type { AttachmentInfo, StoredContent, Tag } from '../emails.ts'
import { createEventRecorder, type NewEvent, type EventEntry } from '../events.ts'
import { createHoldLookup } from '../queue/hold-rules.ts'
import { createRecipientCounter, type QuotaLimit, type Usage } from '../quotas.ts'
import { type NewReceipt, type Receipt, toReceipt } from '../receipts.ts'
import { formatNotify } from '../deliveries.ts'
import { createDueReportRecorder, type ReportRef } from '../reports.ts'
import type { Connection } from '../connection.ts'
import { createSuppressionLookup } from '../suppressions.ts'
import type { SubmissionChannel, RecipientField } from '../values.ts'
import type { RequireTls } from '../../mail/tls-policy.ts'

/** One recipient of a new email. */
export interface NewDelivery {
  id: string
  /** Envelope recipient: local part as given, domain in A-labels. */
  recipient: string
  field: RecipientField
  dueAt: number
  expiresAt: number
  /**
   * Why the delivery is stored as suppressed, which is final. Null if it is queued, unless `put` finds the address on the
   * team's suppression list.
   */
  suppressed: Cause | null
  /** Set by `put` if the recipient opted out of the email's topic, in which case the delivery fails immediately. */
  optedOut?: Cause
  /** DSN parameters of RCPT; null for an email that didn't arrive over SMTP. */
  dsn: RecipientDsn | null
}

/** An accepted email that is about to be stored. */
export interface NewEmail {
  id: string
  teamId: string
  domainId: string
  apiKeyId: string | null
  /**
   * How the email was submitted. `report`: created by the server about another email. `notice`: from the server itself to a
   * person.
   */
  via: SubmissionChannel
  /** The header fields as the app gave them, decoded. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  content: StoredContent
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  messageId: string
  /**
   * Envelope sender, unique to the email (VERP). Empty for a report, because no reports are sent about reports (RFC 5321
   * §4.5.5).
   */
  returnPath: string
  /**
   * Address for reports: the MAIL FROM of an email that arrived over SMTP, if it is the app's own. Null if there is none.
   */
  reportTo: string | null
  /** DSN parameters of MAIL; null for an email that didn't arrive over SMTP. */
  dsn: EnvelopeDsn | null
  /** The sender's TLS requirement (RFC 8689). */
  requireTls: RequireTls
  scheduledAt: number | null
  /** The stream that the email is queued in. */
  stream: Stream
  /** ID of the email's topic; null if there is none. The email isn't sent to people who opted out of the topic. */
  topicId: string | null
  /** The template that the email was made from; null or undefined if there is none. */
  template?: { id: string; versionId: string } | null | undefined
  /** The broadcast that the email belongs to. */
  broadcast?: { id: string; contactId: string } | undefined
  /** The pool of sending IPs. */
  pool: string
  /** The complete RFC 5322 message, with CRLF line ends, unsigned. */
  message: Uint8Array
  deliveries: NewDelivery[]
}

/** The arguments of one durable transaction: all emails of a request, its receipt, and their counts. */
export interface PutArgs {
  emails: NewEmail[]
  /** Receipt of an idempotent request; null for one without a key. */
  receipt: NewReceipt | null
  /** The quota to count against; null if nothing is counted. */
  quota: QuotaLimit | null
  /** The step of an automation that sends the email. */
  step?: SendingStep | undefined
}

/** The result of `put`. Nothing was changed unless it is `stored`. */
export type PutResult =
  /** `usage` includes these emails; null if nothing is counted. */
  | { kind: 'stored'; usage: Usage | null }
  /** The emails exceed what is left of the period's quota. */
  | { kind: 'over_quota'; period: 'daily' | 'monthly' }
  /** The request was already answered, possibly by another process. */
  | { kind: 'replay'; receipt: Receipt }
  /** The automation step has already sent its email, or must not send it anymore. */
  | { kind: 'stale' }

/** A new email for the writer. `body` is null if the message is already in a file. */
export type StoredEmail = Omit<NewEmail, 'message'> & { body: Uint8Array | null; size: number }

/** Arguments of `put` for the writer. */
export interface StoreArgs {
  emails: StoredEmail[]
  receipt: NewReceipt | null
  quota: QuotaLimit | null
  step?: SendingStep | undefined
}

/**
 * Accepts mail: stores emails, messages, deliveries, receipt and counts in one durable transaction, or stores nothing.
 * Performance-critical: uses plain statements, prepared once.
 */
function createPut(db: Connection): (args: StoreArgs, now: number) => PutResult {
  const insert = createEmailInserter(db)
  const count = createRecipientCounter(db)
  const heedSuppressions = createSuppressionMarker(db)
  const takeStep = createStepRecorder(db)
  const findOptOuts = createTopicOptOutChecker(db)
  const heedOptOuts = (emails: readonly StoredEmail[]): void => {
    const all = emails.flatMap(({ teamId, topicId, deliveries }) =>
      topicId === null ? [] : deliveries.map((delivery) => ({ teamId, topicId, delivery })),
    )
    const out = findOptOuts(all.map(({ delivery, ...one }) => ({ ...one, address: delivery.recipient })))
    for (const [at, { delivery }] of all.entries()) {
      const cause = out[at]?.cause
      if (cause) delivery.optedOut = cause
    }
  }
  const findReceipt = db.prepare<[string, string, string, number], Parameters<typeof toReceipt>[0]>(
    `select fingerprint, body, email_ids from receipts
     where team_id = ? and scope = ? and key = ? and expires_at > ?`,
  )
  // On a conflict, the existing receipt with this key has expired.
  const insertReceipt = db.prepare(
    `insert into receipts (team_id, scope, key, fingerprint, body, email_ids, created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (team_id, scope, key) do update set fingerprint = excluded.fingerprint, body = excluded.body,
       email_ids = excluded.email_ids, created_at = excluded.created_at, expires_at = excluded.expires_at`,
  )

  return ({ emails, receipt, quota, step }, now) => {
    // Check the receipt before the quota, because a request that was already answered gets the same response regardless of
    // the quota.
    const known = receipt && findReceipt.get(receipt.teamId, receipt.scope, receipt.key, now)
    if (known) return { kind: 'replay', receipt: toReceipt(known) }
    const recipients = emails.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
    const usage = quota && count(quota, recipients, now)
    if (typeof usage === 'string') return { kind: 'over_quota', period: usage }
    if (step && !takeStep(step)) return { kind: 'stale' }
    heedSuppressions(emails)
    heedOptOuts(emails)
    insert(emails, now)
    if (receipt) {
      const { teamId, scope, key, fingerprint, body, emailIds, expiresAt } = receipt
      insertReceipt.run(teamId, scope, key, fingerprint, body, JSON.stringify(emailIds), now, expiresAt)
    }
    return { kind: 'stored', usage }
  }
}

/**
 * Marks deliveries to suppressed addresses. Checks in the writing transaction, because a check elsewhere would cost a round
 * trip to a thread and could be outdated at the commit.
 */
export function createSuppressionMarker(db: Connection): (emails: readonly StoredEmail[]) => void {
  const listed = createSuppressionLookup(db)
  return (emails) => {
    const all = emails.flatMap(({ teamId, deliveries }) =>
      deliveries.map((delivery) => ({ teamId, delivery })),
    )
    const origins = listed(all.map(({ teamId, delivery }) => ({ teamId, address: delivery.recipient })))
    for (const [at, { delivery }] of all.entries()) {
      const origin = origins[at]
      if (origin !== undefined) delivery.suppressed ??= createSuppressionCause({ origin })
    }
  }
}

/** Stores emails with their deliveries, and the events of those that aren't queued. */
export function createEmailInserter(db: Connection): (emails: readonly StoredEmail[], now: number) => void {
  const insertEmail = db.prepare(
    `insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
       reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at,
       sent_at, created_at, report_to, ret, envid, require_tls, topic_id,
       template_id, template_version_id, broadcast_id, contact_id)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertMessage = db.prepare(
    'insert into messages (email_id, team_id, content, html, text, body) values (?, ?, ?, ?, ?, ?)',
  )
  const recordEvents = createEventRecorder(db)
  const insertRecipients = createInsertRecipients(db)

  const insert = (email: StoredEmail, now: number): EventEntry[] => {
    const { id, teamId, deliveries, domainId, content } = email
    const queued = deliveries.some((one) => !isFinal(one))
    insertEmail.run(...emailValues(email, queued, now))
    insertMessage.run(id, teamId, content.place, content.html, content.text, email.body)
    const told = insertRecipients(email, now)
    if (!queued || email.scheduledAt === null) return told
    const event = newEvent(email, now)('email.scheduled', null, {})
    const broadcastId = email.broadcast?.id ?? null
    return [{ event, under: { domainId, provider: '', broadcastId } }, ...told]
  }
  return (emails, now) => {
    const told = emails.flatMap((email) => insert(email, now))
    if (told.length > 0) recordEvents(told)
  }
}

/** Stores the recipients of an email. Some are queued; the others are final. Returns the events of the latter. */
function createInsertRecipients(db: Connection): (email: StoredEmail, now: number) => EventEntry[] {
  const owe = createDueReportRecorder(db)
  const holdsOf = createHoldLookup(db)
  const providerOf = db
    .prepare<[string], string>('select provider from destinations where domain = ?')
    .pluck()
  const insertDelivery = db.prepare(
    `insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at,
       queue, stream, domain, due_at, expires_at, touched_by, notify, orcpt, cause)
     values (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )

  return (email, now) => {
    const { id, teamId, deliveries, pool, stream, domainId } = email
    const event = newEvent(email, now)
    const told: EventEntry[] = []
    const holding = holdsOf(email)
    for (const delivery of deliveries) {
      const { id: deliveryId, recipient, field, dueAt, expiresAt, dsn } = delivery
      const asked = [formatNotify(dsn?.notify ?? null), dsn?.orcpt ?? null]
      const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase()
      const provider = providerOf.get(domain) ?? toProviderPlaceholder(domain)
      const about = [id, deliveryId, teamId, recipient, field, pool, provider]
      if (isFinal(delivery)) {
        const { state, cause, type, data } = endOf(delivery)
        insertDelivery.run(...about, state, now, now, ...NOT_QUEUED, ...asked, JSON.stringify(cause))
        told.push({
          event: event(type, deliveryId, { recipient, cause, ...data }),
          under: { domainId, provider, broadcastId: email.broadcast?.id ?? null },
        })
        if (email.reportTo !== null && isReportWanted(dsn?.notify ?? null, 'failed'))
          owe({ deliveryId, kind: 'failed', teamId, emailId: id }, now)
        continue
      }
      const queue = formatQueueName({ pool, provider, stream, teamId })
      const rule = holding({ domain, provider })
      const state = rule === null ? 'waiting' : 'held'
      const waits = [queue, stream, domain, dueAt, expiresAt, rule]
      insertDelivery.run(...about, state, now, now, ...waits, ...asked, null)
    }
    return told
  }
}

/** Values of queue, stream, domain, both times and hold rule for a delivery that is final from the start. */
const NOT_QUEUED = [null, null, null, null, null, null]

const isFinal = ({ suppressed, optedOut }: NewDelivery): boolean =>
  suppressed !== null || optedOut !== undefined

/** Returns the end of a delivery that is final from the start. */
const endOf = ({ suppressed, optedOut }: NewDelivery) =>
  suppressed ? toSuppressedResult(suppressed) : toOptedOutResult(optedOut!)

/** Creates the events of a new email. */
const newEvent =
  ({ id: emailId, teamId }: StoredEmail, now: number) =>
  (type: EmailEventType, deliveryId: string | null, data: EventData): NewEvent => ({
    id: newId(now),
    teamId,
    emailId,
    deliveryId,
    type,
    createdAt: now,
    data,
  })

/** Returns the `last_event` of a new email. An email without queued recipients is final. */
function firstState({ scheduledAt, deliveries }: StoredEmail, queued: boolean): string {
  const last = deliveries.at(-1)
  if (!queued) return toLastEvent(last ? endOf(last).type : 'email.suppressed')
  return scheduledAt === null ? 'queued' : toLastEvent('email.scheduled')
}

function emailValues(email: StoredEmail, queued: boolean, now: number): (string | number | null)[] {
  return [
    email.id,
    email.teamId,
    email.domainId,
    email.apiKeyId,
    email.via,
    email.from,
    JSON.stringify(email.to),
    JSON.stringify(email.cc),
    JSON.stringify(email.bcc),
    JSON.stringify(email.replyTo),
    email.subject,
    JSON.stringify(email.headers),
    JSON.stringify(email.tags),
    JSON.stringify(email.attachments),
    email.messageId,
    email.returnPath,
    email.size,
    firstState(email, queued),
    email.scheduledAt,
    now,
    email.reportTo,
    email.dsn?.ret ?? null,
    email.dsn?.envid ?? null,
    email.requireTls,
    email.topicId,
    email.template?.id ?? null,
    email.template?.versionId ?? null,
    email.broadcast?.id ?? null,
    email.broadcast?.contactId ?? null,
  ]
}

/** Arguments of `putReport` for the writer. */
export interface StoreReportArgs extends ReportRef {
  email: StoredEmail
}

/**
 * Stores a report as a separate email, and marks its deliveries' reports as no longer due. Returns false and stores nothing
 * if part of it wasn't due anymore. Therefore, each report is created exactly once, even if another process creates it at
 * the same time.
 */
function createPutReport(db: Connection): (args: StoreReportArgs, now: number) => boolean {
  const insert = createEmailInserter(db)
  const isDue = db.prepare<[string, string, string]>(
    'select 1 from reports where email_id = ? and delivery_id = ? and kind = ? and done_at is null',
  )
  const done = db.prepare(
    'update reports set done_at = ?, report_id = ? where email_id = ? and delivery_id = ? and kind = ?',
  )
  return ({ email, kind, emailId, deliveryIds }, now) => {
    if (!deliveryIds.every((id) => isDue.get(emailId, id, kind))) return false
    insert([email], now)
    for (const id of deliveryIds) done.run(now, email.id, emailId, id, kind)
    return true
  }
}

export const methods = {
  prepared: { put: createPut, putReport: createPutReport },
}

/** The end of a delivery that is never attempted. */
export interface UnattemptedResult {
  state: 'suppressed' | 'failed'
  type: EmailEventType
  cause: Cause
  /** Event data in addition to the cause. */
  data: Pick<EventData, 'suppressed' | 'failed'>
}

/** The end of a delivery to a suppressed address. */
export const toSuppressedResult = (cause: Cause): UnattemptedResult => ({
  state: 'suppressed',
  type: 'email.suppressed',
  cause,
  data: { suppressed: createSuppressionData(cause) },
})

/** The end of a delivery whose recipient opted out of the email's topic. */
export const toOptedOutResult = (cause: Cause): UnattemptedResult => ({
  state: 'failed',
  type: 'email.failed',
  cause,
  data: { failed: { reason: cause.note } },
})
