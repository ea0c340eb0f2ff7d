/**
 * Sends broadcasts in the background. It turns contacts into recipients, and queues a few thousand recipients at a time
 * per mailbox provider, so that a slow provider doesn't delay the others. All progress is in storage, so a kill at any
 * moment loses and duplicates nothing.
 */
import { setImmediate } from 'node:timers/promises'
import type { PreferencesTokens } from '../audience/audience.ts'
import { getSteadyTime } from '../clock/clock.ts'
import { PAUSE_WINDOW, decidePause, listHeldProviders, explainHold } from '../mail/automatic-pause.ts'
import { BROADCAST_LIFETIME_MS, LATE_MS, explainPause } from '../mail/broadcast.ts'
import { countAllowedNow, computeProviderQueueLimit } from '../mail/broadcast-rate.ts'
import { newId } from '../mail/ids.ts'
import type { ReturnPaths } from '../senders/senders.ts'
import type { Broadcast, BroadcastEmail, WaitingRecipient } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { abTestStep, type AbTurn, endTestSending } from './ab-run.ts'
import { createQueuedCountCache, type QueuedCountCache, computeCooldown } from './load.ts'
import { type BroadcastMail, buildMessageId, buildUnsubscribeLink, encodeRecord } from './mail.ts'
import { recountBroadcast } from './results.ts'
import { type ParsedRevision, toRecipientData, renderSubject, computeMergeValues } from './revision.ts'
import { type SendingDeps, startScheduled } from './sending.ts'
import { createQueueLimitsLoader, type LaneRate, type QueueLimits } from './windows.ts'

/**
 * Number of contacts that become recipients per transaction, and number of transactions before other broadcasts get a
 * turn.
 */
const CHUNK = 1000
const CHUNKS = 20
/** Number of recipients queued per transaction. */
const BATCH = 500
/**
 * Size of the first batch of a large broadcast. The rest follows once the batch's bounces are known, or after
 * `CANARY_MS` milliseconds.
 */
const CANARY = 100
const LARGE = 2000
const CANARY_MS = 5 * 60_000
/** Number of rows closed or released per transaction. */
const STEP = 500
/** How often a broadcast in progress checks for free capacity in the queue (milliseconds). */
const SENDING_MS = 1000
/** How often results are counted and the automatic pause is checked (milliseconds). */
const LOOK_MS = 2000

export interface RunnerDeps extends SendingDeps {
  mail: BroadcastMail
  tokens: Pick<PreferencesTokens, 'sign'>
  returnPaths: Pick<ReturnPaths, 'make'>
  log: Logger
  duties?: Duties | undefined
  pollMs: number
  /** Returns the current rates of the lanes. */
  laneRates: () => Promise<LaneRate[]>
  /** Notifies the dispatcher that a delivery is due. */
  wake: () => void
  /** Reports whether the disk has space; without it, nothing is queued. */
  hasRoom: () => Promise<boolean>
}

export function createBroadcastRunner(deps: RunnerDeps): Worker {
  const { storage, clock, log, pollMs } = deps
  const onDuty = createDutyCheck(deps.duties, 'broadcasts')
  const run = createRun(deps)
  let open: Broadcast[] = []
  const step = async (going: () => boolean): Promise<boolean> => {
    open = await storage.openBroadcasts({}, clock.now())
    if (open.length === 0 || !(await onDuty())) return false
    let more = false
    for (const broadcast of open) {
      if (!going()) return false
      more = (await run(broadcast)) || more
    }
    await setImmediate()
    return more
  }
  // Broadcasts in progress are checked every second, scheduled ones at their time. Changes by other processes are
  // noticed at the next poll.
  const next = (): Promise<number | undefined> => {
    const times = open.flatMap(({ status, paused, scheduledAt }) => {
      if (paused) return []
      return status === 'scheduled' ? scheduledAt! : clock.now() + SENDING_MS
    })
    return Promise.resolve(times.length === 0 ? undefined : Math.min(...times))
  }
  const trouble = 'sending broadcasts is delayed: the storage is not responding; nobody is lost'
  return createWorker({ step, next, clock, log, pollMs, trouble })
}

/** Creates the function that does the next part of a broadcast. It returns true if there is more to do at once. */
function createRun(deps: RunnerDeps): (broadcast: Broadcast) => Promise<boolean> {
  const { storage, clock } = deps
  /** `updatedAt` of each broadcast when its parked emails were last released, by broadcast ID. */
  const released = new Map<string, number>()
  /** When to check the results of each broadcast again, on the steady clock. */
  const lookAt = new Map<string, number>()
  const windows = createQueueLimitsLoader(deps)
  const loads = createQueuedCountCache(deps)
  return async (broadcast) => {
    const { id, status, paused, updatedAt } = broadcast
    const now = clock.now()
    if (status === 'canceled') return storage.closeCanceled({ id, most: STEP }, now)
    if (status === 'scheduled') return startIfDue(deps, broadcast)
    const before = getSteadyTime(clock)
    if (before >= (lookAt.get(id) ?? -Infinity)) {
      await look(deps, broadcast)
      const after = getSteadyTime(clock)
      lookAt.set(id, Math.max(before + LOOK_MS, after + computeCooldown(after - before)))
    }
    if (paused) return false
    if (released.get(id) !== updatedAt) {
      const expiresAt = now + BROADCAST_LIFETIME_MS
      while (await storage.releaseParked({ id, most: STEP, expiresAt }, now));
      released.set(id, updatedAt)
      deps.wake()
    }
    const more = await expand(deps, broadcast)
    const test = broadcast.content.abTest ? await abTestStep(deps, broadcast) : null
    if (test === 'again' || test === 'waits') return test === 'again' || more
    return (await enqueue(deps, broadcast, { windowsFor: await windows(), loads, test })) || more
  }
}

