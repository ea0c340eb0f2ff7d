/** Texts about contacts: consent and bulk actions. Pure. */
import type { ContactBroadcasts } from '../../../appliance/api/broadcast-review.ts'
import type { ContactBatchAction, ContactBatchFilter } from '../../../appliance/api/contact-batches.ts'
import type { ContactConsent, ContactTopicSummary } from '../../../appliance/api/contact-details.ts'
import type { Static } from 'typebox'
import type { ContactProperty, ContactPropertySummary } from '../../../appliance/api/contact-properties.ts'
import type { FoundContact } from '../../../appliance/api/contacts.ts'
import type { FoundEmail } from '../../../appliance/api/email-search.ts'
import type { ContactRun } from '../../../appliance/api/contact-automations.ts'
import type { SegmentDays } from '../../../appliance/api/segment-reach.ts'
import { parseContactRules } from './contact-rules.ts'
import { listRunEntries, type RunEntry } from './contact-runs.ts'
import { parseInstant } from './time.ts'

type PropertyExamples = Static<typeof ContactProperty>['examples']
type PropertyUses = Static<typeof ContactProperty>['used_in']

/** The origin of a decision, in words that follow “by”. */
export const CONSENT_ORIGIN_LABELS: Record<ContactConsent['origin'], string> = {
  person: 'the contact',
  api: 'an app',
  import: 'an import',
  complaint: 'a spam report',
  operator: 'a team member',
}

/** Descriptions of whether a contact would get a broadcast. */
export const PROSPECT_LABELS: Record<ContactBroadcasts['data'][number]['prospect'], string> = {
  eligible: 'would get it',
  not_in_segment: 'not in its segment',
  excluded: 'in an excluded segment',
  unsubscribed: 'unsubscribed',
  topic: 'opted out of its topic',
  suppressed: 'address suppressed',
}

/** When a person last opened or clicked, whichever is later; null if never. */
export function getLastOpenOrClick({
  last_opened_at: opened,
  last_clicked_at: clicked,
}: Pick<FoundContact, 'last_opened_at' | 'last_clicked_at'>): { did: string; at: string } | null {
  if (clicked !== null && (opened === null || parseInstant(clicked) >= parseInstant(opened)))
    return { did: 'Clicked', at: clicked }
  return opened === null ? null : { did: 'Opened', at: opened }
}

/** Descriptions of how a change was made, if that adds information. */
const VIA: Record<string, string> = {
  one_click: ' with one click in their mail app',
  preferences: ' on the preference page',
}

/**
 * Describes a change of a subscription.
 * @param topic the topic's name; undefined if it was deleted
 */
export function describeConsent(
  { topic_id: about, subscription, origin, via }: ContactConsent,
  topic: string | undefined,
): string {
  const what =
    about === null ? '' : ` ${subscription === 'opt_in' ? 'to' : 'from'} ${topic ?? 'a deleted topic'}`
  const did = subscription === 'opt_in' ? 'Subscribed' : 'Unsubscribed'
  return `${did}${what} by ${CONSENT_ORIGIN_LABELS[origin]}${VIA[via] ?? ''}`
}

/**
 * Explains why a contact receives a topic or not.
 * @param fallback the topic's default
 */
export function explainTopic({ chosen_by: by, subscription }: ContactTopicSummary): string {
  if (by === null) return subscription === 'opt_in' ? 'Topic default: everyone' : 'Topic default: nobody'
  return by === 'person' ? 'Their own choice' : `Set by ${CONSENT_ORIGIN_LABELS[by]}`
}

/** Formats a number of contacts. */
export const formatContactCount = (count: number): string =>
  count === 1 ? '1 contact' : `${count.toLocaleString('en')} contacts`

/** Maximum number of uses of each kind that the server lists. */
const MOST_USES = 20

const USES = [
  ['template', '1 template', 'templates'],
  ['broadcast', '1 draft', 'drafts'],
  ['segment', '1 segment', 'segments'],
  ['form', '1 form', 'forms'],
  ['automation', '1 automation', 'automations'],
] as const

