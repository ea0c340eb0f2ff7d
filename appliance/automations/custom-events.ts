/** Custom events: events about contacts that apps send, with a name and a payload. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import {
  type EventPayload,
  type EventSchema,
  parseEventName,
  parseEventSchema,
  parsePayload,
} from '../mail/custom-event.ts'
import { isId, newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { ContactRef, CustomEvent, Page, PageArgs, SentEvent, StorageSubset } from '../storage/storage.ts'

/** Maximum number of events that a team can define. */
const MOST = 1000
/** Maximum number of events that a team can send per UTC day. */
const MOST_A_DAY = 100_000

/** Identifies an event of a team: `which` is its id or name. */
export interface EventIdentifier {
  teamId: string
  which: string
}

/** An event to send. Exactly one of the fields for the contact is set. */
export interface SendEventInput {
  event: string
  contactId?: string | null | undefined
  email?: string | null | undefined
  payload?: EventPayload | null | undefined
}

export interface CustomEvents {
  /** Lists events, newest first. */
  listEvents(args: PageArgs): Promise<Page<CustomEvent>>
  /** Returns an event. Refuses: `not_found`. */
  getEvent(args: EventIdentifier): Promise<CustomEvent>
  /** Defines an event. Refuses: `missing_field`, `invalid_field`, `event_exists`, `too_many`. */
  createEvent(args: { teamId: string; name: string; schema: unknown }): Promise<CustomEvent>
  /** Changes the schema, the only thing that can be changed. Refuses: `not_found`, `missing_field`, `invalid_field`. */
  updateEvent(args: EventIdentifier & { schema: unknown }): Promise<CustomEvent>
  /** Deletes an event. Refuses: `not_found`. */
  deleteEvent(args: EventIdentifier): Promise<CustomEvent>
  /**
   * Stores an event about a contact or address. Events that aren't defined take any payload.
   * Refuses: `missing_field`, `invalid_field`, `invalid_id`, `event_about`, `not_found`, `event_limit`.
   */
  sendEvent(args: { teamId: string; input: SendEventInput }): Promise<{ event: string }>
  /** Lists the sent instances of an event, newest first. Refuses: `not_found`. */
  listSent(args: EventIdentifier & Omit<PageArgs, 'teamId'>): Promise<Page<SentEvent>>
}

export interface CustomEventDeps {
  storage: StorageSubset<'customEvents' | 'sentEvents'>
  clock: Clock
}

const noEvent = () => refuse('not_found', { resource: 'Event' })

/**
 * Creates the methods for custom events.
 * @param sent called after an event was sent
 */
export function createCustomEvents(deps: CustomEventDeps, sent: () => void = () => undefined): CustomEvents {
  const { storage, clock } = deps
  const get = async ({ teamId, which }: EventIdentifier): Promise<CustomEvent> => {
    const found = await findEvent(deps, teamId, which)
    if (!found) throw noEvent()
    return found
  }
  return {
    listEvents: (args) => storage.listCustomEvents(args, clock.now()),
    getEvent: get,
    async createEvent({ teamId, name, schema }) {
      const now = clock.now()
      const event = {
        id: newId(now),
        teamId,
        name: parseEventName(name),
        schema: readSchema(schema),
        createdAt: now,
        updatedAt: null,
      }
      const result = await storage.createCustomEvent({ event, most: MOST }, now)
      if (result === 'taken') throw refuse('event_exists', { name: event.name })
      if (result === 'too_many') throw refuse('too_many', { limit: MOST, things: 'events' })
      return event
    },
    async updateEvent({ schema: given, ...named }) {
      const { id, teamId, ...event } = await get(named)
      if (given === undefined) throw refuse('missing_field', { field: 'schema' })
      const schema = readSchema(given)
      const now = clock.now()
      if (!(await storage.updateCustomEvent({ teamId, id, schema }, now))) throw noEvent()
      return { ...event, id, teamId, schema, updatedAt: now }
    },
    async deleteEvent(named) {
      const event = await get(named)
      const { teamId, id } = event
      if (!(await storage.deleteCustomEvent({ teamId, id }, clock.now()))) throw noEvent()
      return event
    },
    async sendEvent(args) {
      const result = await sendEvent(deps, args)
      sent()
      return result
    },
    async listSent({ which, ...page }) {
      const { name } = await get({ teamId: page.teamId, which })
      return storage.listSentEvents({ ...page, name }, clock.now())
    },
  }
}

/** Finds an event by ID, or else by name, because a name may look like an ID. */
async function findEvent(
  { storage, clock }: CustomEventDeps,
  teamId: string,
  which: string,
): Promise<CustomEvent | undefined> {
  const now = clock.now()
  const byId = isId(which)
    ? await storage.getCustomEvent({ teamId, ref: { id: which.toLowerCase() } }, now)
    : undefined
  return byId ?? storage.getCustomEvent({ teamId, ref: { name: which } }, now)
}

function readSchema(given: unknown): EventSchema | null {
  const isRecord = typeof given === 'object' && !Array.isArray(given)
  if (given !== undefined && !isRecord)
    throw refuse('invalid_field', {
      field: 'schema',
      expected: 'an object with the type of each field, or null',
    })
  return parseEventSchema(given as Record<string, unknown> | null | undefined)
}

async function sendEvent(
  { storage, clock }: CustomEventDeps,
  { teamId, input }: { teamId: string; input: SendEventInput },
): Promise<{ event: string }> {
  const name = parseEventName(input.event, 'event')
  const about = parseEventContact(input)
  const now = clock.now()
  const known = await storage.getCustomEvent({ teamId, ref: { name } }, now)
  const payload = parsePayload(input.payload, known?.schema ?? null)
  const event = { id: newId(now), teamId, name, about, payload }
  const result = await storage.sendCustomEvent({ event, most: MOST_A_DAY }, now)
  if (result === 'no_contact') throw refuse('not_found', { resource: 'Contact' })
  if (result === 'too_many') throw refuse('event_limit', { limit: MOST_A_DAY })
  return { event: name }
}

/**
 * Reads which contact an event is about. Clients send unset fields as null or empty text. Refuses: `event_about`,
 * `invalid_id`, `invalid_field`.
 */
export function parseEventContact({
  contactId,
  email,
}: Pick<SendEventInput, 'contactId' | 'email'>): ContactRef {
  const [id, address] = [contactId ?? '', email ?? '']
  if ((id === '') === (address === '')) throw refuse('event_about')
  if (id !== '') {
    if (!isId(id)) throw refuse('invalid_id', { parameter: 'contact_id' })
    return { id: id.toLowerCase() }
  }
  const mailbox = parseMailbox(address)
  if (mailbox?.name !== '')
    throw refuse('invalid_field', { field: 'email', expected: 'an email address such as `ada@example.com`' })
  return { email: mailbox.address }
}
