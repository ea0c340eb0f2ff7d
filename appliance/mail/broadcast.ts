/** Shared types of broadcasts: states, content, and reasons for a pause. Pure. */
import type { AbTest } from './ab-test.ts'
import type { Insight } from './insight.ts'

/** States in the API. `queued`: sending, or paused while sending. */
export const BROADCAST_STATUSES = ['draft', 'scheduled', 'queued', 'sent', 'canceled', 'failed'] as const
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number]

/**
 * `late`: the scheduled time passed while the server was down. `restored`: the broadcast comes from a backup and may
 * have been sent since.
 */
export type PauseReason = 'person' | 'bounces' | 'complaints' | 'late' | 'restored'

/** Why a contact of the segment is skipped. */
export const SKIP_REASONS = ['unsubscribed', 'topic', 'deleted', 'canceled'] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** A contact's reactions to a broadcast. A copy can exclude the contacts with one of them. */
export const BROADCAST_ACTIONS = ['opened', 'clicked'] as const
export type BroadcastAction = (typeof BROADCAST_ACTIONS)[number]

/** The content of a draft. */
export interface BroadcastContent {
  /** Formatted as in a From header: `Ada <ada@example.com>`. */
  from: string
  subject: string
  replyTo: string[]
  /** The text that mail clients show after the subject in lists. */
  previewText: string | null
  html: string | null
  /** The text part; null to generate it from the HTML, empty for none. */
  text: string | null
  /** Null or absent: no A/B test. */
  abTest?: AbTest | null
}

/** The figures that caused an automatic pause. */
export interface PauseFigures {
  /** Number of emails that bounced or caused a complaint. */
  count: number
  /** Number of recent emails that were considered. */
  of: number
}

/** Numbers of a broadcast's emails by last event. */
export type BroadcastCounts = Partial<Record<string, number>>

/** Numbers of recipients (not emails) with a reaction. */
export interface BroadcastReach {
  opened: number
  clicked: number
  unsubscribed: number
}
export const NO_REACH: BroadcastReach = { opened: 0, clicked: 0, unsubscribed: 0 }

/** Explains in a sentence why a broadcast is paused. */
export function explainPause(reason: PauseReason, figures: PauseFigures | null): string {
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

/** Describes what happens to the emails in flight when a broadcast pauses. */
export const describeInFlight = (count: number): string =>
  count === 1
    ? '1 email is in flight and will still be sent.'
    : `${count.toLocaleString('en')} emails are in flight and will still be sent.`

/** Delay after which a missed broadcast waits for confirmation instead of being sent (milliseconds). */
export const LATE_MS = 3_600_000
/** Retry period of a broadcast's emails (milliseconds). An offer that arrives days late does harm. */
export const BROADCAST_LIFETIME_MS = 48 * 3_600_000

/** Returns the domain of an address in lower case. */
export const getAddressDomain = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** The outcome of the emails to one provider. */
export interface ProviderResult {
  /** Provider ID; empty if the provider isn't known yet. */
  provider: string
  /** The pool that the emails are sent from. */
  pool: string
  emails: number
  /** Number of queued emails, including deferred ones. */
  waiting: number
  /** Number of queued emails that the provider deferred. */
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
  /** Numbers of recipients that opened the broadcast, and that clicked a link. */
  opened: number
  clicked: number
}

/** Medians of the rates of earlier broadcasts, 0 to 1; null if there are none. */
export interface EarlierRates {
  /** Number of broadcasts that were compared. */
  broadcasts: number
  /** Rates of the attempted emails. */
  delivered: number | null
  bounced: number | null
  /** Rates of the delivered emails. */
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

/** Number of contacts per provider that would get a broadcast to a whole segment. */
export interface SegmentReach {
  /** The pool that the team's broadcasts are sent from, unless their domain has another one. */
  pool: string
  /** Number of contacts in the segment. */
  contacts: number
  /** Number of contacts that are neither unsubscribed nor suppressed. */
  eligible: number
  /** Whether the numbers are estimated from the contacts that were examined. */
  estimated: boolean
  /**
   * Largest first. An empty name stands for domains whose provider isn't known until the first emails are sent to them.
   */
  providers: { provider: string; contacts: number }[]
}

/**
 * The target of a link in a draft. `merge_tag`: a different address for each recipient. `other`: not a web address,
 * such as mailto.
 */
export const LINK_KINDS = ['web', 'unsubscribe', 'merge_tag', 'other'] as const

/** A link in a draft. */
export interface DraftLink {
  /** The text that readers click, or the alternative text of the image; empty if there is neither. */
  text: string
  url: string
  kind: (typeof LINK_KINDS)[number]
  /** Number of occurrences in the content. */
  count: number
}

/** The review of a draft before sending. */
export interface Review {
  findings: Insight[]
  recipients: {
    /** Number of contacts in the segment. */
    contacts: number
    eligible: number
    out: Record<'unsubscribed' | 'topic' | 'suppressed' | 'excluded', number>
    /** Whether the numbers are estimates from the first contacts. */
    estimated: boolean
  }
  /** Eligible contacts by provider, largest first; empty while unknown. */
  providers: { provider: string; contacts: number }[]
  /** The pool that the broadcast would be sent from. */
  pool: string
  /** Maximum number of emails per hour; null for as fast as the lanes allow. */
  hourlyRate: number | null
  /** Scheduled time (Unix milliseconds); null if it isn't scheduled. */
  scheduledAt: number | null
  /** How long the rest waits for the winner of an A/B test, in hours; 0 without one. */
  waitHours: number
  links: DraftLink[]
  /** Merge tags, with the number of checked contacts that have no value of their own. */
  tags: { key: string; fallback: string | null; missing: number; known: boolean }[]
  /** Number of eligible contacts that were checked. */
  looked: number
  /** Some contacts, with the email that each would get. */
  samples: { email: string; subject: string; text: string }[]
}
