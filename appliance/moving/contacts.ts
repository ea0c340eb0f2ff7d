/**
 * Moves contacts with their segments, properties and topic choices. Opt-outs are moved, too, and existing ones are
 * never lifted.
 */
import { parseMailbox } from '../mail/address.ts'
import { SUBSCRIPTIONS, type ConsentContext, type PropertyType, type Subscription } from '../mail/audience.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Contact } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'
import { everyOf } from './named.ts'
import { stringOrNull } from './objects.ts'
import type { IdMap, IdLookups } from './refs.ts'
import { tryAdd, tryChange, countSkipped, type MoveCount, type MoveDeps } from './report.ts'

/** Number of contacts per entry in the audit log. */
const AUDITED = 500
/** Number of contacts after which progress is reported, because each one may take two requests. */
const TOLD = 1000

/** How the import changes subscriptions, for the consent log. Never undoes an opt-out. */
const ACT: ConsentContext = {
  origin: 'import',
  via: 'import',
  source: null,
  ip: null,
  userAgent: null,
  wording: null,
  lifts: false,
}

type NewContact = Parameters<MoveDeps['contacts']['saveContact']>[0]['contact']

/**
 * Adds the hosted service's contacts, each in one transaction with its segments and choices. After an interrupted move,
 * finds existing contacts and skips their details. Existing contacts stay as they are, except that an opt-out of all
 * mail is added. With `overwrite`, they also get the values, segments and choices of the hosted service.
 */
export async function moveContacts(deps: MoveDeps, refs: IdLookups, count: MoveCount): Promise<void> {
  const reader = await createReader(deps, refs, count)
  const unaudited = { added: count.added, updated: count.updated }
  const audit = async (): Promise<void> => {
    const [added, updated] = [count.added - unaudited.added, count.updated - unaudited.updated]
    Object.assign(unaudited, { added: count.added, updated: count.updated })
    if (added + updated > 0 && !deps.options.dryRun) await deps.made({ kind: 'contacts', added, updated })
  }
  try {
    for await (const wire of everyOf(deps, '/contacts', count)) {
      count.there += 1
      await moveOne(deps, wire, { count, reader })
      if (count.there % AUDITED === 0) await audit()
      if (count.there % TOLD === 0) deps.tell(`${count.there} contacts read`)
    }
  } finally {
    await audit()
    reader.finish()
  }
}

interface Moving {
  count: MoveCount
  reader: Reader
}

async function moveOne(deps: MoveDeps, wire: HostedObject, { count, reader }: Moving): Promise<void> {
  const { contacts, teamId, options } = deps
  const [id, email] = [stringOrNull(wire.id), stringOrNull(wire.email)]
  if (id === null || email === null)
    return countSkipped(count, 'a contact', 'the hosted API returned no ID or address for it')
  if (parseMailbox(email)?.name !== '') return countSkipped(count, email, 'it is not an email address')
  const here = await contactHere(deps, email)
  const save = async (contact: NewContact): Promise<void> => {
    if (!options.dryRun) await contacts.saveContact({ teamId, contact, act: ACT })
  }
  if (!here) return tryAdd(count, email, async () => save(await reader.read(wire, { id, email })))
  if (options.overwrite)
    return tryChange(count, email, async () => {
      await save(await reader.read(wire, { id, email }))
      return true
    })
  const optsOut = wire.unsubscribed === true && here.optOut === null
  await tryChange(count, email, async () => {
    if (optsOut) await save({ email, unsubscribed: true, segmentIds: [], topics: [] })
    return optsOut
  })
}

async function contactHere({ contacts, teamId }: MoveDeps, email: string): Promise<Contact | undefined> {
  try {
    return await contacts.getContact({ teamId, idOrEmail: email })
  } catch (error) {
    // Most contacts don't exist here yet.
    if (error instanceof Refusal && error.key === 'not_found') return undefined
    throw error
  }
}

/** Reads contacts, with their data from other endpoints. */
interface Reader {
  read(wire: HostedObject, named: { id: string; email: string }): Promise<NewContact>
  /** Adds notes about values that could not be moved to the report. */
  finish(): void
}

