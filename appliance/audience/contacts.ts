/** Contacts: the people that a team writes to. */
import { setImmediate } from 'node:timers/promises'
import type { ConsentContext } from '../mail/audience.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  AudienceDay,
  Contact,
  ContactChange,
  ContactConditions,
  ContactContext,
  ContactCounts,
  ContactFilter,
  ContactSearchResult,
  Page,
  PageArgs,
} from '../storage/storage.ts'
import {
  type AudienceDeps,
  checkIds,
  type TopicChoiceInput,
  findContact,
  contactNotFound,
  parseTopicChoices,
  requireContactRef,
  createMissingRefError,
  type ContactIdentifier,
} from './find.ts'
import { parseAddress, parseName, parseProperties, type TypedValue, toTypedValues } from './values.ts'

/** Number of days for which `countContacts` returns the growth. */
const SHOWN_DAYS = 30

/** A contact's fields in a request; undefined if not given. */
export interface ContactInput {
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  unsubscribed?: boolean | undefined
  /** Values by property key; null removes a value. */
  properties?: Record<string, unknown> | undefined
}

export interface NewContactInput extends ContactInput {
  email: string
  segmentIds: string[]
  topics: TopicChoiceInput[]
}

/** A contact with its values by key. */
export interface ContactDetails extends Contact {
  values: TypedValue[]
}

export interface ContactMethods {
  /**
   * Creates a contact or updates the one with that address, atomically. Never lifts an opt-out, not even one of a
   * deleted contact with the address.
   *
   * Refuses: `missing_field`, `invalid_field`, `invalid_id`, `not_found` for segments and topics.
   */
  saveContact(args: { teamId: string; contact: NewContactInput; act: ConsentContext }): Promise<Contact>
  listContacts(args: PageArgs & ContactFilter): Promise<Page<Contact>>
  /** Returns all contacts, newest first, in pages. */
  allContacts(args: { teamId: string } & ContactFilter): AsyncGenerator<Contact[], void>
  /** Searches a bounded number of contacts per call; `next` is set if there are more. */
  searchContacts(
    args: Omit<PageArgs, 'before'> & ContactConditions,
  ): Promise<ContactSearchResult & { context: ContactContext }>
  /** Counts the contacts of a team, also for each of the last 30 days. */
  countContacts(args: {
    teamId: string
  }): Promise<ContactCounts & { suppressed: number; days: AudienceDay[] }>
  /** Returns a contact. Refuses: `not_found`. */
  getContact(which: ContactIdentifier): Promise<ContactDetails>
  /** Updates a contact. Refuses: `not_found`, `invalid_field`, `contact_exists` if another contact has the address. */
  updateContact(
    args: ContactIdentifier & { email?: string | undefined; change: ContactInput; act: ConsentContext },
  ): Promise<Contact>
  /** Deletes a contact but keeps its opt-outs. Refuses: `not_found`. */
  deleteContact(which: ContactIdentifier): Promise<Contact>
}

/** Page size for reading all contacts. */
const PAGE = 200

export function createContactMethods({ storage, clock }: AudienceDeps): ContactMethods {
  return {
    async saveContact({ teamId, contact, act }) {
      const email = parseAddress(contact.email)
      const segmentIds = checkIds('segments', contact.segmentIds)
      const topics = parseTopicChoices(contact.topics)
      const change = await parseChange({ storage, clock }, teamId, contact)
      const now = clock.now()
      const made = { ...change, id: newId(now), teamId, email, segmentIds, topics }
      const result = await storage.saveContact({ contact: made, act }, now)
      if ('contact' in result) return result.contact
      throw createMissingRefError(result)
    },
    listContacts: (args) => listContacts({ storage, clock }, args),
    async searchContacts(args) {
      const found = await storage.searchContacts(args, clock.now())
      const contacts = found.items.map(({ id, email }) => ({ id, email }))
      const context = await storage.contactContext({ teamId: args.teamId, contacts }, clock.now())
      return { ...found, context }
    },
    allContacts: (args) => pagesOfContacts({ storage, clock }, args),
    async countContacts(args) {
      const now = clock.now()
      const suppressed = await storage.countSuppressedContacts(args, now)
      const days = await storage.audienceDays({ ...args, days: SHOWN_DAYS }, now)
      return { ...(await storage.countContacts(args, now)), suppressed, days }
    },
    async getContact(which) {
      const contact = await findContact({ storage, clock }, which)
      const known = await storage.listContactProperties({ teamId: which.teamId }, clock.now())
      return { ...contact, values: toTypedValues(known, contact) }
    },
    async updateContact({ email, change, act, ...which }) {
      const { teamId } = which
      const address = email === undefined ? undefined : parseAddress(email)
      const args = {
        teamId,
        ref: requireContactRef(which),
        email: address,
        change: await parseChange({ storage, clock }, teamId, change),
        act,
      }
      const result = await storage.updateContact(args, clock.now())
      if (result === 'unknown') throw contactNotFound()
      if (result === 'taken') throw refuse('contact_exists')
      return result
    },
    async deleteContact(which) {
      const deleted = await storage.deleteContact(
        { teamId: which.teamId, ref: requireContactRef(which) },
        clock.now(),
      )
      if (!deleted) throw contactNotFound()
      return deleted
    },
  }
}

/** Checks the given values of a contact. Refuses: `invalid_field`. */
async function parseChange(
  { storage, clock }: AudienceDeps,
  teamId: string,
  { firstName, lastName, unsubscribed, properties }: ContactInput,
): Promise<ContactChange> {
  const hasProperties = properties !== undefined && Object.keys(properties).length > 0
  const known = hasProperties ? await storage.listContactProperties({ teamId }, clock.now()) : []
  return {
    firstName: firstName === undefined ? undefined : parseName('first_name', firstName),
    lastName: lastName === undefined ? undefined : parseName('last_name', lastName),
    unsubscribed,
    properties: hasProperties ? parseProperties(known, properties) : undefined,
  }
}

/** Returns a page. With rules, it searches in bounded steps, so that other requests can run in between. */
async function listContacts(
  { storage, clock }: AudienceDeps,
  { before, limit, ...args }: PageArgs & ContactFilter,
): Promise<Page<Contact>> {
  const { teamId, segmentId } = args
  const segment =
    segmentId === undefined ? undefined : await storage.getSegment({ teamId, id: segmentId }, clock.now())
  if (!segment?.filter || before !== undefined)
    return storage.listContacts({ ...args, before, limit }, clock.now())
  const items: Contact[] = []
  let { after } = args
  do {
    const rest = limit + 1 - items.length
    const found = await storage.searchContacts({ ...args, after, limit: rest }, clock.now())
    items.push(...found.items)
    after = found.next ?? undefined
    await setImmediate()
  } while (after !== undefined && items.length <= limit)
  return { items: items.slice(0, limit), hasMore: items.length > limit }
}

async function* pagesOfContacts(
  { storage, clock }: AudienceDeps,
  args: { teamId: string } & ContactFilter,
): AsyncGenerator<Contact[], void> {
  for (let after: string | undefined; ;) {
    const { items, hasMore } = await listContacts({ storage, clock }, { ...args, limit: PAGE, after })
    yield items
    if (!hasMore) return
    after = items.at(-1)!.id
  }
}
