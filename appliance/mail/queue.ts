/** Names of queues. Deliveries in one queue wait together, and queues take turns. Pure. */

import type { PoolFilter, Stream } from './source.ts'

export type { PoolFilter, Stream } from './source.ts'

/** Recipients per message; every server must accept this many (RFC 5321 §4.5.3.1.8). */
export const MAX_RECIPIENTS_PER_MESSAGE = 100

/** The parts of a queue's name. */
export interface QueueNameParts {
  /** The pool of sending IPs. */
  pool: string
  /** The mailbox provider, or `unplaced(domain)` when no attempt has looked it up yet. */
  provider: string
  stream: Stream
  teamId: string
}

const LETTER: Record<Stream, string> = { transactional: 't', broadcast: 'b' }

/**
 * Formats a name such as `default/google/t/<team>`. No part contains a slash: pools and providers are names or domains,
 * teams are ids. The order of the parts makes the queues of a destination a range of an index, with broadcast before
 * transactional.
 */
export function formatQueueName({ pool, provider, stream, teamId }: QueueNameParts): string {
  return `${pool}/${provider}/${LETTER[stream]}/${teamId}`
}

/** Returns the destination, whose deliveries share a limit: a pool and a provider, such as `default/google`. */
export function formatDestination({ pool, provider }: { pool: string; provider: string }): string {
  return `${pool}/${provider}`
}

/** Whether a filter includes the pool of a destination or queue. */
export const includesPool = (filter: PoolFilter | undefined, name: string): boolean =>
  filter === undefined || filter.pools.includes(name.slice(0, name.indexOf('/'))) === filter.only

/** Returns the destination that a queue belongs to. */
export function getQueueDestination(queue: string): string {
  return queue.slice(0, queue.indexOf('/', queue.indexOf('/') + 1))
}

/** Stands in for the provider of a domain that was never looked up: `?example.com`. No provider id begins with `?`. */
export function toProviderPlaceholder(domain: string): string {
  return `?${domain}`
}

/** Whether a provider is a placeholder from `toProviderPlaceholder`. */
export function isProviderPlaceholder(provider: string): boolean {
  return provider.startsWith('?')
}

/** Actions of an operator on queued mail. */
export const QUEUE_ACTIONS = ['hold', 'release', 'retry', 'reroute', 'expire', 'drop'] as const
export type QueueAction = (typeof QUEUE_ACTIONS)[number]

/** Age limits of the bands in which the queue is counted, in milliseconds. */
export const AGE_BANDS: readonly number[] = [15 * 60_000, 60 * 60_000, 4 * 3_600_000, 24 * 3_600_000]