async function createReader(deps: MoveDeps, refs: IdLookups, count: MoveCount): Promise<Reader> {
  const { hosted, contacts, teamId, options } = deps
  const memberships = await membershipsOf(deps, refs)
  const types = new Map((await contacts.listProperties({ teamId })).map(({ key, type }) => [key, type]))
  const asksProperties = types.size > 0 && (await hasAny(deps, '/contact-properties'))
  const topics = await refs.topics()
  const defaults = new Map(
    (await contacts.listTopics({ teamId })).map(({ id, defaultSubscription }) => [id, defaultSubscription]),
  )
  const dropped = new Map<string, number>()
  return {
    async read(wire, { id, email }) {
      const path = `/contacts/${encodeURIComponent(id)}`
      const contact: NewContact = {
        email,
        firstName: stringOrNull(wire.first_name) ?? undefined,
        lastName: stringOrNull(wire.last_name) ?? undefined,
        unsubscribed: wire.unsubscribed === true ? true : undefined,
        segmentIds: memberships.get(id) ?? [],
        topics: [],
      }
      // Otherwise, a dry run would take as long as the move.
      if (options.dryRun) return contact
      if (asksProperties)
        contact.properties = propertiesOf((await hosted.get(path)).properties, types, dropped)
      if (topics.size > 0)
        for await (const one of everyOf(deps, `${path}/topics`))
          contact.topics.push(...choiceOf(one, topics, defaults))
      return contact
    },
    finish() {
      for (const [key, contactsWithIt] of dropped)
        count.notes.push({
          what: key.slice(0, 60),
          text: `the value of ${contactsWithIt} contacts is not imported: no contact property of this type has the key here`,
        })
    },
  }
}

async function hasAny(deps: MoveDeps, path: string): Promise<boolean> {
  for await (const _ of everyOf(deps, path)) return true
  return false
}

/** Reads the members of each segment, which takes fewer requests than reading the segments of each contact. */
async function membershipsOf(deps: MoveDeps, refs: IdLookups): Promise<Map<string, string[]>> {
  const { contacts, teamId, options } = deps
  const members = new Map<string, string[]>()
  if (options.dryRun) return members
  const ruled = new Set(
    (await contacts.listSegments({ teamId })).flatMap(({ id, filter }) => (filter ? [id] : [])),
  )
  for (const [theirs, ours] of await refs.segments()) {
    if (ruled.has(ours)) continue
    for await (const { id } of everyOf(deps, `/segments/${encodeURIComponent(theirs)}/contacts`)) {
      const contact = stringOrNull(id)
      if (contact === null) continue
      const known = members.get(contact)
      if (known) known.push(ours)
      else members.set(contact, [ours])
    }
  }
  return members
}

/** Reads values, plain or with their type, that can be stored in a property here. Counts the other values by key. */
function propertiesOf(
  given: unknown,
  types: ReadonlyMap<string, PropertyType>,
  dropped: Map<string, number>,
): Record<string, string | number> {
  const values: [string, string | number][] = []
  const all = typeof given === 'object' && given !== null ? Object.entries(given) : []
  for (const [key, one] of all as [string, unknown][]) {
    const value = typeof one === 'object' && one !== null ? (one as HostedObject).value : one
    if (value === null || value === undefined) continue
    const written = typeof value === 'boolean' ? String(value) : value
    if (typeof written === types.get(key)) values.push([key, written as string | number])
    else dropped.set(key, (dropped.get(key) ?? 0) + 1)
  }
  return Object.fromEntries(values)
}

/**
 * Reads a choice. The API doesn't distinguish a choice from the topic's default, so only choices that differ from it
 * are kept.
 */
function choiceOf(
  wire: HostedObject,
  topics: IdMap,
  defaults: ReadonlyMap<string, Subscription>,
): { id: string; subscription: Subscription }[] {
  const id = topics.get(stringOrNull(wire.id) ?? '')
  const subscription = SUBSCRIPTIONS.find((one) => one === wire.subscription)
  if (id === undefined || subscription === undefined || defaults.get(id) === subscription) return []
  return [{ id, subscription }]
}
