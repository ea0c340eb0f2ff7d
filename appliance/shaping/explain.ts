/** Why a delivery waits, in words: for the API, the dashboard and the command line. Pure. */
import { isUnplaced } from '../mail/queue.ts'
import { AUTO, usableSources, whyNoSource, type Source } from '../mail/source.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { allowed, isPaused, opensAt, shownRate, type LaneState } from './lane.ts'
import type { Provider, Providers } from './providers.ts'
import { warmUpOf } from './warm-up.ts'
import { moment, nextMidnight } from './words.ts'

/** What is known of a delivery; times in Unix milliseconds. */
export interface Waiting {
  state: DeliveryState
  dueAt: number | null
  pool: string
  provider: string
  attempts: number
  cause: Cause | null
}

/** A lane as it was last saved, or as it is. */
export interface LaneView {
  source: string
  provider: string
  state: LaneState
}

/** What an explanation is made of. */
export interface Situation {
  lanes: readonly LaneView[]
  sources: readonly Source[]
  providers: Providers
}

/** `until`: when it goes on, where that is known. `why`: a sentence without its full stop. */
export interface Explanation {
  until: number | null
  why: string
}

/** Why a delivery waits, and until when; null when it does not wait. */
export function explain(delivery: Waiting, situation: Situation, now: number): Explanation | null {
  if (delivery.state === 'held')
    return { until: null, why: 'held by an operator, until somebody releases it' }
  if (delivery.state !== 'waiting' || delivery.dueAt === null) return null
  const lane = whyLane(delivery, situation, now)
  if (lane && (lane.until ?? 0) > delivery.dueAt) return lane
  if (delivery.dueAt > now) return whyLater(delivery, delivery.dueAt, now)
  return lane ?? { until: null, why: 'its turn comes now' }
}

/** Its own time has not come. */
function whyLater({ attempts, cause }: Waiting, until: number, now: number): Explanation {
  const at = moment(until, now)
  if (attempts === 0) return { until, why: `waits until ${at}, the time that was set for it` }
  const why = cause === null ? 'an attempt is under way' : cause.note.replace(/\.$/, '')
  return { until, why: `attempt ${attempts + 1} comes at ${at}: ${why}` }
}

/** What keeps the whole lane waiting: of several source addresses, the first that opens. */
function whyLane({ pool, provider: id }: Waiting, situation: Situation, now: number): Explanation | null {
  const { sources, providers, lanes } = situation
  if (isUnplaced(id)) return null
  const usable = [...new Set([...usableSources(sources, pool, 4), ...usableSources(sources, pool, 6)])]
  if (usable.length === 0) return sources.length === 0 ? null : { until: null, why: noSource(sources, pool) }
  const provider = providers.get(id)
  const views = usable.map((source) => {
    const lane = lanes.find((one) => one.source === source.ip && one.provider === id)
    return lane ? whyThis(lane.state, source, provider, now) : null
  })
  const [first, ...others] = views
  if (first === undefined || views.includes(null)) return null
  return others.reduce<Explanation | null>(sooner, first)
}

const noSource = (sources: readonly Source[], pool: string): string =>
  whyNoSource(sources, pool, 4).replace(/\.$/, '')

function sooner(a: Explanation | null, b: Explanation | null): Explanation | null {
  if (a === null || b === null) return a ?? b
  return (b.until ?? Infinity) < (a.until ?? Infinity) ? b : a
}

/** Why one lane has no room. */
function whyThis(state: LaneState, source: Source, provider: Provider, now: number): Explanation {
  if (isPaused(state, now)) return whyPaused(state, now)
  const { name, limits, warmUp: plan } = provider
  const from = source.ip === AUTO ? '' : ` from ${source.ip}`
  const warm = warmUpOf(state, source.warmUpSince, plan, now)
  if (warm?.left === 0) {
    const until = nextMidnight(now)
    const why = `warm-up: ${warm.sent} of ${warm.share} messages to ${name} were sent today${from}; goes on at ${moment(until, now)}`
    return { until, why }
  }
  const { connections } = allowed(state, limits, now)
  const rate = shownRate(state, limits, now)
  const because = state.reason === null || isWide(state, limits) ? '' : ` (${state.reason})`
  const until = opensAt(state, now)
  if (until !== null && until > now)
    return {
      until,
      why: `its turn comes with ${rate === 1 ? 'one message' : `${rate} messages`} a minute to ${name}${from}${because}`,
    }
  const free =
    connections === 1 ? `the one connection to ${name}` : `one of ${connections} connections to ${name}`
  return { until: null, why: `its turn comes when ${free}${from} is free${because}` }
}

/** Whether nothing of its limits was taken from a lane. */
function isWide({ connections, pace }: LaneState, limits: Provider['limits']): boolean {
  return connections >= limits.connections && pace.rate >= limits.messagesPerMinute && !pace.refused
}

function whyPaused({ pause, reason }: LaneState, now: number): Explanation {
  const why = reason ?? 'paused'
  const until = pause?.until ?? null
  return until === null
    ? { until, why: `waits until an operator lets it go on: ${why}` }
    : { until, why: `waits until ${moment(until, now)}: ${why}` }
}
