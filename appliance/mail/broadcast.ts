/** Shared vocabulary of broadcasts: states, content, and why one pauses. Pure. */
import type { AbTest } from './ab-test.ts'
import type { Insight } from './insight.ts'

/** States in the API. `queued`: sending, or paused while sending. */
export const BROADCAST_STATUSES = ['draft', 'scheduled', 'queued', 'sent', 'canceled', 'failed'] as const
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number]

/**
 * `late`: its time passed while the server was down. `restored`: it comes from a backup and may have been sent since.
 */
export type PauseReason = 'person' | 'bounces' | 'complaints' | 'late' | 'restored'

/** Why a contact of the segment is skipped. */
export const SKIP_REASONS = ['unsubscribed', 'topic', 'deleted', 'canceled'] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** What a person did with a broadcast. A copy can leave out those who did. */
export const DEEDS = ['opened', 'clicked'] as const
export type Deed = (typeof DEEDS)[number]

/** The content of a draft. */
export interface BroadcastContent {
  /** As in a From header: `Ada <ada@example.com>`. */
  from: string
  subject: string
  replyTo: string[]
  /** The text that mail clients show after the subject in lists. */
  previewText: string | null
  html: string | null
  /** Null: generated from the HTML. Empty: no text part. */
  text: string | null
  /** Null or absent: no A/B test. */
  abTest?: AbTest | null
}

/** The figures that made a brake pause a broadcast. */
export interface PauseFigures {
  /** Emails that bounced or were complained about. */
  count: number
  /** Out of this many recent emails. */
  of: number
}

/** Emails of a broadcast by their last event. */
export type BroadcastCounts = Partial<Record<string, number>>

/** Numbers of recipients, not of emails. */
export interface BroadcastReach {
  opened: number
  clicked: number
  unsubscribed: number
}
export const NO_REACH: BroadcastReach = { opened: 0, clicked: 0, unsubscribed: 0 }

/** Explains in a sentence why a broadcast is paused. */
export function pauseSentence(reason: PauseReason, figures: PauseFigures | null): string {
  const share = figures ? `${figures.count} of the last ${figures.of} emails` : 'Too many emails'
  switch (reason) {
    case 'person':
      return 'Somebody paused it.'
    case 'bounces':
      return `${share} bounced, which harms your reputation. Check where the addresses come from before you continue.`
    case 'complaints':
      return `${share} were reported as spam. Continuing would harm your reputation.`
    case 'late':
      return 'Its time passed more than an hour ago, while the server was down. Send it now, or choose another time.'
    case 'restored':
      return 'It was restored from a backup. Contacts who got it after the backup would get it again.'
  }
}

/** Says what happens to the emails that are on the wire when a broadcast pauses. */
export const onTheWire = (count: number): string =>
  count === 1
    ? '1 email is in flight and will still be sent.'
    : `${count.toLocaleString('en')} emails are in flight and will still be sent.`

/** A schedule missed by more than this waits for confirmation (milliseconds). */
export const LATE_MS = 3_600_000
/** Retry period of a broadcast's emails (milliseconds). An offer that arrives days late does harm. */
export const BROADCAST_LIFETIME_MS = 48 * 3_600_000

/** Returns the domain of an address in lower case. */
export const addressDomain = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** The outcome of the emails to one provider. */
export interface ProviderResult {
  /** Empty for providers that aren't known yet. */
  provider: string
  /** The pool that they leave from. */
  pool: string
  emails: number
  /** In the queue, including deferred ones. */
  waiting: number
  /** In the queue, and deferred by the provider. */
  deferred: number
  delivered: number
  bounced: number
  complained: number
}

/** Totals at a time after sending began. */
export interface CurvePoint {
  /** Unix milliseconds. */
  at: number
  delivered: number
  /** Recipients that opened it, and that clicked. */
  opened: number
  clicked: number
}

/** Medians of the rates of earlier broadcasts, 0 to 1; null if there are none. */
export interface EarlierRates {
  /** Number of broadcasts that were compared. */
  broadcasts: number
  /** Of the emails that were tried. */
  delivered: number | null
  bounced: number | null
  /** Of the emails that were delivered. */
  opened: number | null
  clicked: number | null
  unsubscribed: number | null
  complained: number | null
}

/** Whether a contact would get a draft: `eligible`, or the first reason against it. */
export const RECIPIENT_PREVIEWS = [
  'eligible',
  'not_in_segment',
  'excluded',
  'unsubscribed',
  'topic',
  'suppressed',
] as const
export type RecipientPreview = (typeof RECIPIENT_PREVIEWS)[number]

/** How many contacts each provider would get of a broadcast to all of a segment. */
export interface SegmentReach {
  /** The pool that broadcasts of the team leave from, unless their domain has another one. */
  pool: string
  /** Contacts of the segment. */
  contacts: number
  /** Those who are neither unsubscribed nor suppressed. */
  eligible: number
  /** Whether the numbers are estimated from the contacts that were examined. */
  estimated: boolean
  /** The largest first. Empty name: not known until the first emails were sent there. */
  providers: { provider: string; contacts: number }[]
}

/**
 * What a link of a draft leads to. `merge_tag`: another address for each recipient. `other`: no web address, such as
 * mailto.
 */
export const LINK_KINDS = ['web', 'unsubscribe', 'merge_tag', 'other'] as const

/** A link of a draft. */
export interface DraftLink {
  /** What readers click, or the description of the image; empty if there is neither. */
  text: string
  url: string
  kind: (typeof LINK_KINDS)[number]
  /** How often it is in the content. */
  count: number
}

/** The review of a draft before sending. */
export interface Review {
  findings: Insight[]
  recipients: {
    /** Contacts in the segment. */
    contacts: number
    eligible: number
    out: Record<'unsubscribed' | 'topic' | 'suppressed' | 'excluded', number>
    /** Whether the numbers are estimates from the first contacts. */
    estimated: boolean
  }
  /** Eligible contacts by provider, largest first; empty while unknown. */
  providers: { provider: string; contacts: number }[]
  /** The pool it would be sent from. */
  pool: string
  /** Emails per hour at most; null: as fast as the lanes allow. */
  hourlyRate: number | null
  /** Scheduled time (Unix milliseconds); null if it isn't scheduled. */
  scheduledAt: number | null
  /** How long the rest waits for the winner of an A/B test, in hours; 0 without one. */
  waitHours: number
  links: DraftLink[]
  /** Merge tags with how many checked contacts lack a value of their own. */
  tags: { key: string; fallback: string | null; missing: number; known: boolean }[]
  /** Eligible contacts that were checked. */
  looked: number
  /** Some contacts, with the email each would get. */
  samples: { email: string; subject: string; text: string }[]
}
