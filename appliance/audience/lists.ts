/** Segments, topics and contact properties. */
import { randomBytes } from 'node:crypto'
import {
  type PropertyType,
  type PropertyValue,
  RESERVED_KEYS,
  type Subscription,
  type Visibility,
} from '../mail/audience.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { ContactProperty, CountedTopic, PropertyUse, SizedSegment, Topic } from '../storage/storage.ts'
import { parseText, parseValue } from './values.ts'
import { parseTeamRules, type SegmentSizes } from './rules.ts'
import { type AudienceDeps, segmentNotFound } from './find.ts'

/** Maximum number of segments with rules per team. */
export const MAX_SEGMENTS_WITH_RULES = 100
/** Maximum numbers of objects per team, low enough to read all of them at once. */
const MOST = {
  segments: 1000,
  ruled: MAX_SEGMENTS_WITH_RULES,
  topics: 100,
  properties: 200,
  uses: 20,
  examples: 3,
}

/** How many of the newest contacts are searched for examples of a property. */
const SEARCHED = 1000

/** Maximum lengths in characters. */
const MAX = { segment: 255, topic: 50, description: 200, key: 50 }

/** Number of memberships removed per transaction after a segment was deleted. */
const SWEPT = 1000

export interface SegmentMethods {
  /** Lists the team's segments, newest first. */
  listSegments(args: { teamId: string }): Promise<SizedSegment[]>
  /** Returns a segment. Refuses: `not_found`. */
  getSegment(args: { teamId: string; id: string }): Promise<SizedSegment>
  /**
   * Creates a segment. Refuses: `missing_field`, `invalid_field`, `too_many`.
   * @param args filter: the segment's rules; null if contacts are added by hand
   */
  createSegment(args: { teamId: string; name: string; filter: unknown }): Promise<SizedSegment>
  /**
   * Updates a segment. Refuses: `not_found`, `missing_field`, `invalid_field`.
   * @param args filter: new rules, only for a segment with rules
   */
  updateSegment(args: {
    teamId: string
    id: string
    name?: string | undefined
    filter?: unknown
  }): Promise<void>
  /** Returns the segment's sizes on the last 30 days, today last; null where unknown. Refuses: `not_found`. */
  segmentDays(args: { teamId: string; id: string }): Promise<{ date: string; contacts: number | null }[]>
  /** Deletes a segment but not its contacts. Does nothing if there is no such segment. */
  deleteSegment(args: { teamId: string; id: string }): Promise<void>
}

/** Number of days for which a segment's size is shown, and a day in milliseconds. */
const [DAYS, DAY] = [30, 86_400_000]

export interface TopicMethods {
  /** Lists the team's topics, newest first. */
  listTopics(args: { teamId: string }): Promise<CountedTopic[]>
  /** Returns a topic. Refuses: `not_found`. */
  getTopic(args: { teamId: string; id: string }): Promise<CountedTopic>
  /** Creates a topic. Refuses: `missing_field`, `invalid_field`, `too_many`. */
  createTopic(args: { teamId: string; topic: NewTopicInput }): Promise<Topic>
  /** Updates a topic. Refuses: `not_found`, `missing_field`, `invalid_field`. */
  updateTopic(args: { teamId: string; id: string; change: TopicChange }): Promise<Topic>
  /** Deletes a topic. Refuses: `not_found`. */
  deleteTopic(args: { teamId: string; id: string }): Promise<Topic>
}

/** A change of a topic; undefined fields stay as they are. */
interface TopicChange {
  name?: string | undefined
  description?: string | null | undefined
  visibility?: Visibility | undefined
}

export interface NewTopicInput {
  name: string
  /** Null: none. */
  description: string | null
  defaultSubscription: Subscription
  visibility: Visibility
}

