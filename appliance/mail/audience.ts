/** The words of an audience, and the rules about who may undo an opt-out. Pure. */
import type { Cause } from './verdict.ts'

/** What somebody chose for a topic, or for everything. */
export const SUBSCRIPTIONS = ['opt_in', 'opt_out'] as const
export type Subscription = (typeof SUBSCRIPTIONS)[number]

/** public: shown to everybody on the preference page · private: only to those who are subscribed. */
export const VISIBILITIES = ['public', 'private'] as const
export type Visibility = (typeof VISIBILITIES)[number]

export const PROPERTY_TYPES = ['string', 'number'] as const
export type PropertyType = (typeof PROPERTY_TYPES)[number]
export type PropertyValue = string | number

/**
 * Whose decision a change of a subscription was. person: the contact, by a link, a page or a reply · api: an app · import: a file ·
 * complaint: a spam report · operator: a member of the team in the dashboard or on the command line.
 */
export const CONSENT_ORIGINS = ['person', 'api', 'import', 'complaint', 'operator'] as const
export type ConsentOrigin = (typeof CONSENT_ORIGINS)[number]

/** Who changes a subscription, and how. Goes into the consent log. */
export interface ConsentAct {
  origin: ConsentOrigin
  /** The means, in a word: `api`, `dashboard`, `one_click`, `preferences`, `import`, … */
  via: string
  /** The API key, user, import or email that it came from; null: none. */
  source: string | null
  ip: string | null
  userAgent: string | null
  /** Id of the text that the person saw; null: none. */
  wording: string | null
  /**
   * Whether the act may lift an opt-out: an explicit change of one contact, or the person's own choice. Creating a contact
   * again and imports never lift one.
   */
  lifts: boolean
}

/** Since when somebody gets nothing, and whose decision that was. */
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
 * The opt-out of everything after a change. Who is opted out stays so unless the act lifts opt-outs; the first opt-out keeps
 * its time and origin.
 * @param unsubscribed what the change asks for; undefined: nothing
 */
export function optOutAfter(
  current: OptOut | null,
  unsubscribed: boolean | undefined,
  act: Pick<ConsentAct, 'origin' | 'lifts'>,
  now: number,
): OptOut | null {
  if (unsubscribed === undefined) return current
  if (unsubscribed) return current ?? { at: now, origin: act.origin }
  return act.lifts ? null : current
}

/** Whether a choice for a topic may replace the one before; undefined: there was none. */
export function mayChoose(
  current: Pick<TopicChoice, 'subscription'> | undefined,
  asked: Subscription,
  act: Pick<ConsentAct, 'lifts'>,
): boolean {
  if (current?.subscription === asked) return false
  return current?.subscription !== 'opt_out' || act.lifts
}

/** What a contact gets of a topic: their choice, or else the topic's default. */
export const effectiveSubscription = (
  choice: Pick<TopicChoice, 'subscription'> | undefined,
  topic: { defaultSubscription: Subscription },
): Subscription => choice?.subscription ?? topic.defaultSubscription

/**
 * The cause of a delivery that is not made because the recipient opted out.
 * @param topic null: of everything; `chosen`: by a choice of their own rather than the topic's default
 */
export function optedOutCause(topic: { name: string; chosen: boolean } | null): Cause {
  const why = topic
    ? `the recipient ${topic.chosen ? 'unsubscribed from' : "isn't subscribed to"} the topic "${topic.name}"`
    : 'the recipient unsubscribed from everything'
  const note = `Not sent: ${why}.`
  // RFC 3463 §3.8: delivery not authorised.
  return { phase: 'queue', host: null, ip: null, reply: null, status: '5.7.1', note, by: 'recipient' }
}

/** The cause of a delivery of a broadcast whose contact was deleted, or has another address by now. */
export const deletedCause: Cause = {
  ...{ phase: 'queue', host: null, ip: null, reply: null, status: '5.7.1', by: 'recipient' },
  note: 'Not sent: the contact was deleted, or has another address by now.',
}

/** Names that mean something else in templates and broadcasts. */
export const RESERVED_KEYS = [
  'FIRST_NAME',
  'LAST_NAME',
  'EMAIL',
  'UNSUBSCRIBE_URL',
  'RESEND_UNSUBSCRIBE_URL',
  'contact',
  'this',
] as const

/** A contact as an event describes it. */
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

/** A topic as an event describes it. */
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

/** Choices for topics that an event reports: only those that changed. */
export interface EventChoices {
  email: string
  topics: { id: string; subscription: Subscription }[]
}
