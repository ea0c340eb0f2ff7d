/** Explains in one sentence why a broadcast's emails to one mailbox provider are still queued. Pure. */
import { explainHold } from '../mail/automatic-pause.ts'
import type { ProviderResult } from '../mail/broadcast.ts'
import { describeWait } from '../mail/waiting.ts'
import {
  type BacklogCount,
  formatMoment,
  type QueueLaneFacts,
  type SourceRate,
  PROVIDER_PLACEHOLDER,
} from '../shaping/shaping.ts'
import type { Broadcast } from '../storage/storage.ts'

type Row = Pick<ProviderResult, 'provider' | 'pool' | 'waiting' | 'deferred'>

/** A backlog with the number of messages that its lanes send per minute; null if unknown. */
type Lane = Pick<QueueLaneFacts, 'name' | 'state' | 'reason' | 'until'> & { perMinute: number | null }

/** Adds to each backlog the number of messages that its pool's sending IPs send to the provider per minute. */
export const addSendingRates = (backlogs: readonly QueueLaneFacts[], rates: readonly SourceRate[]): Lane[] =>
  backlogs.map(({ counted, name, state, reason, until }) => {
    const own = rates.filter((one) => one.pool === counted.pool && one.provider === counted.provider)
    const perMinute = own.length === 0 ? null : own.reduce((sum, one) => sum + one.perMinute, 0)
    return { name, state, reason, until, perMinute }
  })

/** Converts result counts to the input of `ShapingOperations.backlog`. */
export const toBacklogCounts = (rows: readonly Row[]): BacklogCount[] =>
  rows.map(({ provider, pool, waiting, deferred }) => ({
    pool,
    provider: provider === '' ? PROVIDER_PLACEHOLDER : provider,
    count: waiting,
    due: waiting - deferred,
    later: deferred,
    held: 0,
    inFlight: 0,
    nextAt: null,
    sample: null,
  }))

/**
 * Describes the lane of a provider: `Warm-up: 150 of 150 messages to Gmail sent today; continues at 00:00 UTC.` Null
 * when no emails are queued for it, or the whole broadcast is stopped.
 * @param lane its backlog
 */
export function describeLane(
  { provider, waiting, deferred }: Row,
  { name, state, reason, until, perMinute }: Lane,
  { status, paused, holds }: Pick<Broadcast, 'status' | 'paused' | 'holds'>,
  now: number,
): string | null {
  const hold = Object.hasOwn(holds, provider) ? holds[provider] : undefined
  if (status === 'queued' && hold && hold.heldAt !== null) return explainHold(name, hold.figures)
  if (waiting === 0 || status === 'canceled' || (status === 'queued' && paused !== null)) return null
  const later = `${counted(deferred)} deferred and will be tried again.`
  if (deferred === waiting) return later
  const rest = deferred > 0 ? ` ${later}` : ''
  if (provider === '' || state === 'unresolved') return `Looking up mail servers.${rest}`
  if (reason === null || reason.key === 'due' || reason.key === 'connections') {
    const because = reason?.key === 'connections' && reason.because ? limitOf(reason) : ''
    return `Sending now${pace(perMinute)}.${because}${rest}`
  }
  return `${sentence(describeWait(reason, until, (at) => formatMoment(at, now)))}${rest}`
}

/** Describes the maximum rate of the lanes. */
function pace(rate: number | null): string {
  if (rate === null) return ''
  return `, at most ${rate.toLocaleString('en')} ${rate === 1 ? 'message' : 'messages'} a minute`
}

const counted = (count: number): string =>
  count === 1 ? '1 email was' : `${count.toLocaleString('en')} emails were`

/** Describes the maximum number of open connections. */
const limitOf = ({ connections }: { connections: number }): string =>
  connections === 1 ? ' One connection at a time.' : ` At most ${connections} connections.`

const sentence = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`
