/** What happens to emails, in the words in which it is counted and found again. Imports nothing. */

/** Of one recipient each: which mailbox provider it was about is known. */
export const COUNTED_BY_RECIPIENT = [
  'delivered',
  'bounced',
  'delivery_delayed',
  'complained',
  'failed',
  'suppressed',
] as const

/** Of a whole email: who of its recipients it was cannot be told. What machines open and click is counted for itself. */
const COUNTED_BY_EMAIL = ['sent', 'opened', 'clicked', 'opened_by_robots', 'clicked_by_robots'] as const

/** All that is counted and can be asked for. */
export const COUNTED = [...COUNTED_BY_RECIPIENT, ...COUNTED_BY_EMAIL] as const
export type Counted = (typeof COUNTED)[number]

/** The counter of bounces that were about a category (mail/bounce.ts). */
export const bouncedAbout = (category: string): string => `bounced_about_${category}`
