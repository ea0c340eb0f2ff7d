/** Broadcasts: their states, what they say, and why one stops. Pure. */

/** The states on the wire. `queued`: being sent, also while it is paused. */
export const BROADCAST_STATUSES = ['draft', 'scheduled', 'queued', 'sent', 'canceled', 'failed'] as const
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number]

/** `late`: its time passed while the server was down. `restored`: it comes out of a backup, and may have been sent since. */
export type PauseReason = 'person' | 'bounces' | 'complaints' | 'late' | 'restored'

/** Why a contact of the segment is not sent to. */
export const SKIP_REASONS = ['unsubscribed', 'topic', 'deleted', 'canceled'] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** What a draft says. */
export interface BroadcastContent {
  /** As a From field: `Ada <ada@example.com>`. */
  from: string
  subject: string
  replyTo: string[]
  /** The line that lists of emails show after the subject. */
  previewText: string | null
  html: string | null
  /** Null: made from the html. Empty: there is none. */
  text: string | null
}

/** What made a brake pause a broadcast. */
export interface PauseFigures {
  /** Bounced or complained. */
  count: number
  /** Of the last so many. */
  of: number
}

/** Emails of a broadcast, by what happened to them last. */
export type BroadcastCounts = Partial<Record<string, number>>

/** The last emails that the brakes look at. */
export const BRAKE_WINDOW = 1000
/** Shares that pause a broadcast, and the least number before one does. */
const BRAKES = {
  bounces: { share: 0.05, least: 10 },
  complaints: { share: 0.003, least: 4 },
} as const

/** Whether the last emails of a broadcast bounced or were complained about so often that it must pause. */
export function brakeOf(
  counts: BroadcastCounts,
): { reason: keyof typeof BRAKES; figures: PauseFigures } | undefined {
  const of = Object.values(counts).reduce<number>((sum, n = 0) => sum + n, 0)
  const seen = { bounces: counts.bounced ?? 0, complaints: counts.complained ?? 0 }
  for (const reason of ['complaints', 'bounces'] as const) {
    const count = seen[reason]
    if (count >= BRAKES[reason].least && count > of * BRAKES[reason].share)
      return { reason, figures: { count, of } }
  }
  return undefined
}

/** Why a broadcast is paused, in a sentence for people. */
export function pauseSentence(reason: PauseReason, figures: PauseFigures | null): string {
  const share = figures ? `${figures.count} of the last ${figures.of} emails` : 'Too many emails'
  switch (reason) {
    case 'person':
      return 'Somebody paused it.'
    case 'bounces':
      return `${share} bounced, which harms your reputation. Check where the addresses come from before you go on.`
    case 'complaints':
      return `${share} were reported as spam. Going on would harm your reputation.`
    case 'late':
      return 'Its time passed more than an hour ago, while the server was down. Send it now, or choose another time.'
    case 'restored':
      return 'It was restored from a backup. Whoever got it after the backup was made would get it again.'
  }
}

/** A schedule that was missed by more than this asks before it sends (milliseconds). */
export const LATE_MS = 3_600_000
/** How long an email of a broadcast is tried (milliseconds): an offer that comes days late does harm. */
export const BROADCAST_LIFETIME_MS = 48 * 3_600_000

/** The domain of an address, lower case. */
export const addressDomain = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** What became of the emails to one provider. */
export interface ProviderResult {
  /** Empty: providers that are not known yet. */
  provider: string
  emails: number
  /** In the queue, also those that are retried. */
  waiting: number
  /** Of those in the queue, the ones that a provider asked to try later. */
  deferred: number
  delivered: number
  bounced: number
  complained: number
}

/** Something to know before a draft is sent. */
export interface BroadcastFinding {
  id: string
  /** `block`: it cannot be sent from the dashboard. `attention`: look at it. `pass`: all is well. */
  verdict: 'block' | 'attention' | 'pass'
  /** A sentence. */
  note: string
  /** What to do about it; null: nothing. */
  fix: string | null
}

/** A look at a draft before it is sent. */
export interface Review {
  findings: BroadcastFinding[]
  recipients: {
    /** Contacts of the segment. */
    contacts: number
    eligible: number
    out: Record<'unsubscribed' | 'topic' | 'suppressed' | 'excluded', number>
    /** Whether the numbers are estimated from the first contacts. */
    estimated: boolean
  }
  /** Eligible contacts by provider; empty: not known yet. The largest first. */
  providers: { provider: string; contacts: number }[]
  /** The pool of source addresses that it would leave from. */
  pool: string
  /** Tags with the number of looked-at contacts that have no value of their own. */
  tags: { key: string; fallback: string | null; missing: number; known: boolean }[]
  /** Eligible contacts that were looked at. */
  looked: number
  /** Some of the contacts, with what they would get. */
  samples: { email: string; subject: string; text: string }[]
}
