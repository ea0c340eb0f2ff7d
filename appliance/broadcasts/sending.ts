/** Sends and schedules broadcasts. */
import { checkSchedule, parseSchedule, htmlToText } from '../intake/intake.ts'
import { variantContents } from '../mail/ab-content.ts'
import { parseMailbox } from '../mail/address.ts'
import type { BroadcastContent } from '../mail/broadcast.ts'
import { newId } from '../mail/ids.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { ARCHIVE_KEY } from '../merge/merge.ts'
import { getReturnPathHost } from '../mail/return-path.ts'
import { choosePool } from '../mail/source.ts'
import type { Caller } from '../senders/api-keys.ts'
import type { ProviderRuleChecker, Senders } from '../senders/senders.ts'
import type { Broadcast, Domain } from '../storage/storage.ts'
import { listNumberedLinks, type Tracking } from '../tracking/tracking.ts'
import { type ControlMethods, createControlMethods } from './control.ts'
import { checkAbTest } from './ab-draft.ts'
import { hasUnsubscribeLink, UNSUBSCRIBE_TAG } from './checks.ts'
import { type BroadcastDeps, broadcastNotFound, refuseFailedChange } from './drafts.ts'
import { archiveUrlOf } from './published.ts'
import { toMergeProperties, type Revision, addPreviewText } from './revision.ts'

export interface SendingDeps extends BroadcastDeps {
  senders: Pick<Senders, 'authorize'>
  tracking: Pick<Tracking, 'originFor'>
  gate: Pick<ProviderRuleChecker, 'standing' | 'permit'>
}

export interface SendingMethods extends ControlMethods {
  /**
   * Sends a draft or scheduled broadcast: now, or at a time in the format of `POST /emails`.
   *
   * @param args edits: the version of the draft that the caller read; undefined for any
   *
   * Refuses: `not_found`, `broadcast_started`, `broadcast_changed`, `missing_content`, `broadcast_without_unsubscribe`,
   * `broadcast_without_link`, `provider_rules`, refusals of `senders.authorize`, `schedule_past`, `invalid_field`
   * (scheduled_at).
   */
  sendBroadcast(args: {
    caller: Caller
    id: string
    scheduledAt: string | null
    edits?: number | undefined
  }): Promise<void>
}

/**
 * Creates the methods.
 *
 * @param changed called when there is work to do
 */
export function createSendingMethods(deps: SendingDeps, changed: () => void): SendingMethods {
  const { storage, clock } = deps
  return {
    async sendBroadcast({ caller, id, scheduledAt, edits = undefined }) {
      const { teamId } = caller
      const broadcast = await storage.getBroadcast({ teamId, id }, clock.now())
      if (!broadcast) throw broadcastNotFound()
      if (edits !== undefined && edits !== broadcast.edits) throw refuse('broadcast_changed')
      const at = parseSchedule(scheduledAt, clock.now())
      checkSchedule(at, clock.now())
      if (at === null) await start(deps, broadcast, caller)
      else {
        await freeze(deps, broadcast, caller)
        refuseFailedChange(
          await storage.scheduleBroadcast({ teamId, id, at }, clock.now()),
          'broadcast_started',
        )
      }
      changed()
    },
    ...createControlMethods(deps, changed),
  }
}

/** Starts a broadcast. Refuses for the same reasons as `sendBroadcast`. */
async function start(deps: SendingDeps, broadcast: Broadcast, caller: Caller): Promise<void> {
  const { storage, clock } = deps
  const { teamId, id, edits } = broadcast
  const frozen = await freeze(deps, broadcast, caller)
  const now = clock.now()
  const [revision, ...variants] = frozen.map((one) => ({ id: newId(now), content: JSON.stringify(one) }))
  const starting = { teamId, id, edits, revision: revision!, variants }
  refuseFailedChange(await storage.startBroadcast(starting, now), 'broadcast_started')
}

/**
 * Starts a scheduled broadcast whose time has come. If it may no longer be sent, stores the reason as its problem.
 * Other errors are thrown.
 */
