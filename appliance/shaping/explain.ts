/** Explains why a delivery waits, for the API, the dashboard and the command line. Pure. */
import { isProviderPlaceholder } from '../mail/queue.ts'
import { AUTO_IP, selectUsableSources, explainMissingSource, type Source } from '../mail/source.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { describeWait, type WaitReason } from '../mail/waiting.ts'
import { getCurrentLimits, isPaused, computeResumeTime, getDisplayRate } from './lane.ts'
import type { LaneState } from './lane-state.ts'
import type { Provider, Providers } from './providers.ts'
import { getWarmUpProgress, formatMoment, nextMidnight } from './warm-up.ts'

/** The facts about a delivery; times in Unix milliseconds. */
export interface DeliveryFacts {
  state: DeliveryState
  dueAt: number | null
  pool: string
  provider: string
  attempts: number
  cause: Cause | null
}

/** A lane, as last saved or as of now. */
export interface LaneView {
  source: string
  provider: string
  state: LaneState
}

/** The facts that explanations are based on. */
export interface ExplanationContext {
  lanes: readonly LaneView[]
  sources: readonly Source[]
  providers: Providers
}

export interface Explanation {
  /** When sending continues, if known. */
  until: number | null
  reason: WaitReason
  /** The reason in words, without a full stop, with its time in UTC. */
  why: string
}

/** A reason, and until when it applies. */
interface Found {
  until: number | null
  reason: WaitReason
}

/** Explains why a delivery waits, and until when; null if it doesn't wait. */
export function explainWait(
  delivery: DeliveryFacts,
  situation: ExplanationContext,
  now: number,
): Explanation | null {
  const found = find(delivery, situation, now)
  return found && { ...found, why: describeWait(found.reason, found.until, (at) => formatMoment(at, now)) }
}

function find(delivery: DeliveryFacts, situation: ExplanationContext, now: number): Found | null {
  if (delivery.state === 'held') return { until: null, reason: { key: 'held' } }
  if (delivery.state !== 'waiting' || delivery.dueAt === null) return null
  const lane = whyLane(delivery, situation, now)
  if (lane && (lane.until ?? 0) > delivery.dueAt) return lane
  if (delivery.dueAt > now) return whyLater(delivery, delivery.dueAt)
  return lane ?? { until: null, reason: { key: 'due' } }
}

/** Explains why a delivery isn't due yet. */
function whyLater({ attempts, cause }: DeliveryFacts, until: number): Found {
  if (attempts === 0) return { until, reason: { key: 'scheduled' } }
  const attempt = attempts + 1
  if (cause === null) return { until, reason: { key: 'in_flight', attempt } }
  return { until, reason: { key: 'deferred', attempt, note: cause.note, reply: cause.reply } }
}

/** Explains what blocks a delivery's lane. Among several sending IPs, picks the one that continues first. */
function whyLane(
  { pool, provider: id }: DeliveryFacts,
  situation: ExplanationContext,
  now: number,
): Found | null {
  const { sources, providers, lanes } = situation
  if (isProviderPlaceholder(id)) return null
  const usable = [
    ...new Set([...selectUsableSources(sources, pool, 4), ...selectUsableSources(sources, pool, 6)]),
  ]
  if (usable.length === 0) {
    const note = explainMissingSource(sources, pool, 4)
    return sources.length === 0 ? null : { until: null, reason: { key: 'no_source', note } }
  }
  const provider = providers.get(id)
  const views = usable.map((source) => {
    const lane = lanes.find((one) => one.source === source.ip && one.provider === id)
    return lane ? whyThis(lane.state, source, provider, now) : null
  })
  const [first, ...others] = views
  if (first === undefined || views.includes(null)) return null
  return others.reduce<Found | null>(sooner, first)
}

function sooner(a: Found | null, b: Found | null): Found | null {
  if (a === null || b === null) return a ?? b
  return (b.until ?? Infinity) < (a.until ?? Infinity) ? b : a
}

/** Explains why one lane has no capacity. */
function whyThis(state: LaneState, source: Source, provider: Provider, now: number): Found {
  const { name, limits, warmUp: plan } = provider
  const where = { provider: name, source: source.ip === AUTO_IP ? null : source.ip }
  const { reason: last } = state
  if (isPaused(state, now))
    return { until: state.pause?.until ?? null, reason: { key: 'paused', because: last, ...where } }
  const warm = getWarmUpProgress(state, source.warmUpSince, plan, now)
  if (warm?.left === 0) {
    const { sent, share } = warm
    return { until: nextMidnight(now), reason: { key: 'warm_up', sent, share, ...where } }
  }
  const { connections } = getCurrentLimits(state, limits, now)
  const because = isWide(state, limits) ? null : last
  const until = computeResumeTime(state, now)
  if (until !== null && until > now)
    return { until, reason: { key: 'rate', rate: getDisplayRate(state, limits, now), because, ...where } }
  return { until: null, reason: { key: 'connections', connections, because, ...where } }
}

/** Whether a lane has reached its full limits. */
function isWide({ connections, pace }: LaneState, limits: Provider['limits']): boolean {
  return connections >= limits.connections && pace.rate >= limits.messagesPerMinute && !pace.refused
}
