/** Accepts requests to send: turns requests that a listener has read into durable emails. */
import type { Clock } from '../clock/clock.ts'
import { Refusal, refuseAt } from '../mail/refusals.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { Caller } from '../senders/api-keys.ts'
import { createReturnPaths, type ProviderRuleChecker, type Quotas, type Senders } from '../senders/senders.ts'
import type { Domain, NewReceipt, ReceiptName, SendingStep, Storage } from '../storage/storage.ts'
import type { Tracking } from '../tracking/tracking.ts'
import type { GuardedFetch } from '../wire/fetch.ts'
import { createComposer } from './composer.ts'
import { buildEmail, type PreparedEmail } from './email.ts'
import { createAttachmentFetcher } from './fetch.ts'
import { createRunningKeys, RECEIPT_LIFETIME, replayResponse } from './idempotency.ts'
import { type AllowedSubmission, prepareEmail, type PrepareDeps } from './prepare.ts'
import { QuotaRefusal, loadQuotaUsage, toQuotaUsage, type QuotaUsage } from './quota.ts'
import { checkSchedule } from './schedule.ts'
import type { Submission } from './submission.ts'
import { findOnlyRecipient } from './topic.ts'

export interface IntakeDeps {
  storage: Pick<
    Storage,
    'put' | 'findReceipt' | 'usage' | 'listAssignments' | 'regionMap' | 'secret' | 'topicRecipients'
  >
  senders: Pick<Senders, 'authorize'>
  quotas: Pick<Quotas, 'limitOf'>
  /** Checks bulk mail against the rules of mailbox providers. Default: no check. */
  gate?: Pick<ProviderRuleChecker, 'permitTo'> | undefined
  /** Fetches attachments given by URL. */
  fetch: GuardedFetch
  /** Parses messages that arrive as bytes and are changed. */
  mime: Pick<MimeReader, 'read'>
  clock: Clock
  limits: {
    /** Limit on message size with encoded attachments, in bytes. */
    message_bytes: number
  }
  /** Domains of test addresses, in lower case. Default: none. */
  testDomains?: readonly string[] | undefined
  /** Whether mail without a Feedback-ID field gets one. Default: no. */
  feedbackId?: boolean | undefined
  /** Decides how an email is tracked. Default: no tracking. */
  tracking?: Pick<Tracking, 'planFor'> | undefined
  /** Makes the link to unsubscribe from a topic; null if no public URL is available. Default: none. */
  unsubscribeLink?: PrepareDeps['unsubscribeLink']
  /** Notifies dispatch that something is due. */
  wake: () => void
}

/**
 * A request to send one or more emails: plain data, read and checked by the listener as far as possible without other
 * services.
 */
export interface SendRequest extends RequestIdentity {
  submissions: readonly Submission[]
  /** Set for a request for several emails. */
  batch?: BatchRequest
  /** The step of an automation that sends the email; its output gets the id. Nothing is sent if the step is over. */
  step?: SendingStep
}

/** Identifies a request, to recognize a repeated one. */
export interface RequestIdentity {
  /** The idempotency key of the caller, as parsed from its header field. */
  idempotencyKey: string | null
  /**
   * The scope of the key within the team: method and path, with aliases replaced by the first of them (`POST /emails`).
   */
  scope: string
  /** Fingerprint of the request body; only used with a key. */
  fingerprint: string
}

export interface BatchRequest {
  /** Whether valid emails are sent even if others are refused. */
  permissive: boolean
  /** The index of each submission in the request, from 0. */
  places: readonly number[]
  /** Emails of a permissive request that the listener couldn't read. */
  errors: readonly ItemError[]
}

/** Why one email of a request isn't sent. */
export interface ItemError {
  index: number
  message: string
}

export interface AcceptResult {
  /** In the order of the request. */
  ids: string[]
  /** Errors of a permissive batch, by index; empty for every other request. */
  errors: ItemError[]
  /** Whether this is the stored response to an earlier request with this key. */
  replayed: boolean
  /** The team's usage, including this request. */
  used: QuotaUsage
}

export interface Intake {
  /**
   * Accepts all emails of a request or none; of a permissive batch, all that can be sent. When the promise resolves,
   * they are durable, and Posthaste is responsible for their delivery. Refuses: for the same reasons as
   * `senders.authorize`, and `schedule_past`, `invalid_field`, `invalid_attachment`, `message_too_large`, `overloaded`,
   * `provider_rules`, `daily_quota_exceeded`, `monthly_quota_exceeded`, `invalid_idempotent_request`,
   * `concurrent_idempotent_requests`; then nothing is stored or counted.
   */
  accept(request: SendRequest, caller: Caller): Promise<AcceptResult>
  /**
   * Finds the response to an earlier request with this name, so that listeners can skip the expensive reading of a
   * repeated request. Refuses: `invalid_idempotent_request`.
   */
  findEarlier(name: RequestIdentity, caller: Caller): Promise<AcceptResult | null>
  close(): Promise<void>
}

export function createIntake(deps: IntakeDeps): Intake {
  const composer = createComposer(deps)
  const fetcher = createAttachmentFetcher(deps.fetch, deps.limits)
  const running = createRunningKeys()
  const returnPaths = createReturnPaths(deps)
  return {
    accept(request, caller) {
      const name = receiptNameOf(request, caller)
      // A time must be in the future when the request arrives, however long the storage takes to answer.
      const arrivedAt = deps.clock.now()
      return running.alone(name, async () => {
        const earlier = await findEarlier(deps, name, request)
        if (earlier) return earlier
        const { allowed, errors } = await allowAll(deps, request, caller, arrivedAt)
        // Fetched files are in memory, and count toward the limit, until they are stored.
        using fetched = new DisposableStack()
        for (const one of allowed)
          one.submission = fetched.use(await fetcher.collect(one.submission)).submission
        const prepared = await prepareAll({ ...deps, composer, returnPaths }, allowed, caller)
        return store(deps, { request, name, prepared, errors }, caller)
      })
    },
    findEarlier: (request, caller) => findEarlier(deps, receiptNameOf(request, caller), request),
    close: () => composer.close(),
  }
}

