/** Shared types of the audience, and the rules on who may undo an opt-out. Pure. */
import type { Cause } from './verdict.ts'

/** A contact's choice for a topic, or for all mail. */
export const SUBSCRIPTIONS = ['opt_in', 'opt_out'] as const
export type Subscription = (typeof SUBSCRIPTIONS)[number]

/** public: everyone sees it on the preference page · private: only its subscribers see it. */
export const VISIBILITIES = ['public', 'private'] as const
export type Visibility = (typeof VISIBILITIES)[number]

export const PROPERTY_TYPES = ['string', 'number'] as const
export type PropertyType = (typeof PROPERTY_TYPES)[number]
export type PropertyValue = string | number

/**
 * Who decided to change a subscription. person: the contact, by a link, a page or a reply · api: an app · import: a
 * file · complaint: a spam report · operator: a team member in the dashboard or on the command line.
 */
export const CONSENT_ORIGINS = ['person', 'api', 'import', 'complaint', 'operator'] as const
export type ConsentOrigin = (typeof CONSENT_ORIGINS)[number]

/** Who changes a subscription, and how. Recorded in the consent log. */
export interface ConsentContext {
  origin: ConsentOrigin
  /** The channel: `api`, `dashboard`, `one_click`, `preferences`, `import`, … */
  via: string
  /** The API key, user, import or email that caused it; null for none. */
  source: string | null
  ip: string | null
  userAgent: string | null
  /** Id of the text that the person saw; null for none. */
  wording: string | null
  /**
   * Whether the act may undo an opt-out: an explicit change of one contact, or the person's own choice. Creating an
   * existing contact again and imports never do.
   */
  lifts: boolean
}

/** When someone opted out, and who decided it. */
export interface OptOut {
  /** Unix milliseconds. */
  at: number
  origin: ConsentOrigin
}

/** An explicit choice for a topic. */
export interface TopicChoice {
  topicId: string
  subscription: Subscription
  origin: ConsentOrigin
  /** Unix milliseconds. */
  changedAt: number
}

/**
 * Computes the opt-out of all mail after a change. It stays unless the act may undo opt-outs; the first opt-out keeps
 * its time and origin.
 * @param unsubscribed the requested value; undefined for no change
 */
export function computeOptOut(
  current: OptOut | null,
  unsubscribed: boolean | undefined,
  act: Pick<ConsentContext, 'origin' | 'lifts'>,
  now: number,
): OptOut | null {
  if (unsubscribed === undefined) return current
  if (unsubscribed) return current ?? { at: now, origin: act.origin }
  return act.lifts ? null : current
}

/** Whether a choice for a topic may replace the previous one; undefined when there was none. */
export function mayReplaceChoice(
  current: Pick<TopicChoice, 'subscription'> | undefined,
  asked: Subscription,
  act: Pick<ConsentContext, 'lifts'>,
): boolean {
  if (current?.subscription === asked) return false
  return current?.subscription !== 'opt_out' || act.lifts
}

/** Returns whether a contact gets a topic: their choice, or the topic's default. */
export const effectiveSubscription = (
  choice: Pick<TopicChoice, 'subscription'> | undefined,
  topic: { defaultSubscription: Subscription },
): Subscription => choice?.subscription ?? topic.defaultSubscription

/**
 * Returns the cause of a delivery suppressed because the recipient opted out.
 * @param topic null for an opt-out of all mail; `chosen`: by the contact's choice, not the topic's default
 */
export function createOptOutCause(topic: { name: string; chosen: boolean } | null): Cause {
  const why = topic
    ? `the recipient ${topic.chosen ? 'unsubscribed from' : "isn't subscribed to"} the topic "${topic.name}"`
    : 'the recipient unsubscribed from everything'
  const note = `Not sent: ${why}.`
  // Delivery not authorized (RFC 3463 §3.8).
  return { phase: 'queue', host: null, ip: null, reply: null, status: '5.7.1', note, by: 'recipient' }
}

/** The cause of a broadcast's delivery that was canceled because its contact was deleted or has a new address. */
export const deletedContactCause: Cause = {
  phase: 'queue',
  host: null,
  ip: null,
  reply: null,
  status: '5.7.1',
  by: 'recipient',
  note: 'Not sent: the contact was deleted, or has another address by now.',
}

/** Keys with a special meaning in templates and broadcasts. */
export const RESERVED_KEYS = [
  'FIRST_NAME',
  'LAST_NAME',
  'EMAIL',
  'UNSUBSCRIBE_URL',
  'RESEND_UNSUBSCRIBE_URL',
  'POSTHASTE_ARCHIVE_URL',
  'contact',
  'this',
] as const

/** A contact in an event's payload. */
export interface EventContact {
  id: string
  email: string
  firstName: string | null
  lastName: string | null
  unsubscribed: boolean
  segmentIds: string[]
  /** Unix milliseconds. */
  createdAt: number
  updatedAt: number
}

/** A topic in an event's payload. */
export interface EventTopic {
  id: string
  name: string
  description: string | null
  defaultSubscription: Subscription
  deleted: boolean
  /** Unix milliseconds. */
  createdAt: number
  updatedAt: number
}

/** The changed topic choices in an event's payload. */
export interface EventChoices {
  email: string
  topics: { id: string; subscription: Subscription }[]
}
