/** The door in: the only way by which an email comes to exist. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import type { Caller } from '../senders/caller.ts'
import type { GuardedFetch } from '../wire/fetch.ts'
import { periodEnds, type Quotas, type Senders } from '../senders/senders.ts'
import type {
  Domain,
  NewReceipt,
  PutResult,
  QuotaLimit,
  ReceiptName,
  Storage,
  StoredContent,
  Usage,
} from '../storage/storage.ts'
import { trackMessage, type Tracking } from '../tracking/tracking.ts'
import { createComposer, type Composer } from './composer.ts'
import { emailOf, viaOf, type Prepared } from './email.ts'
import { FEEDBACK_ID, feedbackIdFor } from './feedback-id.ts'
import { createAttachmentFetcher, type AttachmentFetcher } from './fetch.ts'
import { createRunning, RECEIPT_LIFETIME, replay } from './idempotency.ts'
import type { Content } from './composed-content.ts'
import type { ArrivedMessage, Submission } from './submission.ts'

export { fingerprintOf, readIdempotencyKey } from './idempotency.ts'
export { dropHeaders, readRequest, refuseNotOffered } from './request.ts'
export { createMessageReader, readArrival, type MessageReader } from './message.ts'
export type { Notice } from './notice-mail.ts'
export { checkSchedule } from './schedule.ts'
export { createContents, type Contents } from './contents.ts'
export { createSchedules, type Schedules } from './scheduled.ts'
export type { Submission } from './submission.ts'

export interface IntakeDeps {
  storage: Pick<Storage, 'put' | 'findReceipt' | 'usage' | 'listAssignments'>
  senders: Pick<Senders, 'authorize'>
  quotas: Pick<Quotas, 'limitOf'>
  /** For attachments that are given by URL. */
  fetch: GuardedFetch
  clock: Clock
  limits: {
    /** Largest message, attachments encoded, in bytes. */
    message_bytes: number
  }
  /** Domains of test addresses, in lower case. Default: none. */
  testDomains?: readonly string[] | undefined
  /** Whether mail without a Feedback-ID gets one. Default: no. */
  feedbackId?: boolean | undefined
  /** Says how an email is tracked. Default: none is. */
  tracking?: Pick<Tracking, 'planFor'> | undefined
  /** Tells dispatch that something is due. */
  wake: () => void
}

/** A request to send one or more emails. */
export interface SendRequest {
  /** What to send; a function where understanding it costs something that a replayed answer must not cost again. */
  submissions: Submission[] | (() => Promise<Submission[]>)
  /** `readIdempotencyKey` of the caller's header field. */
  idempotencyKey: string | null
  /** What the key is scoped to beside the team: method and path, aliases as the first of them (`POST /emails`). */
  scope: string
  /** `fingerprintOf` of the request body; only looked at with a key. */
  fingerprint: string
  /** The body of the answer, which is JSON; the receipt keeps it. */
  answer: (ids: string[]) => unknown
}

export interface Accepted {
  body: unknown
  /** The answer is that of an earlier request with this key. */
  replayed: boolean
  ids: string[]
  /** What the team has used, this request included; `daily` is null where the plan has no daily limit. */
  used: { daily: number | null; monthly: number }
}

export interface Intake {
  /**
   * Takes all emails of a request or none: when the promise resolves, they are durable and ours to deliver.
   * Refuses: what `senders.authorize` and `submissions` refuse, `message_too_large`, `overloaded`,
   * `daily_quota_exceeded`, `monthly_quota_exceeded`, `invalid_idempotent_request`, `concurrent_idempotent_requests`;
   * then nothing is stored and nothing counted.
   */
  accept(request: SendRequest, caller: Caller): Promise<Accepted>
  close(): Promise<void>
}

export function createIntake(deps: IntakeDeps): Intake {
  const composer = createComposer(deps)
  const tools = { composer, fetcher: createAttachmentFetcher(deps.fetch, deps.limits) }
  const running = createRunning()
  return {
    async accept(request, caller) {
      if (request.idempotencyKey === null) return acceptAnew(deps, tools, request, caller, null)
      const name = { teamId: caller.teamId, scope: request.scope, key: request.idempotencyKey }
      return running.alone(JSON.stringify(name), async () => {
        const receipt = await deps.storage.findReceipt(name, deps.clock.now())
        if (!receipt) return acceptAnew(deps, tools, request, caller, name)
        const answered = replay(receipt, request.fingerprint)
        return { ...answered, replayed: true, used: await usedBy(deps, caller.teamId) }
      })
    },
    close: () => composer.close(),
  }
}

/** What preparing works with beside its dependencies. */
interface Tools {
  composer: Composer
  fetcher: AttachmentFetcher
}