function receiptNameOf({ idempotencyKey, scope }: RequestIdentity, { teamId }: Caller): ReceiptName | null {
  return idempotencyKey === null ? null : { teamId, scope, key: idempotencyKey }
}

async function findEarlier(
  deps: IntakeDeps,
  name: ReceiptName | null,
  { fingerprint }: RequestIdentity,
): Promise<AcceptResult | null> {
  const receipt = name && (await deps.storage.findReceipt(name, deps.clock.now()))
  if (!receipt) return null
  return {
    ...replayResponse(receipt, fingerprint),
    replayed: true,
    used: await loadQuotaUsage(deps, name.teamId),
  }
}

/** Checks which emails of a request may be sent. Runs before any other work or outgoing request. */
async function allowAll(
  deps: IntakeDeps,
  { submissions, batch }: SendRequest,
  caller: Caller,
  arrivedAt: number,
): Promise<{ allowed: AllowedSubmission[]; errors: ItemError[] }> {
  const errors = [...(batch?.errors ?? [])]
  const allowed: AllowedSubmission[] = []
  for (const [at, submission] of submissions.entries()) {
    try {
      checkSchedule(submission.scheduledAt, arrivedAt)
      const domain = await allow(deps, submission, caller)
      allowed.push({ submission, domain, reader: await findOnlyRecipient(deps, submission, caller.teamId) })
    } catch (error) {
      if (!batch || !(error instanceof Refusal) || error.status >= 500) throw error
      const index = batch.places[at]!
      if (!batch.permissive) throw refuseAt(index, error)
      errors.push({ index, message: error.message })
    }
  }
  return { allowed, errors: errors.sort((one, other) => one.index - other.index) }
}

/** Returns the domain that an email is sent from, if that is allowed. */
async function allow({ senders, gate }: IntakeDeps, submission: Submission, caller: Caller): Promise<Domain> {
  const { from, arrived, notice } = submission
  const domain = await senders.authorize(caller, { domain: from.domain })
  for (const also of new Set(arrived?.speaksFor))
    if (also !== domain.name) await senders.authorize(caller, { domain: also })
  if (!notice) await gate?.permitTo(domain, recipientDomains(submission))
  return domain
}

/** Returns the domains of all recipients, those of the envelope if the message arrived with one. */
function recipientDomains({ to, cc, bcc, arrived }: Submission): string[] {
  const mailboxes = arrived ? arrived.recipients.map(({ mailbox }) => mailbox) : [...to, ...cc, ...bcc]
  return mailboxes.map(({ domain }) => domain)
}

/** Prepares one email at a time: a hundred at once would fill the composer's queue. */
async function prepareAll(
  tools: PrepareDeps,
  allowed: readonly AllowedSubmission[],
  caller: Caller,
): Promise<PreparedEmail[]> {
  const prepared: PreparedEmail[] = []
  for (const one of allowed) prepared.push(await prepareEmail(tools, one, caller))
  return prepared
}

/** A composed request that can be stored. */
interface Ready {
  request: SendRequest
  name: ReceiptName | null
  prepared: PreparedEmail[]
  errors: ItemError[]
}

async function store(
  deps: IntakeDeps,
  { request, name, prepared, errors }: Ready,
  caller: Caller,
): Promise<AcceptResult> {
  const { storage, clock, quotas, wake } = deps
  const quota = await quotas.limitOf(caller.teamId)
  const [assignments, regions] = await Promise.all([
    storage.listAssignments({}, clock.now()),
    storage.regionMap({}, clock.now()),
  ])
  const now = clock.now()
  const ids = prepared.map(({ id }) => id)
  const emails = prepared.map((one) =>
    buildEmail(one, caller, { assignments, regions }, now, deps.testDomains),
  )
  const receipt = name && receiptOf(name, request.fingerprint, { ids, errors }, now)
  const counted = prepared.some(({ submission }) => !submission.notice)
  const step = request.step && { ...request.step, output: { ...request.step.output, email_id: ids[0] } }
  const result = await storage.put({ emails, receipt, quota: counted ? quota : null, step }, now)
  // ── the acceptance boundary: after this point, the emails are stored ──
  if (result.kind === 'over_quota')
    throw new QuotaRefusal(result.period, now, await loadQuotaUsage(deps, caller.teamId))
  if (result.kind === 'stale')
    return { ids: [], errors: [], replayed: true, used: await loadQuotaUsage(deps, caller.teamId) }
  if (result.kind === 'replay') {
    const answered = replayResponse(result.receipt, request.fingerprint)
    return { ...answered, replayed: true, used: await loadQuotaUsage(deps, caller.teamId) }
  }
  wake()
  return { ids, errors, replayed: false, used: toQuotaUsage(quota, result.usage) }
}

function receiptOf(
  name: ReceiptName,
  fingerprint: string,
  { ids, errors }: Pick<AcceptResult, 'ids' | 'errors'>,
  now: number,
): NewReceipt {
  const body = JSON.stringify({ errors })
  return { ...name, fingerprint, body, emailIds: ids, expiresAt: now + RECEIPT_LIFETIME }
}
