/** Moves contact properties, segments, topics and event schemas. */
import {
  PROPERTY_TYPES,
  SUBSCRIPTIONS,
  VISIBILITIES,
  type Subscription,
  type Visibility,
} from '../mail/audience.ts'
import { refuse } from '../mail/refusals.ts'
import type { CountedTopic, CustomEvent, ContactProperty, SizedSegment } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'
import { readAllPages, moveByName, type ObjectWriter, type ObjectMatcher } from './named.ts'
import { stringOrNull } from './objects.ts'
import type { MoveCount, MoveDeps } from './report.ts'

/** Page size for lists here. */
const PAGE = 100

const propertyNames = ({ contacts, teamId }: MoveDeps): ObjectMatcher<ContactProperty> => ({
  path: '/contact-properties',
  noun: 'a contact property',
  nameOf: (wire) => stringOrNull(wire.key),
  here: () => contacts.listProperties({ teamId }),
  nameHere: ({ key }) => key,
})

/** Moves contact properties with their type and fallback. */
export async function moveProperties(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { contacts, teamId, options, made } = deps
  const making: ObjectWriter<ContactProperty> = {
    async create(wire, key) {
      const type = PROPERTY_TYPES.find((one) => one === wire.type) ?? 'string'
      if (options.dryRun) return
      const { id } = await contacts.createProperty({ teamId, key, type, fallback: wire.fallback_value })
      await made({ kind: 'stored', action: 'contact_property.create', id, name: key })
    },
    async change(wire, here) {
      const fallback = wire.fallback_value ?? null
      if (fallback === here.fallback) return false
      if (options.dryRun) return true
      await contacts.setFallback({ teamId, id: here.id, fallback })
      await made({ kind: 'stored', action: 'contact_property.update', id: here.id, name: here.key })
      return true
    },
  }
  await moveByName(deps, count, { named: propertyNames(deps), making })
}

export const createSegmentMatcher = ({ contacts, teamId }: MoveDeps): ObjectMatcher<SizedSegment> => ({
  path: '/segments',
  noun: 'a segment',
  nameOf: (wire) => stringOrNull(wire.name),
  here: () => contacts.listSegments({ teamId }),
  nameHere: ({ name }) => name,
})

/** Moves segments, without their contacts. From another Posthaste server, also moves their rules. */
export async function moveSegments(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { contacts, teamId, options, made } = deps
  const making: ObjectWriter<SizedSegment> = {
    async create(wire, name) {
      if (options.dryRun) return
      const { id } = await contacts.createSegment({ teamId, name, filter: wire.filter ?? null })
      await made({ kind: 'stored', action: 'segment.create', id, name })
    },
  }
  await moveByName(deps, count, { named: createSegmentMatcher(deps), making })
}

export const createTopicMatcher = ({ contacts, teamId }: MoveDeps): ObjectMatcher<CountedTopic> => ({
  path: '/topics',
  noun: 'a topic',
  nameOf: (wire) => stringOrNull(wire.name),
  here: () => contacts.listTopics({ teamId }),
  nameHere: ({ name }) => name,
})

/**
 * Moves topics. Refuses a topic without a default subscription, because a guess could subscribe people who never asked
 * for mail.
 */
export async function moveTopics(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { contacts, teamId, options, made } = deps
  const making: ObjectWriter<CountedTopic> = {
    async create(wire, name) {
      const topic = { name, ...describedBy(wire), defaultSubscription: subscriptionOf(wire) }
      if (options.dryRun) return
      const { id } = await contacts.createTopic({ teamId, topic })
      await made({ kind: 'stored', action: 'topic.create', id, name })
    },
    async change(wire, { id, name, description, visibility }) {
      const change = describedBy(wire)
      if (change.description === description && change.visibility === visibility) return false
      if (options.dryRun) return true
      await contacts.updateTopic({ teamId, id, change })
      await made({ kind: 'stored', action: 'topic.update', id, name })
      return true
    },
  }
  await moveByName(deps, count, { named: createTopicMatcher(deps), making })
}

function describedBy(wire: HostedObject): { description: string | null; visibility: Visibility } {
  const visibility = VISIBILITIES.find((one) => one === wire.visibility) ?? 'private'
  return { description: stringOrNull(wire.description), visibility }
}

function subscriptionOf(wire: HostedObject): Subscription {
  const known = SUBSCRIPTIONS.find((one) => one === wire.default_subscription)
  if (!known)
    throw refuse('invalid_field', {
      field: 'default_subscription',
      expected: `one of ${SUBSCRIPTIONS.join(', ')}`,
    })
  return known
}

const eventNames = ({ customEvents, teamId }: MoveDeps): ObjectMatcher<CustomEvent> => ({
  path: '/events',
  noun: 'an event',
  nameOf: (wire) => stringOrNull(wire.name),
  here: () => readAllPages((after) => customEvents.listEvents({ teamId, limit: PAGE, after })),
  nameHere: ({ name }) => name,
})

/** Moves the schemas of custom events, not the events that were sent. */
export async function moveEvents(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { customEvents, teamId, options, made } = deps
  const making: ObjectWriter<CustomEvent> = {
    async create(wire, name) {
      if (options.dryRun) return
      const { id } = await customEvents.createEvent({ teamId, name, schema: wire.schema ?? null })
      await made({ kind: 'stored', action: 'event.create', id, name })
    },
    async change(wire, { id, name, schema }) {
      const theirs = wire.schema ?? null
      if (JSON.stringify(theirs) === JSON.stringify(schema)) return false
      if (options.dryRun) return true
      await customEvents.updateEvent({ teamId, which: id, schema: theirs })
      await made({ kind: 'stored', action: 'event.update', id, name })
      return true
    },
  }
  await moveByName(deps, count, { named: eventNames(deps), making })
}