async function acceptAnew(
  deps: IntakeDeps,
  tools: Tools,
  request: SendRequest,
  caller: Caller,
  name: ReceiptName | null,
): Promise<Accepted> {
  const { storage, clock, quotas, wake } = deps
  const submissions =
    typeof request.submissions === 'function' ? await request.submissions() : request.submissions
  const prepared: Prepared[] = []
  // What was fetched is in memory, and counts, until it is stored.
  using fetched = new DisposableStack()
  // One after the other: a hundred at once would fill the composer's waiting room by themselves.
  for (const submission of submissions) {
    const whole = fetched.use(await collect(deps, tools, submission, caller))
    prepared.push(await prepare(deps, tools, whole, caller))
  }
  const quota = await quotas.limitOf(caller.teamId)
  const assignments = await storage.listAssignments({}, clock.now())
  const now = clock.now()
  const ids = prepared.map(({ id }) => id)
  const body = request.answer(ids)
  const emails = prepared.map((one) => emailOf(one, caller, assignments, now, deps.testDomains))
  const receipt = name && receiptOf(name, request.fingerprint, body, ids, now)
  const counted = submissions.some(({ notice }) => !notice)
  const result = await storage.put({ emails, receipt, quota: counted ? quota : null }, now)
  // ── the acceptance boundary: from here on it is ours ──
  if (result.kind === 'over_quota')
    throw new QuotaRefusal(result.period, now, await usedBy(deps, caller.teamId))
  if (result.kind === 'replay') {
    const answered = replay(result.receipt, request.fingerprint)
    return { ...answered, replayed: true, used: await usedBy(deps, caller.teamId) }
  }
  wake()
  return { body, replayed: false, ids, used: shown(quota, result) }
}

/** Allows one submission, and fetches what is missing of it: nobody else makes us ask other servers. */
async function collect({ senders }: IntakeDeps, { fetcher }: Tools, submission: Submission, caller: Caller) {
  const domain = await senders.authorize(caller, { domain: submission.from.domain })
  for (const also of new Set(submission.arrived?.speaksFor))
    if (also !== domain.name) await senders.authorize(caller, { domain: also })
  const collected = await fetcher.collect(submission)
  return { ...collected, domain }
}

/** Composes one submission. */
async function prepare(
  { clock, limits, tracking, feedbackId }: IntakeDeps,
  { composer }: Tools,
  { submission, domain }: { submission: Submission; domain: Domain },
  caller: Caller,
): Promise<Prepared> {
  const tooLarge = () => refuse('message_too_large', { limit: limits.message_bytes })
  if (!submission.arrived && leastSize(submission) > limits.message_bytes) throw tooLarge()
  const now = clock.now()
  const id = newId(now)
  const messageId = submission.messageId ?? `<${id}@${submission.from.domain}>`
  const plan = submission.notice ? null : (tracking?.planFor(domain, id, submission.headers) ?? null)
  const added = feedbackId ? feedbackFields(submission, caller) : []
  if (submission.arrived) {
    // Its size was held to the limit as it came in; what we add is ours.
    const arrived = submission.arrived.finish({ id, messageId, now, added })
    const message = plan ? trackMessage(arrived, plan) : arrived
    // What the app wrote is kept beside the message where that was changed.
    const content: StoredContent =
      message === arrived
        ? { place: 'message', html: null, text: null }
        : { place: 'row', ...(await readShown(submission.arrived)) }
    return { id, messageId, submission, composed: { message, content }, domain }
  }
  // What composing may know; Bcc is not among it.
  const { from, to, cc, replyTo, subject, html, text, attachments } = submission
  const headers = [...added, ...submission.headers]
  const draft = { from, to, cc, replyTo, subject, html, text, headers, attachments }
  const date = submission.scheduledAt ?? now
  const whole = { ...draft, messageId, date, tracking: plan }
  const composed = await composer.compose(whole, domain.teamId)
  if (composed.message.length > limits.message_bytes) throw tooLarge()
  return { id, messageId, submission, composed, domain }
}

async function readShown(arrived: ArrivedMessage): Promise<Content> {
  const { html, text } = await arrived.readContent()
  return { html, text }
}

/** The app's own goes before ours. */
function feedbackFields(submission: Submission, caller: Caller): Submission['headers'] {
  if (submission.headers.some(({ name }) => name.toLowerCase() === FEEDBACK_ID.toLowerCase())) return []
  const via = viaOf(submission, caller)
  return [
    {
      name: FEEDBACK_ID,
      value: feedbackIdFor(via === 'rest' ? 'api' : via, caller.teamId, submission.stream),
    },
  ]
}

/** No message made of it can be smaller: base64 takes 4 octets for 3 (RFC 2045 §6.8). Spares composing what will be refused. */
function leastSize({ html, text, attachments }: Submission): number {
  const encoded = attachments.reduce((sum, { content }) => sum + Math.ceil(content.byteLength / 3) * 4, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + encoded
}

function receiptOf(
  name: ReceiptName,
  fingerprint: string,
  body: unknown,
  emailIds: string[],
  now: number,
): NewReceipt {
  const expiresAt = now + RECEIPT_LIFETIME
  return { ...name, fingerprint, body: JSON.stringify(body), emailIds, expiresAt }
}

async function usedBy({ storage, quotas, clock }: IntakeDeps, teamId: string): Promise<Accepted['used']> {
  const usage = await storage.usage({ teamId }, clock.now())
  return shown(await quotas.limitOf(teamId), { usage })
}

function shown({ daily }: QuotaLimit, { usage }: { usage: Usage | null }): Accepted['used'] {
  return { daily: daily === null ? null : (usage?.daily ?? 0), monthly: usage?.monthly ?? 0 }
}

/** Why a team may send nothing more in this period, with what it has used. */
export class QuotaRefusal extends Refusal {
  readonly used: Accepted['used']

  constructor(
    period: Extract<PutResult, { kind: 'over_quota' }>['period'],
    now: number,
    used: Accepted['used'],
  ) {
    const { day, month } = periodEnds(now)
    const ends = period === 'daily' ? day : month
    super(`${period}_quota_exceeded`, { seconds: Math.ceil((ends - now) / 1000) })
    this.used = used
  }
}
