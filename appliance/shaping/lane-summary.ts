/** A lane as shown to people. Pure. */
import { isProviderPlaceholder } from '../mail/queue.ts'
import type { Source } from '../mail/source.ts'
import { describeLaneReason, type LaneReason } from '../mail/waiting.ts'
import type { LaneRecord } from '../storage/storage.ts'
import { getCurrentLimits, isPaused, getDisplayRate } from './lane.ts'
import type { LaneState } from './lane-state.ts'
import type { Providers } from './providers.ts'
import { type Provider } from './providers.ts'
import type { LaneActivity } from './recent.ts'
import { laneId, parseLane, serializeLane } from './saved.ts'
import { getWarmUpProgress, type WarmUp } from './warm-up.ts'

/** A lane as shown to people. Times in Unix milliseconds. */
export interface LaneSummary {
  id: string
  source: string
  /** The pool of the source; null if the source was removed. */
  pool: string | null
  provider: string
  name: string
  /** The current limits; `limits` contains the maximum. */
  allowed: { connections: number; messagesPerMinute: number }
  limits: Provider['limits']
  paused: { until: number | null } | null
  warmUp: WarmUp | null
  /** The current activity; null if unknown, because the daemon doesn't run in this process. */
  activity: LaneActivity | null
  /** The last decision. */
  reason: LaneReason | null
  reasonAt: number | null
  updatedAt: number
}

/** Returns the name of a provider; the domain itself if it was never looked up. */
export const nameOf = (id: string, providers: Providers): string =>
  isProviderPlaceholder(id) ? id.slice(1) : providers.get(id).name

/** Whether a lane uses all the connections it may have now. */
export const isBusy = ({ activity, allowed: { connections } }: LaneSummary): boolean =>
  activity !== null && activity.inFlight >= connections

export function recordOf(
  source: string,
  provider: Pick<Provider, 'id' | 'name'>,
  state: LaneState,
  updatedAt: number,
): LaneRecord {
  const { pause, reason, reasonAt } = state
  return {
    source,
    provider: provider.id,
    state: serializeLane(state),
    pausedUntil: pause?.until ?? null,
    reason: reason && describeLaneReason(reason, provider.name),
    reasonAt,
    updatedAt,
  }
}

export function factsOf(
  record: LaneRecord,
  providers: Providers,
  sources: readonly Source[],
  now: number,
): Omit<LaneSummary, 'activity'> {
  const provider = providers.get(record.provider)
  const state = parseLane(record.state, provider.limits)
  const { connections } = getCurrentLimits(state, provider.limits, now)
  const source = sources.find(({ ip }) => ip === record.source)
  return {
    id: laneId(record.source, record.provider),
    source: record.source,
    pool: source?.pool ?? null,
    provider: record.provider,
    name: provider.name,
    allowed: { connections, messagesPerMinute: getDisplayRate(state, provider.limits, now) },
    limits: provider.limits,
    paused: isPaused(state, now) ? { until: state.pause!.until } : null,
    warmUp: getWarmUpProgress(state, source?.warmUpSince ?? null, provider.warmUp, now),
    reason: state.reason,
    reasonAt: state.reasonAt,
    updatedAt: record.updatedAt,
  }
}
