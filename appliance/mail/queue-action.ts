/** What an operator can do to mail that waits. */
export const QUEUE_ACTIONS = ['hold', 'release', 'retry', 'reroute', 'expire', 'drop'] as const
export type QueueAction = (typeof QUEUE_ACTIONS)[number]

/** Ages, in milliseconds, at which counts of the queue tell younger mail from older. */
export const AGE_BANDS: readonly number[] = [15 * 60_000, 60 * 60_000, 4 * 3_600_000, 24 * 3_600_000]
