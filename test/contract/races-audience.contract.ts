import { describe, expect } from 'vitest'
import type { ConsentContext, Subscription } from '../../appliance/mail/audience.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewContact, Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

const act: ConsentContext = {
  origin: 'api',
  via: 'api',
  source: null,
  ip: null,
  userAgent: null,
  wording: null,
  lifts: false,
}
const explicit = { ...act, lifts: true }
const person = { ...explicit, origin: 'person' as const }

/** Races about contacts, segments, topics and properties. */
export function racesOfAudience(race: Racing): void {
  describe('contacts', () => contactRaces(race))
  describe('opt-outs', () => optOutRaces(race))
  describe('segments, topics and properties', () => listRaces(race))
}

async function stage(storage: Storage) {
  const { team } = await makeTeam(storage)
  const teamId = team.id
  const segment = { id: newId(T0), teamId, name: 'VIP', filter: null, createdAt: T0, updatedAt: T0 }
  await storage.createSegment({ segment, most: 10 }, T0)
  const contact = (more: Partial<NewContact> = {}): NewContact => ({
    id: newId(T0),
    teamId,
    email: `${unique('ada')}@example.com`,
    segmentIds: [],
    topics: [],
    ...more,
  })
  const add = async (more: Partial<NewContact> = {}) => {
    const made = contact(more)
    await storage.saveContact({ contact: made, act }, T0)
    return { made, ref: { id: made.id } }
  }
  const events = async () => {
    const all = { teamId, since: 0, until: T0 * 2, after: null, limit: 100 }
    return (await storage.listTeamEvents(all, T0)).map(({ type }) => type)
  }
  const get = (id: string) => storage.getContact({ teamId, ref: { id } }, T0)
  const counts = () => storage.countContacts({ teamId }, T0)
  const size = async () => (await storage.getSegment({ teamId, id: segment.id }, T0))?.contacts
  const members = async () =>
    (await storage.listContacts({ teamId, segmentId: segment.id, limit: 9 }, T0)).items
  return { teamId, segment, contact, add, events, get, counts, size, members }
}

function contactRaces(race: Racing): void {
  race('an address becomes one contact, with one event, counted once', async ({ storage, atOnce }) => {
    const { segment, contact, counts, events, size } = await stage(storage)
    const email = `${unique('ada')}@example.com`
    const save = (at: Storage) =>
      at.saveContact({ contact: contact({ email, segmentIds: [segment.id] }), act }, T0)
    const answers = await atOnce(save, save)
    expect(sorted(answers.map(({ kind }) => kind))).toEqual(['created', 'unchanged'])
    expect(new Set(answers.map((one) => 'contact' in one && one.contact.id)).size).toBe(1)
    expect([await counts(), await size()]).toEqual([{ contacts: 1, unsubscribed: 0 }, 1])
    expect(await events()).toEqual(['contact.created'])
  })

  race('concurrent changes of different fields are all kept', async ({ storage, atOnce }) => {
    const { teamId, add, get } = await stage(storage)
    const { made, ref } = await add({ properties: { p0: 'x' } })
    await atOnce(
      (at) => at.updateContact({ teamId, ref, change: { firstName: 'Ada', properties: { p1: 1 } }, act }, T0),
      (at) =>
        at.saveContact(
          { contact: { ...made, id: newId(T0), lastName: 'L', properties: { p2: 2 } }, act },
          T0,
        ),
    )
    expect(await get(made.id)).toMatchObject({
      firstName: 'Ada',
      lastName: 'L',
      properties: { p0: 'x', p1: 1, p2: 2 },
    })
  })

  race('only one contact gets a new address', async ({ storage, atOnce }) => {
    const { teamId, add, counts } = await stage(storage)
    const [one, two] = [await add(), await add()]
    const email = `${unique('new')}@example.com`
    const move =
      ({ ref }: typeof one) =>
      (at: Storage) =>
        at.updateContact({ teamId, ref, email, change: {}, act }, T0)
    const answers = await atOnce(move(one), move(two))
    expect(sorted(answers.map((answer) => (answer === 'taken' ? answer : 'moved')))).toEqual([
      'moved',
      'taken',
    ])
    expect(await counts()).toEqual({ contacts: 2, unsubscribed: 0 })
  })

  race('a contact is deleted and counted once, with one event', async ({ storage, atOnce }) => {
    const { teamId, segment, add, counts, events, size } = await stage(storage)
    const { ref } = await add({ segmentIds: [segment.id], unsubscribed: true })
    const remove = (at: Storage) => at.deleteContact({ teamId, ref }, T0)
    const answers = await atOnce(remove, remove)
    expect(sorted(answers.map((answer) => answer !== undefined))).toEqual(['false', 'true'])
    expect([await counts(), await size()]).toEqual([{ contacts: 0, unsubscribed: 0 }, 0])
    expect(await events()).toEqual(['contact.created', 'contact.deleted'])
  })

  race(
    'a contact deleted while being added to a segment is not in the segment',
    async ({ storage, atOnce }) => {
      const { teamId, segment, add, size, members } = await stage(storage)
      const { ref } = await add()
      await atOnce(
        (at) => at.deleteContact({ teamId, ref }, T0),
        (at) => at.addToSegment({ teamId, ref, segmentId: segment.id }, T0),
      )
      expect([await size(), await members()]).toEqual([0, []])
    },
  )
}

