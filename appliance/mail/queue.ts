/** The names of queues: where a delivery waits in the spool, and what it shares its turn with. Pure. */

import type { Stream } from './source.ts'

export type { Stream } from './source.ts'

/** Recipients of one message: so many every server has to take (RFC 5321 §4.5.3.1.8). */
export const MOST_RECIPIENTS = 100

/** The parts of a queue's name. */
export interface QueueName {
  /** The pool of source addresses that its mail leaves from. */
  pool: string
  /** The mailbox provider, or `unplaced(domain)` where no attempt has looked one up yet. */
  provider: string
  stream: Stream
  teamId: string
}

const LETTER: Record<Stream, string> = { transactional: 't', broadcast: 'b' }

/**
 * `default/google/t/<team>`. None of the parts has a slash in it: pools and providers are names or domains, teams are ids.
 * The order of the parts makes the queues of one destination a range of an index, broadcast before transactional.
 */
export function formatQueue({ pool, provider, stream, teamId }: QueueName): string {
  return `${pool}/${provider}/${LETTER[stream]}/${teamId}`
}

/** What shares a limit: one pool towards one provider, `default/google`. */
export function destinationOf({ pool, provider }: { pool: string; provider: string }): string {
  return `${pool}/${provider}`
}

/** The destination that a queue belongs to, from its name. */
export function destinationOfQueue(queue: string): string {
  return queue.slice(0, queue.indexOf('/', queue.indexOf('/') + 1))
}

/** Stands for the provider of a domain that was never looked up: `?example.com`. No provider's id begins with `?`. */
export function unplaced(domain: string): string {
  return `?${domain}`
}

/** Whether it is the stand-in of a domain that was never looked up. */
export function isUnplaced(provider: string): boolean {
  return provider.startsWith('?')
}

/** What an operator can do to mail that waits. */
export const QUEUE_ACTIONS = ['hold', 'release', 'retry', 'reroute', 'expire', 'drop'] as const
export type QueueAction = (typeof QUEUE_ACTIONS)[number]

/** Ages, in milliseconds, at which counts of the queue tell younger mail from older. */
export const AGE_BANDS: readonly number[] = [15 * 60_000, 60 * 60_000, 4 * 3_600_000, 24 * 3_600_000]
