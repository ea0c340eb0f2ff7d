import type { Alert } from './alert.ts'
import type { EventChoices, EventContact, EventTopic } from './audience.ts'
import type { BounceCategory, BounceSubtype } from './bounce.ts'
import type { EventReceivedEmail } from './inbound.ts'
import type { Cause } from './verdict.ts'

/** Email events, under the names that webhooks use (reference: wire format §5.2). */
export const EMAIL_EVENTS = [
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.complained',
  'email.bounced',
  'email.failed',
  'email.suppressed',
  'email.opened',
  'email.clicked',
] as const
export type EmailEventType = (typeof EMAIL_EVENTS)[number]

/** Events about other objects that webhooks report. */
export const OTHER_EVENTS = [
  'email.received',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'suppression.added',
  'suppression.removed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.topics.updated',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'alert.opened',
  'alert.closed',
] as const
export type EventType = EmailEventType | (typeof OTHER_EVENTS)[number]

/** A sending domain in an event's payload, as of that time. */
export interface EventDomain {
  id: string
  name: string
  status: string
  region: string
  /** Unix milliseconds. */
  createdAt: number
  sending: boolean
  receiving: boolean
  /** The records to publish, without recommendations such as DMARC. */
  records: {
    record: string
    name: string
    type: string
    value: string
    /** Preference of an MX record; null for the others. */
    priority: number | null
    status: string
  }[]
}

/** A suppression in an event's payload. */
export interface EventSuppression {
  id: string
  email: string
  origin: string
  sourceId: string | null
  /** Unix milliseconds. */
  createdAt: number
}

/** Every value that `last_event` of an email can have (reference: wire format §7). */
export const LAST_EVENTS = [
  'queued',
  'scheduled',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'complained',
  'opened',
  'clicked',
  'failed',
  'canceled',
  'suppressed',
] as const
export type LastEvent = (typeof LAST_EVENTS)[number]

/** The payload of an event apart from its type. Everything is optional except the cause when there was one. */
export interface EventData {
  recipient?: string
  /** For opens and clicks by a bot (a privacy proxy or scanner), which are counted separately. Not on the wire. */
  robot?: true
  /** For opens and clicks: the bot, or the proxy of a person's mail client. Not on the wire. */
  seenBy?: string
  /** For opens: data about who opened the email. The IP address is empty when it isn't stored. */
  open?: { ipAddress: string; timestamp: string; userAgent: string }
  /** For clicks: the same data about who clicked, and the target of the link. */
  click?: { ipAddress: string; timestamp: string; userAgent: string; link: string }
  cause?: Cause
  /** For bounces: the class on the wire. */
  bounce?: {
    type: 'Permanent' | 'Transient' | 'Undetermined'
    subType: BounceSubtype | 'Undetermined'
    message: string
    diagnosticCode: string[]
    /** The category of the bounce. Not on the wire, where bounces have only the four properties above. */
    category?: BounceCategory
    /** The recipient's address doesn't exist and belongs on the suppression list. Not on the wire. */
    suppress?: true
  }
  /** For complaints: who reported it, in a sentence. Not on the wire. */
  complaint?: { source: string }
  /** For failures: the reason in a word or a sentence. */
  failed?: { reason: string }
  /**
   * For suppressions: the reason in the wire format's terms; `reason` is null for an address that was added by hand.
   */
  suppressed?: {
    message: string
    type: 'Suppressed' | 'OnAccountSuppressionList'
    reason: 'previous_bounce' | 'previous_complaint' | null
  }
  /** For delays: the number of the attempt, and when the next one is due (Unix milliseconds). */
  delay?: { attempt: number; nextAttemptAt: number }
  /** The domain, for domain events. */
  domain?: EventDomain
  /** The suppression, for suppression events. */
  suppression?: EventSuppression
  /** The contact, for contact events. */
  contact?: EventContact
  /** The topic, for topic events. */
  topic?: EventTopic
  /** The received email, for `email.received`. */
  received?: EventReceivedEmail
  /** For alerts. */
  alert?: Alert
  /** The changed choices, for `contact.topics.updated`. */
  choices?: EventChoices
}

/** Returns the `last_event` after an event: its type without the noun. */
export function toLastEvent(type: EmailEventType): LastEvent {
  return type.slice('email.'.length) as LastEvent
}

/** Events of one recipient, so that the mailbox provider is known. */
export const RECIPIENT_COUNTERS = [
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
const EMAIL_COUNTERS = ['sent', 'opened', 'clicked', 'opened_by_robots', 'clicked_by_robots'] as const

/** All counters that can be queried. */
export const EVENT_COUNTERS = [...RECIPIENT_COUNTERS, ...EMAIL_COUNTERS] as const
export type EventCounter = (typeof EVENT_COUNTERS)[number]

/** Returns the counter for bounces of a category (mail/bounce.ts). */
export const getBounceCategoryCounter = (category: string): string => `bounced_about_${category}`
