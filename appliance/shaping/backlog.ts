/** Describes the state of the queue by pool and provider, with reasons. Pure. */
import { isProviderPlaceholder } from '../mail/queue.ts'
import type { WaitReason } from '../mail/waiting.ts'
import { explainWait, type ExplanationContext, type DeliveryFacts } from './explain.ts'

/** The number of deliveries from one pool to one provider. Times in Unix milliseconds. */
export interface BacklogCount {
  /** The pool; null if the count covers several pools. */
  pool: string | null
  /** The provider: `?` for domains that were never looked up; null if the count covers several providers. */
  provider: string | null
  count: number
  /** Number of deliveries due now, and due later. */
  due: number
  later: number
  held: number
  inFlight: number
  /** When the first of `later` is due. */
  nextAt: number | null
  /** The oldest delivery, preferably one that was attempted. */
  sample: DeliveryFacts | null
}

/**
 * The state of a backlog in one word: `held` if most of its deliveries are held, `mixed` if it has several
 * destinations.
 */
export const BACKLOG_STATES = [
  'paused',
  'no_source',
  'no_route',
  'warm_up',
  'rate_limited',
  'busy',
  'retrying',
  'unresolved',
  'due',
  'sending',
  'scheduled',
  'held',
  'mixed',
  'idle',
] as const
export type BacklogState = (typeof BACKLOG_STATES)[number]

export interface Backlog {
  state: BacklogState
  /** The reason; null if the state explains itself. */
  reason: WaitReason | null
  /** When sending continues, if known. */
  until: number | null
}

/** Provider ID that stands for several domains that were never looked up. */
export const PROVIDER_PLACEHOLDER = '?'

const plain = (state: BacklogState, until: number | null = null): Backlog => ({ state, reason: null, until })

/**
 * Describes a backlog.
 * @param busy whether its lanes use all the connections they may have now
 */
export function describeBacklog(
  counted: BacklogCount,
  busy: boolean,
  situation: ExplanationContext,
  now: number,
): Backlog {
  const { count, held, due, inFlight, pool, provider, sample, nextAt } = counted
  if (pool === null || provider === null) return plain('mixed')
  const moving = due + inFlight > 0
  if (count === 0) return laneAlone(counted, situation, now)
  if (2 * held > count) return { state: 'held', reason: { key: 'held' }, until: null }
  if (isProviderPlaceholder(provider) && moving) return plain(inFlight > 0 ? 'sending' : 'unresolved')
  const asked: DeliveryFacts | null = moving
    ? { state: 'waiting', dueAt: now, pool, provider, attempts: 0, cause: null }
    : sample && { ...sample, state: 'waiting' }
  const found = asked && explainWait(asked, situation, now)
  if (!found) return plain(moving ? 'due' : 'retrying', nextAt)
  const { reason, until } = found
  const state = stateOf(reason, { busy, inFlight, noRoute: asked.cause?.phase === 'route' })
  return { state, reason, until: moving ? until : (nextAt ?? until) }
}

/** Describes a lane without queued mail. */
function laneAlone({ pool, provider }: BacklogCount, situation: ExplanationContext, now: number): Backlog {
  if (pool === null || provider === null || isProviderPlaceholder(provider)) return plain('idle')
  const asked = { state: 'waiting' as const, dueAt: now, pool, provider, attempts: 0, cause: null }
  const found = explainWait(asked, situation, now)
  const limited = found && ['paused', 'warm_up', 'no_source'].includes(found.reason.key)
  return limited
    ? { state: stateOf(found.reason, NOTHING), reason: found.reason, until: found.until }
    : plain('idle')
}

interface Activity {
  busy: boolean
  inFlight: number
  noRoute: boolean
}
const NOTHING: Activity = { busy: false, inFlight: 0, noRoute: false }

function stateOf(reason: WaitReason, { busy, inFlight, noRoute }: Activity): BacklogState {
  switch (reason.key) {
    case 'paused':
    case 'no_source':
    case 'warm_up':
    case 'scheduled':
    case 'held':
      return reason.key
    case 'rate':
      return 'rate_limited'
    case 'connections':
      return busy ? 'busy' : inFlight > 0 ? 'sending' : 'due'
    case 'deferred':
      return noRoute ? 'no_route' : 'retrying'
    case 'in_flight':
      return 'sending'
    case 'due':
      return inFlight > 0 ? 'sending' : 'due'
  }
}
