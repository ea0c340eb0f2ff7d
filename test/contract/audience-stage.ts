import { expect } from 'vitest'
import type { ConsentContext } from '../../appliance/mail/audience.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type {
  Contact,
  ContactChange,
  NewContact,
  Segment,
  Storage,
  Topic,
} from '../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from './fixtures.ts'

/** Returns a consent act made by an app. */
export const act = (more: Partial<ConsentContext> = {}): ConsentContext => ({
  origin: 'api',
  via: 'api',
  source: 'key',
  ip: null,
  userAgent: null,
  wording: null,
  lifts: false,
  ...more,
})
export const explicit = act({ lifts: true })
export const person = act({ origin: 'person', via: 'one_click', source: null, ip: '192.0.2.1', lifts: true })

export const newContact = (teamId: string, more: Partial<NewContact> = {}): NewContact => ({
  id: newId(T0),
  teamId,
  email: `${unique('ada')}@example.com`,
  segmentIds: [],
  topics: [],
  ...more,
})

/** Stores a team with segments, topics and properties for its contacts. */
export async function audienceStage(storage: Storage) {
  const { team } = await makeTeam(storage)
  const teamId = team.id
  const addSegment = async (name = unique('Segment')): Promise<Segment> => {
    const segment = { id: newId(T0), teamId, name, filter: null, createdAt: T0, updatedAt: T0 }
    expect(await storage.createSegment({ segment, most: 100 }, T0)).toBe(true)
    return segment
  }
  const addTopic = async (more: Partial<Topic> = {}): Promise<Topic> => {
    const topic: Topic = {
      id: newId(T0),
      teamId,
      name: unique('Topic'),
      description: null,
      defaultSubscription: 'opt_in',
      visibility: 'private',
      createdAt: T0,
      updatedAt: T0,
      ...more,
    }
    expect(await storage.createTopic({ topic, most: 100 }, T0)).toBe(true)
    return topic
  }
  const save = (contact: NewContact, by = act(), now = T0) => storage.saveContact({ contact, act: by }, now)
  const add = async (more: Partial<NewContact> = {}, by = act(), now = T0): Promise<Contact> => {
    const result = await save(newContact(teamId, more), by, now)
    if (!('contact' in result)) throw new Error(result.kind)
    return result.contact
  }
  const get = (id: string) => storage.getContact({ teamId, ref: { id } }, T0)
  const update = (id: string, change: ContactChange, by = explicit, email?: string) =>
    storage.updateContact({ teamId, ref: { id }, email, change, act: by }, T0 + 5)
  const remove = (id: string) => storage.deleteContact({ teamId, ref: { id } }, T0 + 9)
  const choicesOf = async (contactId: string) =>
    (await storage.listContactTopics({ teamId, contactId }, T0)).map((one) => [one.id, one.subscription])
  const events = async () => {
    const all = { teamId, since: 0, until: T0 * 2, after: null, limit: 100 }
    return (await storage.listTeamEvents(all, T0)).map(({ type, data }) => ({ type, data }))
  }
  const told = async () => (await events()).map(({ type }) => type)
  const counts = () => storage.countContacts({ teamId }, T0)
  return {
    teamId,
    addSegment,
    addTopic,
    save,
    add,
    get,
    update,
    remove,
    choicesOf,
    events,
    told,
    counts,
  }
}