function optOutRaces(race: Racing): void {
  race('an opt-out survives a concurrent save of the contact', async ({ storage, atOnce }) => {
    const { teamId, add, get, counts } = await stage(storage)
    const { made, ref } = await add()
    await atOnce(
      (at) => at.updateContact({ teamId, ref, change: { unsubscribed: true }, act: person }, T0),
      (at) => at.saveContact({ contact: { ...made, unsubscribed: false, firstName: 'Ada' }, act }, T0),
    )
    expect(await get(made.id)).toMatchObject({ firstName: 'Ada', optOut: { origin: 'person' } })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
  })

  race('an opt-out during deletion is either kept for the address or rejected as too late', async (round) => {
    const { storage, atOnce } = round
    const { teamId, contact, add, counts } = await stage(storage)
    const { made, ref } = await add()
    const [out] = await atOnce(
      (at) => at.updateContact({ teamId, ref, change: { unsubscribed: true }, act: person }, T0),
      (at) => at.deleteContact({ teamId, ref }, T0),
    )
    const again = await storage.saveContact({ contact: contact({ email: made.email }), act }, T0)
    const unsubscribed = out === 'unknown' ? 0 : 1
    expect('contact' in again && again.contact.optOut !== null).toBe(unsubscribed === 1)
    expect(await counts()).toEqual({ contacts: 1, unsubscribed })
  })

  race('topic counts match whichever of two choices is stored last', async ({ storage, atOnce }) => {
    const { teamId, add } = await stage(storage)
    const topic = {
      id: newId(T0),
      teamId,
      name: 'News',
      description: null,
      defaultSubscription: 'opt_in' as const,
      visibility: 'public' as const,
      createdAt: T0,
      updatedAt: T0,
    }
    await storage.createTopic({ topic, most: 10 }, T0)
    const { made, ref } = await add()
    const set = (subscription: Subscription) => (at: Storage) =>
      at.setContactTopics({ teamId, ref, topics: [{ id: topic.id, subscription }], act: explicit }, T0)
    await atOnce(set('opt_in'), set('opt_out'))
    const [chosen] = await storage.listContactTopics({ teamId, contactId: made.id }, T0)
    const out = chosen!.subscription === 'opt_out'
    expect(await storage.listTopics({ teamId }, T0)).toMatchObject([
      { optedIn: out ? 0 : 1, optedOut: out ? 1 : 0 },
    ])
  })
}

function listRaces(race: Racing): void {
  race(
    'a contact is added to a segment and removed from it once, with matching counts and events',
    async ({ storage, atOnce }) => {
      const { teamId, segment, add, size, events } = await stage(storage)
      const { ref } = await add()
      const args = { teamId, ref, segmentId: segment.id }
      const join = (at: Storage) => at.addToSegment(args, T0)
      await atOnce(join, join)
      expect(await size()).toBe(1)
      const leave = (at: Storage) => at.removeFromSegment(args, T0)
      await atOnce(leave, leave)
      expect(await size()).toBe(0)
      expect(await events()).toEqual(['contact.created', 'contact.updated', 'contact.updated'])
    },
  )

  race(
    'limits segments, topics and properties, and creates a property key once',
    async ({ storage, atOnce }) => {
      const { teamId, segment } = await stage(storage)
      const addSegment = (at: Storage) =>
        at.createSegment({ segment: { ...segment, id: newId(T0) }, most: 2 }, T0)
      expect(sorted(await atOnce(addSegment, addSegment))).toEqual(['false', 'true'])
      const addTopic = (at: Storage) =>
        at.createTopic(
          {
            topic: {
              id: newId(T0),
              teamId,
              name: 'News',
              description: null,
              defaultSubscription: 'opt_in',
              visibility: 'public',
              createdAt: T0,
              updatedAt: T0,
            },
            most: 1,
          },
          T0,
        )
      expect(sorted(await atOnce(addTopic, addTopic))).toEqual(['false', 'true'])
      const addProperty = (most: number, key: string) => (at: Storage) => {
        const property = { id: newId(T0), teamId, key, label: unique('p'), type: 'string' as const }
        return at.createContactProperty(
          { property: { ...property, fallback: null, createdAt: T0 }, most },
          T0,
        )
      }
      expect(sorted(await atOnce(addProperty(9, 'plan'), addProperty(9, 'plan')))).toEqual([
        'created',
        'taken',
      ])
      expect(sorted(await atOnce(addProperty(2, 'a'), addProperty(2, 'b')))).toEqual(['created', 'too_many'])
    },
  )

  race(
    'a segment is deleted once, and two concurrent sweeps remove its members',
    async ({ storage, atOnce }) => {
      const { teamId, segment, add, members } = await stage(storage)
      await add({ segmentIds: [segment.id] })
      await add({ segmentIds: [segment.id] })
      const remove = (at: Storage) => at.deleteSegment({ teamId, id: segment.id }, T0)
      expect(sorted(await atOnce(remove, remove))).toEqual(['false', 'true'])
      const sweep = async (at: Storage) => {
        while (await at.sweepDeleted({ most: 1 }, T0));
      }
      await atOnce(sweep, sweep)
      expect(await members()).toEqual([])
      expect(await storage.countContacts({ teamId }, T0)).toEqual({ contacts: 2, unsubscribed: 0 })
    },
  )
}