async function startIfDue(deps: RunnerDeps, broadcast: Broadcast): Promise<boolean> {
  const { storage, clock, log } = deps
  const { id, teamId, scheduledAt, paused } = broadcast
  const late = clock.now() - scheduledAt!
  if (paused || late < 0) return false
  if (late > LATE_MS) {
    await storage.pauseBroadcast({ teamId, id, reason: 'late', figures: null }, clock.now())
    log.warn({ broadcast: id }, 'a scheduled broadcast is late; it waits for somebody to send it')
    return false
  }
  await startScheduled(deps, broadcast)
  return true
}

/** Counts results, and pauses the broadcast, or its part for a provider, if they are bad. */
async function look({ storage, clock, log }: RunnerDeps, broadcast: Broadcast): Promise<void> {
  const { id, teamId, paused, resumedAt, holds } = broadcast
  await recountBroadcast({ storage, clock }, id)
  if (paused) return
  const since = resumedAt ?? 0
  const recent = await storage.recentEmails({ id, since, most: PAUSE_WINDOW }, clock.now())
  const { held, pause } = decidePause(recent, holds)
  if (Object.keys(held).length > 0) await storage.holdProviders({ teamId, id, held }, clock.now())
  for (const [provider, figures] of Object.entries(held))
    log.warn({ broadcast: id, provider, ...figures }, `held a part: ${explainHold(provider, figures)}`)
  if (!pause) return
  const { reason, figures } = pause
  await storage.pauseBroadcast({ teamId, id, reason, figures }, clock.now())
  log.warn({ broadcast: id, ...figures }, `paused a broadcast: ${explainPause(reason, figures)}`)
}

/** Turns the next contacts into recipients. Returns false if all contacts were turned into recipients before. */
async function expand({ storage, clock }: RunnerDeps, { id, expandedAt }: Broadcast): Promise<boolean> {
  if (expandedAt !== null) return false
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    let step = await storage.expandBroadcast({ id, most: CHUNK }, clock.now())
    if (step === 'rules') step = await storage.expandByRules({ id, most: CHUNK }, clock.now())
    if (step !== 'more') return true
    await setImmediate()
  }
  return true
}

/** Queues recipients while there is capacity. Returns true if more can be queued at once. */
async function enqueue(deps: RunnerDeps, broadcast: Broadcast, capacity: Capacity): Promise<boolean> {
  const { storage, clock, mail, log } = deps
  const { id, expandedAt } = broadcast
  const revision = await mail.revision(broadcast.revisionId!)
  if (!revision) return false
  const places = await placesOf(deps, broadcast, {
    windows: capacity.windowsFor(revision.pool),
    loads: capacity.loads,
  })
  const { test } = capacity
  const tested = test?.tested ?? false
  const wanted = { id, closed: places.closed, most: places.most, tested }
  const found = await storage.waitingRecipients(wanted, clock.now())
  if (found.length === 0) {
    if (tested) await endTestSending(deps, broadcast)
    else if (expandedAt !== null && places.idle && !places.first) await finish(deps, broadcast)
    return false
  }
  if (!(await deps.hasRoom())) {
    log.error({ broadcast: id }, 'a broadcast waits: there is too little free disk space')
    return false
  }
  const batch = places.take(found)
  const emails: BroadcastEmail[] = []
  for (const one of batch) {
    if (!one.contact) continue
    const revisionId = test?.revisionFor(one) ?? broadcast.revisionId!
    const own = test ? await mail.revision(revisionId) : revision
    if (!own) return false
    emails.push(await emailFor(deps, { ...broadcast, revisionId }, own, one))
  }
  const deleted = batch.flatMap(({ contactId, contact }) => (contact ? [] : [contactId]))
  const taken = new Set(batch)
  const moved = found.filter((one) => one.moved && !taken.has(one))
  const untested = test ? batch.filter((one) => test.isUntested(one)).map((one) => one.contactId) : undefined
  const done = await storage.enqueueBroadcast({ id, emails, deleted, moved, untested }, clock.now())
  if (done && done.enqueued > 0) {
    const providers = batch.map(({ provider }) => provider)
    capacity.loads.add(id, providers)
    deps.wake()
  }
  return done !== undefined && done.enqueued + done.skipped + moved.length > 0
}

