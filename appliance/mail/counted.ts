/** The events that are counted, under the names of their counters. Imports nothing. */

/** Events of one recipient, so that the mailbox provider is known. */
export const COUNTED_BY_RECIPIENT = [
  'delivered',
  'bounced',
  'delivery_delayed',
  'complained',
  'failed',
  'suppressed',
] as const

/**
 * Events of a whole email, because the recipient can't be determined. Opens and clicks by bots are counted separately.
 */
const COUNTED_BY_EMAIL = ['sent', 'opened', 'clicked', 'opened_by_robots', 'clicked_by_robots'] as const

/** All counters that can be queried. */
export const COUNTED = [...COUNTED_BY_RECIPIENT, ...COUNTED_BY_EMAIL] as const
export type Counted = (typeof COUNTED)[number]

/** Returns the counter for bounces of a category (mail/bounce.ts). */
export const bouncedAbout = (category: string): string => `bounced_about_${category}`