export interface PropertyMethods {
  /** Lists the team's properties, newest first. */
  listProperties(args: { teamId: string }): Promise<ContactProperty[]>
  /** Returns a property. Refuses: `not_found`. */
  getProperty(args: { teamId: string; id: string }): Promise<ContactProperty>
  /** Lists the objects that use a property, at most 20 of each kind. Refuses: `not_found`. */
  propertyUses(args: { teamId: string; id: string }): Promise<PropertyUse[]>
  /** Lists up to 3 different values of a property, from the newest contacts. Refuses: `not_found`. */
  propertyExamples(args: { teamId: string; id: string }): Promise<PropertyValue[]>
  /** Creates a property. Refuses: `missing_field`, `invalid_field`, `property_exists`, `too_many`. */
  createProperty(args: {
    teamId: string
    key: string
    type: PropertyType
    fallback: unknown
  }): Promise<ContactProperty>
  /**
   * Sets the fallback of a property. Refuses: `not_found`, `invalid_field`.
   * @param args fallback: null removes it
   */
  setFallback(args: { teamId: string; id: string; fallback: unknown }): Promise<void>
  /** Deletes a property and its values. Refuses: `not_found`. */
  deleteProperty(args: { teamId: string; id: string }): Promise<void>
}

/** Removes rows of deleted segments and topics, step by step in the background. */
export interface Sweeper {
  wake(): void
  /** Resolves after the current step. */
  close(): Promise<void>
}

export function createSweeper({ storage, clock }: AudienceDeps): Sweeper {
  let running: Promise<void> | null = null
  let again = false
  let closed = false
  const sweep = async (): Promise<void> => {
    do {
      again = false
      while (!closed && (await storage.sweepDeleted({ most: SWEPT }, clock.now())));
    } while (again && !closed)
  }
  return {
    wake() {
      again = true
      // If a sweep fails, the next deletion or start repeats it.
      running ??= sweep().then(
        () => void (running = null),
        () => void (running = null),
      )
    },
    async close() {
      closed = true
      await running
    },
  }
}

/**
 * Creates the methods for segments.
 *
 * @param swept called after a deletion that leaves rows behind
 */
export function createSegmentMethods(
  deps: AudienceDeps,
  swept: () => void,
  sizes: Pick<SegmentSizes, 'soon' | 'refresh'>,
): SegmentMethods {
  const { storage, clock } = deps
  const stored = async (args: { teamId: string; id: string }): Promise<SizedSegment> => {
    const found = await storage.getSegment(args, clock.now())
    if (!found) throw segmentNotFound()
    return found
  }
  return {
    async listSegments(args) {
      const segments = await storage.listSegments(args, clock.now())
      sizes.refresh(segments)
      return segments
    },
    getSegment: async (args) => sizes.soon(await stored(args)),
    async createSegment({ teamId, name: given, filter: asked }) {
      const name = parseText('name', given, MAX.segment)
      const filter = asked === null ? null : await parseTeamRules(deps, teamId, asked)
      const now = clock.now()
      const segment = { id: newId(now), teamId, name, filter, createdAt: now, updatedAt: now }
      const [most, things] = filter
        ? ([MOST.ruled, 'segments with rules'] as const)
        : ([MOST.segments, 'segments'] as const)
      if (!(await storage.createSegment({ segment, most }, now)))
        throw refuse('too_many', { limit: most, things })
      return { ...segment, contacts: 0, countedAt: null }
    },
    async updateSegment({ teamId, id, name, filter: asked }) {
      const { filter: before } = await stored({ teamId, id })
      if (asked !== undefined && (asked === null) !== (before === null))
        throw refuse('invalid_field', {
          field: 'filter',
          expected: 'a segment keeps its kind: with rules, or without',
        })
      const filter =
        asked === undefined || asked === null ? undefined : await parseTeamRules(deps, teamId, asked)
      const change = { name: name === undefined ? undefined : parseText('name', name, MAX.segment), filter }
      if (!(await storage.updateSegment({ teamId, id, change }, clock.now()))) throw segmentNotFound()
    },
    async segmentDays(args) {
      const { filter, contacts, countedAt } = await stored(args)
      const now = clock.now()
      const dates = Array.from({ length: DAYS }, (_, at) => dateOf(now - (DAYS - 1 - at) * DAY))
      const recorded = await storage.segmentDays({ segmentId: args.id, from: dates[0]! }, now)
      const sizes = new Map(recorded.map((day) => [day.date, day.contacts]))
      if (!filter || (countedAt !== null && dateOf(countedAt) === dates.at(-1)))
        sizes.set(dates.at(-1)!, contacts)
      return dates.map((date) => ({ date, contacts: sizes.get(date) ?? null }))
    },
    async deleteSegment(args) {
      if (await storage.deleteSegment(args, clock.now())) swept()
    },
  }
}

/** Returns the day of a time in UTC, as `2026-01-31`. */
const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/**
 * Creates the methods for topics.
 *
 * @param swept called after a deletion that leaves rows behind
 */
