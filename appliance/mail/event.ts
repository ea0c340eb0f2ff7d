import type { EventChoices, EventContact, EventTopic } from './audience.ts'
import type { Category, SubType } from './bounce.ts'
import type { ToldReceived } from './inbound.ts'
import type { Cause } from './verdict.ts'

/** What can happen to an email, under the names the webhooks use (reference: wire format §5.2). */
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

/** What can happen to other things that apps are told of. */
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
] as const
export type EventType = EmailEventType | (typeof OTHER_EVENTS)[number]

/** A sending domain as an event tells of it: as it was at that time. */
export interface ToldDomain {
  id: string
  name: string
  status: string
  region: string
  /** Unix milliseconds. */
  createdAt: number
  sending: boolean
  receiving: boolean
  /** The records to publish, without advice such as DMARC. */
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

/** An entry of the suppression list as an event tells of it. */
export interface ToldSuppression {
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

/** What an event tells beside its type; all of it optional but the cause where there was one. */
export interface EventData {
  recipient?: string
  /** Opens and clicks: it was a machine (a privacy proxy, a scanner), which is counted apart. Not on the wire. */
  robot?: true
  /** Opens and clicks: the machine, or the proxy that a person's program hides behind. Not on the wire. */
  seenBy?: string
  /** Opens: who did, as far as can be told. The address is empty where it is not kept. */
  open?: { ipAddress: string; timestamp: string; userAgent: string }
  /** Clicks: the same, and where the link leads. */
  click?: { ipAddress: string; timestamp: string; userAgent: string; link: string }
  cause?: Cause
  /** Bounces: the class on the wire. */
  bounce?: {
    type: 'Permanent' | 'Transient' | 'Undetermined'
    subType: SubType | 'Undetermined'
    message: string
    diagnosticCode: string[]
    /** What it is about. Not on the wire, whose bounces have the four properties above. */
    category?: Category
    /** The recipient's address is dead and belongs on the suppression list, it alone. Not on the wire. */
    suppress?: true
  }
  /** Complaints: who told, in a sentence. Not on the wire. */
  complaint?: { source: string }
  /** Failures: the reason in a word or a sentence. */
  failed?: { reason: string }
  /** Suppressions: why, in the words of the wire format; `reason` is null for an address put on the list by hand. */
  suppressed?: {
    message: string
    type: 'Suppressed' | 'OnAccountSuppressionList'
    reason: 'previous_bounce' | 'previous_complaint' | null
  }
  /** Delays: the number of the attempt, and when the next one is due (Unix milliseconds). */
  delay?: { attempt: number; nextAttemptAt: number }
  /** Events about a domain. */
  domain?: ToldDomain
  /** Events about the suppression list. */
  suppression?: ToldSuppression
  /** Events about a contact. */
  contact?: EventContact
  /** Events about a topic. */
  topic?: EventTopic
  /** `email.received`. */
  received?: ToldReceived
  /** `contact.topics.updated`. */
  choices?: EventChoices
}

/** The `last_event` that an event leaves behind: its type without the noun. */
export function lastEventOf(type: EmailEventType): LastEvent {
  return type.slice('email.'.length) as LastEvent
}