/** Counts the objects that use a property, such as `2 templates, 1 draft`. */
export function describeUses(uses: readonly Pick<PropertyUses[number], 'object'>[]): string {
  const parts = USES.flatMap(([kind, one, many]) => {
    const n = uses.filter(({ object }) => object === kind).length
    if (n === 0) return []
    return [n === 1 ? one : `${n}${n === MOST_USES ? '+' : ''} ${many}`]
  })
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

/** Lists examples of a property, such as `pro, free`. */
export const formatExamples = (examples: PropertyExamples): string =>
  examples.length === 0 ? 'none' : examples.join(', ')

/** A bulk action on contacts, with its texts. */
export interface ContactActionItem {
  action: ContactBatchAction
  /** The label of the action's button. */
  words: string
  /** The title of the action's dialog. */
  title: string
  /** The confirmation, worded to follow `12 contacts`. */
  done: string
  /** The type of object that must be selected first. */
  needs?: 'segment' | 'topic'
  /** The effect of the action, as a sentence. */
  effect: string
  danger?: true
}

export const CONTACT_ACTIONS: readonly ContactActionItem[] = [
  {
    action: 'add_to_segment',
    words: 'Add to segment',
    title: 'Add contacts to a segment',
    done: 'added to the segment.',
    needs: 'segment',
    effect: 'Contacts that are already in it stay there.',
  },
  {
    action: 'remove_from_segment',
    words: 'Remove from segment',
    title: 'Remove contacts from a segment',
    done: 'removed from the segment.',
    needs: 'segment',
    effect: 'The contacts themselves stay.',
  },
  {
    action: 'opt_in',
    words: 'Subscribe to topic',
    title: 'Subscribe contacts to a topic',
    done: 'subscribed to the topic, except those that opted out of it.',
    needs: 'topic',
    effect: 'Contacts that opted out of the topic or of everything stay opted out.',
  },
  {
    action: 'opt_out',
    words: 'Unsubscribe from topic',
    title: 'Unsubscribe contacts from a topic',
    done: 'unsubscribed from the topic.',
    needs: 'topic',
    effect: 'They no longer get mail about it.',
  },
  {
    action: 'unsubscribe',
    words: 'Unsubscribe',
    title: 'Unsubscribe contacts',
    done: 'unsubscribed.',
    effect: 'They no longer get broadcasts. You can subscribe them again only one by one.',
    danger: true,
  },
  {
    action: 'delete',
    words: 'Delete',
    title: 'Delete contacts',
    done: 'deleted.',
    effect: 'Their properties and segments are lost. Their opt-outs are kept in case they’re added again.',
    danger: true,
  },
]

/** Growth of a segment. */
export interface Growth {
  /** Sizes by day, oldest first. A day without a recorded size has the size of the previous day. */
  values: number[]
  words: string
}

/** Describes the growth of a segment, such as `120 contacts more than on 2026-01-02`. */
export function computeGrowth(days: SegmentDays['days']): Growth {
  const values: number[] = []
  for (const { contacts } of days) values.push(contacts ?? values.at(-1) ?? 0)
  const known = days.filter(({ contacts }) => contacts !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (!first || !last || first === last)
    return { values, words: 'Its growth appears here after a day. Sizes are recorded every hour.' }
  const more = (last.contacts ?? 0) - (first.contacts ?? 0)
  if (more === 0) return { values, words: `As many contacts as on ${first.date}` }
  const compared = more > 0 ? 'more' : 'fewer'
  return { values, words: `${formatContactCount(Math.abs(more))} ${compared} than on ${first.date}` }
}

/**
 * Returns the filter in the query string.
 * @param segment limits the filter to this segment
 */
export function parseContactFilter(query: URLSearchParams, segment?: string): ContactBatchFilter {
  const value = (name: string) => query.get(name) ?? ''
  const [text, status, topic] = [value('q'), value('status'), value('topic')]
  const within = segment ?? value('segment')
  const rules = parseContactRules(query)
  return {
    ...(text !== '' && { text }),
    ...(within !== '' && { segment_id: within }),
    ...((status === 'subscribed' || status === 'unsubscribed') && {
      unsubscribed: status === 'unsubscribed',
    }),
    ...(status === 'suppressed' && { suppressed: true }),
    ...(topic !== '' && {
      topic_id: topic,
      subscription: value('choice') === 'opt_out' ? ('opt_out' as const) : ('opt_in' as const),
    }),
    ...(rules && { rules: { ...rules } }),
  }
}

/** Parses a typed property value. Throws an error with a message if the type is wrong. */
export function parsePropertyValue(
  { key, type }: Pick<ContactPropertySummary, 'key' | 'type'>,
  text: string,
): string | number | null {
  const given = text.trim()
  if (given === '') return null
  if (type === 'string') return given
  const number = Number(given)
  if (Number.isNaN(number)) throw new Error(`${key} must be a number.`)
  return number
}

/** Returns the full name; empty if unknown. */
export const getFullName = ({
  first_name: first,
  last_name: last,
}: Pick<FoundContact, 'first_name' | 'last_name'>) => [first, last].filter(Boolean).join(' ')

/** An entry of a contact's timeline. */
export interface ContactEntry {
  key: string
  /** API timestamp. */
  at: string
  title: string
  /** Text beside the title; may be empty. */
  note: string
  /** The email of this entry; null if the entry isn't about an email. */
  email: { id: string; event: FoundEmail['last_event'] } | null
  optedIn: boolean
  /** The automation run of this entry; null if the entry isn't about a run. */
  run: Pick<RunEntry, 'to' | 'went'> | null
}

type StoryEmail = Pick<FoundEmail, 'id' | 'subject' | 'created_at' | 'last_event' | 'opened' | 'clicked'>

/**
 * Merges emails, subscription changes and automation runs, newest first.
 * @param topics names of existing topics
 */
export function buildContactTimeline(
  emails: readonly StoryEmail[],
  consents: readonly ContactConsent[],
  topics: readonly { id: string; name: string }[],
  runs: readonly ContactRun[],
): ContactEntry[] {
  const names = new Map(topics.map(({ id, name }) => [id, name]))
  const mail = emails.map(({ id, subject, created_at: at, last_event: event, opened, clicked }) => ({
    key: id,
    at,
    title: subject || '(no subject)',
    note: clicked ? 'clicked' : opened ? 'opened' : '',
    email: { id, event },
    optedIn: false,
    run: null,
  }))
  const changes = consents.map((one) => ({
    key: one.id,
    at: one.created_at,
    title: describeConsent(one, names.get(one.topic_id ?? '')),
    note: '',
    email: null,
    optedIn: one.subscription === 'opt_in',
    run: null,
  }))
  const automated = listRunEntries(runs).map(({ to, went, ...entry }) => ({
    ...entry,
    email: null,
    optedIn: false,
    run: { to, went },
  }))
  return [...mail, ...changes, ...automated].sort((a, b) => parseInstant(b.at) - parseInstant(a.at))
}