export function createTopicMethods({ storage, clock }: AudienceDeps, swept: () => void): TopicMethods {
  const notFound = () => refuse('not_found', { resource: 'Topic' })
  const read = (given: TopicChange) => ({
    ...(given.name !== undefined && { name: parseText('name', given.name, MAX.topic) }),
    ...(given.description !== undefined && { description: readDescription(given.description) }),
    ...(given.visibility !== undefined && { visibility: given.visibility }),
  })
  return {
    listTopics: (args) => storage.listTopics(args, clock.now()),
    async getTopic(args) {
      const found = await storage.getTopic(args, clock.now())
      if (!found) throw notFound()
      return found
    },
    async createTopic({ teamId, topic: given }) {
      const now = clock.now()
      const topic = { ...given, ...read(given), id: newId(now), teamId, createdAt: now, updatedAt: now }
      if (!(await storage.createTopic({ topic, most: MOST.topics }, now)))
        throw refuse('too_many', { limit: MOST.topics, things: 'topics' })
      return topic
    },
    async updateTopic({ teamId, id, change }) {
      const topic = await storage.updateTopic({ teamId, id, change: read(change) }, clock.now())
      if (!topic) throw notFound()
      return topic
    },
    async deleteTopic(args) {
      const topic = await storage.deleteTopic(args, clock.now())
      if (!topic) throw notFound()
      swept()
      return topic
    },
  }
}

const readDescription = (given: string | null): string | null =>
  given === null || given.trim() === '' ? null : parseText('description', given, MAX.description)

/**
 * Creates the name under which values of a property are stored. It is unique in the team, also among deleted
 * properties.
 */
const newLabel = (): string => `p${randomBytes(6).toString('hex')}`

export function createPropertyMethods({ storage, clock }: AudienceDeps): PropertyMethods {
  const get = async ({ teamId, id }: { teamId: string; id: string }): Promise<ContactProperty> => {
    const all = await storage.listContactProperties({ teamId }, clock.now())
    const found = all.find((property) => property.id === id)
    if (!found) throw refuse('not_found', { resource: 'Contact property' })
    return found
  }
  const fallbackOf = (type: PropertyType, value: unknown): PropertyValue | null =>
    value === null || value === undefined ? null : parseValue('fallback_value', type, value)
  return {
    listProperties: (args) => storage.listContactProperties(args, clock.now()),
    getProperty: get,
    async propertyUses({ teamId, id }) {
      const { key } = await get({ teamId, id })
      return storage.propertyUses({ teamId, key, most: MOST.uses }, clock.now())
    },
    async propertyExamples({ teamId, id }) {
      const { label } = await get({ teamId, id })
      const asked = { teamId, label, most: MOST.examples, among: SEARCHED }
      return storage.propertyExamples(asked, clock.now())
    },
    async createProperty({ teamId, key, type, fallback }) {
      checkKey(key)
      const now = clock.now()
      const property: ContactProperty = {
        id: newId(now),
        teamId,
        key,
        label: newLabel(),
        type,
        createdAt: now,
        fallback: fallbackOf(type, fallback),
      }
      const result = await storage.createContactProperty({ property, most: MOST.properties }, now)
      if (result === 'taken') throw refuse('property_exists', { key })
      if (result === 'too_many')
        throw refuse('too_many', { limit: MOST.properties, things: 'contact properties' })
      return property
    },
    async setFallback({ teamId, id, fallback }) {
      const { type } = await get({ teamId, id })
      await storage.setFallback({ teamId, id, fallback: fallbackOf(type, fallback) }, clock.now())
    },
    async deleteProperty({ teamId, id }) {
      if (!(await storage.deleteContactProperty({ teamId, id }, clock.now())))
        throw refuse('not_found', { resource: 'Contact property' })
    },
  }
}

/** Checks a property key. Refuses: `missing_field`, `invalid_field`. */
export function checkKey(key: string, field = 'key'): void {
  if (key === '') throw refuse('missing_field', { field })
  if (key.length > MAX.key || !/^\w+$/.test(key))
    throw refuse('invalid_field', {
      field,
      expected: `1 to ${MAX.key} ASCII letters, digits and underscores`,
    })
  if ((RESERVED_KEYS as readonly string[]).includes(key))
    throw refuse('invalid_field', { field, expected: `none of ${RESERVED_KEYS.join(', ')}` })
}
