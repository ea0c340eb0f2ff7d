import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { BroadcastEmail, Contact, NewBroadcast, Storage } from '../../appliance/storage/storage.ts'
import { audienceStage } from './audience-stage.ts'
import { leaseArgs, MINUTE, newEmail, T0, unique } from './fixtures.ts'

export const content = {
  from: 'Ada <ada@example.com>',
  subject: 'News',
  replyTo: [],
  previewText: null,
  html: '<p>Hello</p>',
  text: null,
}

/** Stores a team with a segment. Returns helpers for its broadcasts. */
export async function broadcastStage(storage: Storage) {
  const made = await audienceStage(storage)
  const { teamId, add } = made
  const segment = await made.addSegment()
  const domain = unique('there')
  const join = (more: Parameters<typeof add>[0] = {}): Promise<Contact> =>
    add({ email: `${unique('ada')}@${domain}.example`, segmentIds: [segment.id], ...more })
  const draft = async (more: Partial<NewBroadcast> = {}): Promise<string> => {
    const id = newId(T0)
    await storage.createBroadcast(
      {
        broadcast: {
          id,
          teamId,
          name: 'News',
          segmentId: segment.id,
          exclude: [],
          topicId: null,
          content,
          document: null,
          createdAt: T0,
          ...more,
        },
      },
      T0,
    )
    return id
  }
  const start = async (id: string, now = T0 + MINUTE) => {
    const { edits } = (await get(id))!
    const revision = { id: newId(now), content: '{}' }
    return storage.startBroadcast({ teamId, id, edits, revision }, now)
  }
  const get = (id: string) => storage.getBroadcast({ teamId, id }, T0)
  const waiting = (id: string, closed: string[] = [], most = 100) =>
    storage.waitingRecipients({ id, closed, most }, T0)
  const emailTo = (id: string, contactId: string, address: string): BroadcastEmail => {
    const { message, ...email } = newEmail(teamId, [address], T0, { stream: 'broadcast' })
    return { ...email, body: message, size: 7, broadcast: { id, contactId } }
  }
  /** Queues all waiting recipients. */
  const enqueue = async (id: string, now = T0 + MINUTE) => {
    const found = await waiting(id)
    const emails = found.flatMap(({ contactId, contact }) =>
      contact ? [emailTo(id, contactId, contact.email)] : [],
    )
    const deleted = found.flatMap(({ contactId, contact }) => (contact ? [] : [contactId]))
    return storage.enqueueBroadcast({ id, emails, deleted, moved: [] }, now)
  }
  const lease = async (now = T0 + MINUTE) => {
    const leased = await storage.lease(leaseArgs({ leaseUntil: now + 30 * MINUTE }), now)
    return leased.filter((one) => one.teamId === teamId).map(({ recipient }) => recipient)
  }
  const sending = async (more: Partial<NewBroadcast> = {}): Promise<string> => {
    const id = await draft(more)
    expect(await start(id)).toBe('done')
    while ((await storage.expandBroadcast({ id, most: 2 }, T0 + MINUTE)) === 'more');
    return id
  }
  return {
    ...made,
    segment,
    domain,
    join,
    draft,
    start,
    get,
    waiting,
    emailTo,
    enqueue,
    lease,
    sending,
  }
}