export async function startScheduled(deps: SendingDeps, broadcast: Broadcast): Promise<void> {
  try {
    await start(deps, broadcast, { teamId: broadcast.teamId, apiKey: null })
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    // Somebody changed or canceled the broadcast at the same time.
    if (error.key === 'broadcast_changed' || error.key === 'broadcast_started') return
    const ending = { id: broadcast.id, was: 'scheduled', status: 'failed', problem: error.message } as const
    await deps.storage.endBroadcast(ending, deps.clock.now())
  }
}

/**
 * Returns the domain that a draft is sent from.
 *
 * Refuses: `missing_content`, `broadcast_without_unsubscribe`, `provider_rules`, refusals of `senders.authorize`,
 * `invalid_field` (a variant of its A/B test).
 */
export async function resolveSendingDomain(
  { senders, tracking, gate }: Pick<SendingDeps, 'senders' | 'tracking' | 'gate'>,
  { content }: Pick<Broadcast, 'content'>,
  caller: Caller,
): ReturnType<Senders['authorize']> {
  const { from, html, text } = content
  if (!html && !text) throw refuse('missing_content')
  if (!hasUnsubscribeLink({ html, text }))
    throw refuse('broadcast_without_unsubscribe', { tag: UNSUBSCRIBE_TAG })
  const domain = await senders.authorize(caller, { domain: parseMailbox(from)!.domain })
  checkAbTest(content, domain)
  await gate.permit({ domain, broadcast: { origin: tracking.originFor(domain) } })
  return domain
}

/** Returns the links that are the same for all recipients, with the one to the archive if the HTML has it. */
function linksIn(html: string, archiveUrl: string | null): string[] {
  const links = listNumberedLinks(html)
  const more = archiveUrl !== null && html.includes(ARCHIVE_KEY) && !links.includes(archiveUrl)
  return more ? [...links, archiveUrl] : links
}

/** Builds the revisions from the current state: one for each variant. */
async function freeze(deps: SendingDeps, broadcast: Broadcast, caller: Caller): Promise<Revision[]> {
  const { storage, clock, tracking } = deps
  const now = clock.now()
  const { teamId, segmentId, topicId, content } = broadcast
  const domain = await resolveSendingDomain(deps, broadcast, caller)
  const origin = tracking.originFor(domain)
  if (origin === null) throw refuse('broadcast_without_link')
  const archiveUrl = await archiveUrlOf(deps, broadcast, origin)
  const segment = await storage.getSegment({ teamId, id: segmentId }, now)
  if (!segment) throw refuse('not_found', { resource: 'Segment' })
  const topic = topicId === null ? undefined : await storage.getTopic({ teamId, id: topicId }, now)
  if (topicId !== null && !topic) throw refuse('not_found', { resource: 'Topic' })
  const assignments = await storage.listAssignments({}, now)
  // Mail is queued later. If the region is failed over then, fail-over moves it.
  const regions = { ...(await storage.regionMap({}, now)), failovers: [] }
  const frozen = {
    domainId: domain.id,
    returnPathHost: getReturnPathHost(domain),
    origin,
    archiveUrl,
    tracking: { opens: domain.openTracking, clicks: domain.clickTracking },
    pool: choosePool(
      assignments,
      { teamId, domainId: domain.id, region: domain.region, stream: 'broadcast' },
      regions,
    ),
    apiKeyId: caller.apiKey?.id ?? null,
    topicId,
    list: { id: topic?.id ?? segment.id, name: topic?.name ?? segment.name },
    properties: toMergeProperties(await storage.listContactProperties({ teamId }, now)),
  }
  const revisions: Revision[] = []
  for (const one of variantContents(content))
    revisions.push({ ...(await bodyOf(one, domain, archiveUrl)), ...frozen })
  return revisions
}

/** Returns what an email says, with its tracked links. */
async function bodyOf(
  { from, subject, replyTo, previewText, html, text }: BroadcastContent,
  { clickTracking }: Pick<Domain, 'clickTracking'>,
  archiveUrl: string | null,
): Promise<Pick<Revision, 'from' | 'subject' | 'replyTo' | 'html' | 'links' | 'text'>> {
  const shown = html === null ? null : addPreviewText(html, previewText)
  return {
    from,
    subject,
    replyTo,
    html: shown,
    links: clickTracking && shown !== null ? linksIn(shown, archiveUrl) : [],
    text: text ?? (await htmlToText(html!)),
  }
}