/** Limits on the number of queued emails of a broadcast. */
interface Capacity {
  /** Returns the limits for a pool. */
  windowsFor: (pool: string) => QueueLimits
  loads: QueuedCountCache
  /** Null: it has no A/B test. */
  test: AbTurn | null
}

/** Returns the free capacity for each provider. */
async function placesOf(
  { storage, clock }: RunnerDeps,
  { id, startedAt, expanded, enqueued, expandedAt, holds, hourlyRate, nextAt }: Broadcast,
  { windows, loads }: { windows: QueueLimits; loads: QueuedCountCache },
) {
  const now = clock.now()
  const large = expanded > LARGE || expandedAt === null
  const canary = large && enqueued <= CANARY && now - startedAt! < CANARY_MS
  const load = await loads.of(id)
  // The first batch is sent alone, until each of its emails has had its first attempt.
  const first = canary ? (enqueued === 0 ? CANARY : 0) : Infinity
  const seen = canary && enqueued > 0 && ((await storage.countBroadcast({ id }, now)).queued ?? 0) === 0
  const waits = !seen && first === 0
  let left = Math.min(BATCH, seen ? BATCH : first, countAllowedNow({ hourlyRate, nextAt }, now))
  const limit = computeProviderQueueLimit(hourlyRate)
  const held = new Set(listHeldProviders(holds))
  const room = (provider: string): number =>
    held.has(provider) ? 0 : Math.min(limit, windows.of(provider)) - (load[provider] ?? 0)
  const closed = [...new Set([...Object.keys(load), ...held, ...windows.shut])].filter(
    (provider) => room(provider) <= 0,
  )
  return {
    closed,
    /** Whether no provider has queued or parked emails that keep others waiting. */
    idle: closed.every((provider) => !load[provider]),
    most: Math.max(0, left),
    /** Whether the rest waits for the results of the first batch. */
    first: waits,
    /** Chooses the recipients to queue, alternating between providers. */
    take(found: readonly WaitingRecipient[]): WaitingRecipient[] {
      const lines = [...Map.groupBy(found, ({ provider }) => provider)].map(([provider, line]) =>
        line.slice(0, Math.max(0, room(provider))),
      )
      const taken: WaitingRecipient[] = []
      for (let at = 0; left > 0 && lines.some((line) => at < line.length); at++)
        for (const line of lines) if (at < line.length && left-- > 0) taken.push(line[at]!)
      return taken
    },
  }
}

async function emailFor(
  { clock, returnPaths, tokens }: RunnerDeps,
  { id: broadcastId, teamId, revisionId }: Broadcast,
  revision: ParsedRevision,
  { contactId, contact }: WaitingRecipient,
): Promise<BroadcastEmail> {
  const now = clock.now()
  const id = newId(now)
  const reader = toRecipientData(revision, contactId, contact!)
  // Creating the link takes as long as everything else here, and few subjects contain it.
  const link = revision.linkInSubject
    ? buildUnsubscribeLink(tokens, revision, { teamId, reader, emailId: id })
    : null
  const links = { unsubscribe: link, archive: revision.archiveUrl }
  const subject = renderSubject(revision, computeMergeValues(reader, revision.properties, links))
  const size = (revision.html?.length ?? 0) + (revision.text?.length ?? 0)
  return {
    id,
    teamId,
    domainId: revision.domainId,
    apiKeyId: revision.apiKeyId,
    via: revision.apiKeyId === null ? 'dashboard' : 'rest',
    from: revision.from,
    to: [reader.email],
    cc: [],
    bcc: [],
    replyTo: revision.replyTo,
    subject,
    content: { place: 'message', html: null, text: null },
    headers: [],
    tags: [],
    attachments: [],
    messageId: buildMessageId(id, revision),
    returnPath: await returnPaths.make(id, revision.returnPathHost),
    reportTo: null,
    dsn: null,
    requireTls: null,
    scheduledAt: null,
    stream: 'broadcast',
    topicId: revision.topicId,
    pool: revision.pool,
    size,
    broadcast: { id: broadcastId, contactId },
    body: encodeRecord({ revision: revisionId!, broadcastId, teamId, date: now, reader }),
    deliveries: [
      {
        id: newId(now),
        recipient: reader.email,
        field: 'to',
        dueAt: now,
        suppressed: null,
        dsn: null,
        expiresAt: now + BROADCAST_LIFETIME_MS,
      },
    ],
  }
}

/**
 * Ends a broadcast when every email had at least one attempt or is final. Emails that are leased may still return to
 * the queue without an attempt.
 */
async function finish(
  { storage, clock, log }: RunnerDeps,
  { id, expanded, enqueued, skipped }: Broadcast,
): Promise<void> {
  const out = Object.values(skipped).reduce((sum, n = 0) => sum + n, 0)
  if (expanded > enqueued + out) return
  const { counts } = await recountBroadcast({ storage, clock }, id)
  if ((counts.queued ?? 0) > 0 || (await storage.broadcastInFlight({ id }, clock.now())) > 0) return
  if (await storage.endBroadcast({ id, was: 'queued', status: 'sent', problem: null }, clock.now()))
    log.info({ broadcast: id, emails: enqueued }, 'a broadcast was sent')
}
