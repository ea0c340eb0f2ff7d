import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewHit, Storage } from '../../appliance/storage/storage.ts'
import { person } from './audience-stage.ts'
import { broadcastStage, content } from './broadcast-stage.ts'
import { change, DAY, leaseArgs, MINUTE, newAttempt, newEmail, putEmail, T0 } from './fixtures.ts'

export function broadcastsContract(storage: () => Storage): void {
  describe('drafts of broadcasts', () => draftTests(storage))
  describe('recipients of broadcasts', () => recipientTests(storage))
  describe('broadcasts that are paused or canceled', () => stopTests(storage))
  describe('results of broadcasts', () => resultTests(storage))
}

function draftTests(storage: () => Storage): void {
  test('lists, updates and deletes drafts of broadcasts', async () => {
    const { teamId, segment, draft, get } = await broadcastStage(storage())
    const id = await draft()
    expect(await get(id)).toMatchObject({ status: 'draft', segmentId: segment.id, content, edits: 0 })
    const update = (args: object) => storage().updateBroadcast({ teamId, id, change: {}, ...args }, T0 + 1)
    expect(await update({ edits: 0, change: { name: 'Spring', content: { subject: 'Hi' } } })).toBe('done')
    expect(await get(id)).toMatchObject({ name: 'Spring', content: { ...content, subject: 'Hi' }, edits: 1 })
    expect(await update({ edits: 0, change: { content: { subject: 'Lost' } } })).toBe('stale')
    expect(await update({ change: { document: '{}' } })).toBe('done')
    expect(await get(id)).toMatchObject({ document: '{}', edits: 2 })
    expect(await update({ change: { document: null } })).toBe('done')
    expect(await get(id)).toMatchObject({ document: null, edits: 3 })
    const other = await draft()
    const list = (status?: 'draft' | 'sent') => storage().listBroadcasts({ teamId, limit: 9, status }, T0)
    expect((await list()).items.map((one) => one.id)).toEqual([other, id])
    expect((await list('sent')).items).toEqual([])
    const named = (text: string) => storage().listBroadcasts({ teamId, limit: 9, text }, T0)
    expect((await named('SPRI')).items.map((one) => one.id)).toEqual([id])
    expect((await named('%')).items).toEqual([])
    expect(await storage().deleteBroadcast({ teamId, id: other }, T0)).toBe('done')
    expect(await storage().deleteBroadcast({ teamId, id: other }, T0)).toBe('unknown')
    expect((await list('draft')).items.map((one) => one.id)).toEqual([id])
  })

  test('a broadcast can be scheduled and started once, and afterwards only renamed', async () => {
    const { teamId, draft, get, start } = await broadcastStage(storage())
    const id = await draft()
    expect(await storage().scheduleBroadcast({ teamId, id, at: T0 + DAY }, T0)).toBe('done')
    expect(await get(id)).toMatchObject({ status: 'scheduled', scheduledAt: T0 + DAY })
    const open = async () => (await storage().openBroadcasts({}, T0)).some((one) => one.id === id)
    expect(await open()).toBe(true)
    expect(await storage().cancelBroadcast({ teamId, id }, T0)).toBe('draft')
    expect(await open()).toBe(false)
    expect(await start(id)).toBe('done')
    expect(await start(id)).toBe('wrong_status')
    const { revisionId } = (await get(id))!
    expect(await storage().getRevision({ id: revisionId! }, T0)).toBe('{}')
    const update = (change: object) => storage().updateBroadcast({ teamId, id, change }, T0)
    expect(await update({ content: { subject: 'Late' } })).toBe('wrong_status')
    expect(await update({ name: 'Renamed' })).toBe('done')
    expect(await storage().deleteBroadcast({ teamId, id }, T0)).toBe('wrong_status')
    const ending = { id, was: 'queued', status: 'sent', problem: null } as const
    expect(await storage().endBroadcast(ending, T0 + 2)).toBe(true)
    expect(await storage().endBroadcast(ending, T0 + 3)).toBe(false)
    expect(await get(id)).toMatchObject({ status: 'sent', finishedAt: T0 + 2 })
    expect(await storage().cancelBroadcast({ teamId, id }, T0)).toBe('wrong_status')
  })

  test('a draft remembers that a test was sent until its content changes', async () => {
    const { teamId, draft, get } = await broadcastStage(storage())
    const id = await draft()
    const update = (change: object) => storage().updateBroadcast({ teamId, id, change }, T0)
    const tested = async () => (await get(id))!.testedAt
    await storage().noteBroadcastTest({ teamId, id, edits: 0 }, T0 + 1)
    expect(await tested()).toBe(T0 + 1)
    await update({ topicId: null, content: { subject: content.subject } })
    expect(await tested()).toBe(T0 + 1)
    await update({ content: { subject: 'Other' } })
    expect(await tested()).toBeNull()
    await storage().noteBroadcastTest({ teamId, id, edits: 1 }, T0 + 2)
    expect(await tested()).toBeNull()
  })

  test('finds recently started broadcasts, newest first', async () => {
    const { teamId, draft, start } = await broadcastStage(storage())
    const [first, second] = [await draft(), await draft()]
    await draft()
    await start(first, T0)
    await start(second, T0 + DAY)
    const found = async (since: number, most: number) =>
      (await storage().startedBroadcasts({ teamId, since, most }, T0)).map(({ id }) => id)
    expect([await found(T0, 9), await found(T0, 1)]).toEqual([[second, first], [second]])
    expect(await found(T0 + 1, 9)).toEqual([second])
  })

  test('rejects starting a broadcast from an outdated revision', async () => {
    const { teamId, draft } = await broadcastStage(storage())
    const id = await draft()
    await storage().updateBroadcast({ teamId, id, change: { content: { subject: 'New' } } }, T0)
    const revision = { id: newId(T0), content: '{}' }
    expect(await storage().startBroadcast({ teamId, id, edits: 0, revision }, T0)).toBe('stale')
  })

  test('hides broadcasts from other teams', async () => {
    const [one, other] = [await broadcastStage(storage()), await broadcastStage(storage())]
    const ref = { teamId: other.teamId, id: await one.draft() }
    expect(await storage().getBroadcast(ref, T0)).toBeUndefined()
    expect(await storage().cancelBroadcast(ref, T0)).toBe('unknown')
    expect(await storage().deleteBroadcast(ref, T0)).toBe('unknown')
    expect(await storage().resumeBroadcast(ref, T0)).toBe('unknown')
  })
}

function recipientTests(storage: () => Storage): void {
  test('the recipients are the segment’s contacts at the start, once each, without those in excluded segments', async () => {
    const { join, addSegment, sending, waiting, get } = await broadcastStage(storage())
    const vip = await addSegment()
    const contacts = [await join(), await join(), await join()]
    await join({ segmentIds: [(await addSegment()).id] })
    const id = await sending({ exclude: [vip.id] })
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual(contacts.map((one) => one.id))
    expect(await get(id)).toMatchObject({ expanded: 3, expandedAt: T0 + MINUTE })
    expect(await storage().expandBroadcast({ id, most: 2 }, T0)).toBe('stopped')
  })

  test('leaves out excluded contacts and those who join after the start', async () => {
    const stage = await broadcastStage(storage())
    const vip = await stage.addSegment()
    const [plain] = [await stage.join(), await stage.join({ segmentIds: [stage.segment.id, vip.id] })]
    const id = await stage.draft({ exclude: [vip.id] })
    await stage.start(id, T0 + MINUTE)
    await stage.add({ segmentIds: [stage.segment.id] }, undefined, T0 + 2 * MINUTE)
    expect(await storage().expandBroadcast({ id, most: 10 }, T0 + 3 * MINUTE)).toBe('all')
    expect((await stage.waiting(id)).map(({ contactId }) => contactId)).toEqual([plain.id])
  })

  test('each recipient gets one email, except those who opted out, are suppressed or were deleted', async () => {
    const stage = await broadcastStage(storage())
    const { teamId, join, remove, sending, enqueue, get, lease } = stage
    const topic = await stage.addTopic({ name: 'News' })
    const plain = await join()
    await join({ unsubscribed: true })
    await join({ topics: [{ id: topic.id, subscription: 'opt_out' }] })
    const [gone, listed] = [await join(), await join()]
    const suppression = { id: newId(T0), teamId, email: listed.email, origin: 'manual', sourceId: null }
    const more = { createdAt: T0, reason: null, reply: null, removedAt: null } as const
    await storage().addSuppressions({ teamId, suppressions: [{ ...suppression, ...more }] } as never, T0)
    const id = await sending({ topicId: topic.id })
    await remove(gone.id)
    expect(await enqueue(id)).toEqual({ enqueued: 2, skipped: 1 })
    expect(await enqueue(id)).toEqual({ enqueued: 0, skipped: 0 })
    expect(await get(id)).toMatchObject({
      expanded: 5,
      enqueued: 2,
      skipped: { unsubscribed: 1, topic: 1, deleted: 1 },
    })
    expect(await storage().broadcastLoad({ id }, T0)).toEqual({ '': 1 })
    expect(await lease()).toEqual([plain.email])
    expect(await storage().countBroadcast({ id }, T0)).toEqual({ sent: 1, suppressed: 1 })
  })

  test('queues a recipient once when two processes read the same recipients', async () => {
    const { join, sending, emailTo, lease, get } = await broadcastStage(storage())
    const { id: contactId, email } = await join()
    const id = await sending()
    const put = () =>
      storage().enqueueBroadcast({ id, emails: [emailTo(id, contactId, email)], deleted: [], moved: [] }, T0)
    expect([await put(), await put()]).toEqual([
      { enqueued: 1, skipped: 0 },
      { enqueued: 0, skipped: 0 },
    ])
    expect(await lease()).toEqual([email])
    expect(await get(id)).toMatchObject({ enqueued: 1 })
  })

  test('a recipient whose address changed before queuing is returned again with the new address', async () => {
    const { join, update, sending, emailTo, waiting, enqueue, lease } = await broadcastStage(storage())
    const { id: contactId, email } = await join()
    const id = await sending()
    const old = emailTo(id, contactId, email)
    await update(contactId, {}, undefined, `new-${email}`)
    const args = { id, emails: [old], deleted: [], moved: [] }
    expect(await storage().enqueueBroadcast(args, T0)).toEqual({ enqueued: 0, skipped: 0 })
    expect((await waiting(id)).map(({ contact }) => contact!.email)).toEqual([`new-${email}`])
    await enqueue(id)
    expect(await lease()).toEqual([`new-${email}`])
  })

  test('recipients are grouped by the provider of their domain once it is known', async () => {
    const { domain, join, sending, waiting } = await broadcastStage(storage())
    const { id: contactId } = await join()
    const id = await sending()
    expect(await waiting(id)).toMatchObject([{ contactId, provider: '', moved: false }])
    await storage().place({ domain: `${domain}.example`, provider: 'google', after: undefined }, T0)
    expect(await waiting(id)).toMatchObject([{ contactId, provider: 'google', moved: true }])
    const moved = [{ contactId, provider: 'google' }]
    await storage().enqueueBroadcast({ id, emails: [], deleted: [], moved }, T0)
    expect(await waiting(id, [''])).toMatchObject([{ contactId, provider: 'google', moved: false }])
    expect(await waiting(id, ['google'])).toEqual([])
  })

  test('rechecks recipients before sending, and skips those who opted out or were deleted', async () => {
    const { teamId, join, update, remove, sending, enqueue, lease } = await broadcastStage(storage())
    const [stays, leaves, deleted] = [await join(), await join(), await join()]
    const id = await sending()
    await enqueue(id)
    await update(leaves.id, { unsubscribed: true }, person)
    await remove(deleted.id)
    expect(await lease()).toEqual([stays.email])
    const { items } = await storage().listEmails({ teamId, limit: 9 }, T0)
    expect(items.map(({ lastEvent }) => lastEvent).sort()).toEqual(['failed', 'failed', 'sent'])
  })

  test('reads all recipients even if their segment is deleted after the start', async () => {
    const { teamId, segment, join, draft, start, waiting } = await broadcastStage(storage())
    const contacts = [await join(), await join(), await join()]
    const id = await draft()
    await start(id)
    expect(await storage().expandBroadcast({ id, most: 2 }, T0)).toBe('more')
    await storage().deleteSegment({ teamId, id: segment.id }, T0)
    while (await storage().sweepDeleted({ most: 10 }, T0));
    while ((await storage().expandBroadcast({ id, most: 2 }, T0)) === 'more');
    expect(await waiting(id)).toHaveLength(contacts.length)
  })

  test('previews the recipients of a broadcast before it starts', async () => {
    const { teamId, segment, join, addSegment, addTopic } = await broadcastStage(storage())
    const [topic, other] = [await addTopic(), await addSegment()]
    await join({ firstName: 'Ada' })
    await join({ unsubscribed: true })
    await join({ topics: [{ id: topic.id, subscription: 'opt_out' }] })
    await join({ segmentIds: [segment.id, other.id] })
    const look = (after: string, most: number, contactId?: string) =>
      storage().broadcastCandidates(
        { teamId, segmentId: segment.id, exclude: [other.id], topicId: topic.id, after, most, contactId },
        T0,
      )
    const all = await look('', 9)
    expect(all.next).toBe(null)
    const found = all.candidates
    expect(found.map(({ out }) => out)).toEqual([null, 'unsubscribed', 'topic', 'excluded'])
    expect(found[0]).toMatchObject({ firstName: 'Ada', provider: '' })
    expect(await look('', 3)).toEqual({ candidates: found.slice(0, 3), next: found[2]!.contactId })
    expect(await look(found[2]!.contactId, 9)).toEqual({ candidates: found.slice(3), next: null })
    const only = async (id: string) => (await look('', 1, id)).candidates
    expect([await only(found[1]!.contactId), await only(newId(T0))]).toEqual([[found[1]], []])
  })
}

function stopTests(storage: () => Storage): void {
  const other = (teamId: string) => newEmail(teamId, ['bob@example.net'], T0, { stream: 'broadcast' })

  test('pausing a broadcast holds its queued mail and no other mail', async () => {
    const { teamId, join, sending, enqueue, lease, get } = await broadcastStage(storage())
    const contact = await join()
    const id = await sending()
    await enqueue(id)
    const pause = { teamId, id, reason: 'person', figures: null } as const
    expect(await storage().pauseBroadcast(pause, T0 + 5)).toBe('done')
    expect(await storage().pauseBroadcast({ ...pause, reason: 'bounces' }, T0 + 6)).toBe('wrong_status')
    expect((await get(id))!.paused).toEqual({ at: T0 + 5, reason: 'person', figures: null })
    await storage().put({ emails: [other(teamId)], receipt: null, quota: null }, T0)
    expect(await lease()).toEqual(['bob@example.net'])
    expect(await enqueue(id)).toBeUndefined()
    const release = () => storage().releaseParked({ id, most: 10, expiresAt: T0 + 9 * DAY }, T0)
    expect(await release()).toBe(false)
    expect(await storage().resumeBroadcast({ teamId, id }, T0)).toBe('done')
    expect(await storage().resumeBroadcast({ teamId, id }, T0)).toBe('wrong_status')
    expect([await release(), await release()]).toEqual([true, false])
    expect(await lease()).toEqual([contact.email])
  })

  test('canceling a broadcast cancels its queued mail and skips its remaining recipients', async () => {
    const { teamId, join, sending, emailTo, lease, get } = await broadcastStage(storage())
    const [first] = [await join(), await join()]
    const id = await sending()
    const emails = [emailTo(id, first.id, first.email)]
    await storage().enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0)
    expect(await storage().cancelBroadcast({ teamId, id }, T0)).toBe('canceled')
    expect(await lease()).toEqual([])
    expect(await storage().countBroadcast({ id }, T0)).toEqual({ canceled: 1 })
    const close = () => storage().closeCanceled({ id, most: 10 }, T0 + 9)
    expect([await close(), await close()]).toEqual([true, false])
    expect(await get(id)).toMatchObject({ status: 'canceled', skipped: { canceled: 1 }, finishedAt: T0 + 9 })
  })

  test('canceling a broadcast closes its queued deliveries even if nothing leases them', async () => {
    const { teamId, join, sending, enqueue } = await broadcastStage(storage())
    await join()
    const id = await sending()
    await enqueue(id)
    await storage().cancelBroadcast({ teamId, id }, T0)
    expect(await storage().closeCanceled({ id, most: 10 }, T0)).toBe(true)
    expect(await storage().countBroadcast({ id }, T0)).toEqual({ canceled: 1 })
  })
}

function resultTests(storage: () => Storage): void {
  /** Stores a broadcast that was sent to both of its recipients. */
  async function sent() {
    const stage = await broadcastStage(storage())
    const contacts = [await stage.join(), await stage.join()]
    const id = await stage.sending()
    await stage.enqueue(id)
    const leased = await storage().lease(leaseArgs(), T0 + MINUTE)
    for (const [at, { id: deliveryId, emailId }] of leased.entries()) {
      const email = { ...newEmail(stage.teamId, []), id: emailId }
      const bounced = change(deliveryId, 'bounced', 'email.bounced')
      bounced.event!.data = {
        bounce: { type: 'Permanent', subType: 'General', message: 'no', diagnosticCode: [] },
      }
      const changes = [at === 0 ? change(deliveryId, 'delivered', 'email.delivered') : bounced]
      await storage().settle({ owner: 'one', attempt: newAttempt(email, [deliveryId]), changes }, T0 + 5000)
    }
    return { ...stage, id, contacts, emailIds: leased.map(({ emailId }) => emailId) }
  }

  test('sums results by quarter hour, domain and broadcast, and can recompute them', async () => {
    const { id, teamId } = await sent()
    const ranges = [{ start: T0, end: T0 + DAY }]
    const sums = async (more: object = {}) =>
      (await storage().sumBroadcastMetrics({ teamId, ranges, ...more }, T0))
        .map(({ start, broadcastId, counter, n }) => [start, broadcastId, counter, n])
        .sort()
    // Each email of the stage has its own domain.
    const counted = ['bounced_permanent', 'delivered', 'sent', 'sent'].map((name) => [T0, id, name, 1])
    expect(await sums()).toEqual(counted)
    expect(await sums({ broadcastIds: [newId(T0)] })).toEqual([])
    expect(await sums({ broadcastIds: [id], domainIds: [newId(T0)] })).toEqual([])
    const day = { teamId, start: T0 - (T0 % DAY), end: T0 - (T0 % DAY) + DAY }
    expect(await storage().recomputeMetrics(day, T0)).toEqual({ changed: 0, left: 0 })
    expect(await sums()).toEqual(counted)
    expect(await storage().broadcastNames({ teamId, ids: [id, newId(T0)] }, T0)).toEqual([
      { id, name: 'News' },
    ])
    expect((await storage().countOpenBroadcasts({}, T0)).sending).toBeGreaterThan(0)
  })

  test('finds emails by their broadcast', async () => {
    const { id, teamId, emailIds } = await sent()
    await putEmail(storage(), teamId, ['a@x.test'])
    const list = (broadcastId?: string) => storage().listEmails({ teamId, limit: 9, broadcastId }, T0)
    const ids = emailIds.toSorted().toReversed()
    expect((await list(id)).items.map((one) => one.id)).toEqual(ids)
    expect((await list(id)).items[0]).toMatchObject({ broadcastId: id })
    expect((await list()).items).toHaveLength(3)
    const search = async (filter: object) =>
      (await storage().searchEmails({ teamId, filter: { broadcast: id, ...filter }, limit: 9 }, T0)).items
    expect((await search({})).map((one) => one.id)).toEqual(ids)
    expect(await search({ status: ['bounced'] })).toHaveLength(1)
    expect(await search({ broadcast: newId(T0) })).toEqual([])
  })

  test('finds queued deliveries by their broadcast', async () => {
    const stage = await broadcastStage(storage())
    const { teamId } = stage
    await stage.join()
    const id = await stage.sending()
    await stage.enqueue(id)
    await putEmail(storage(), teamId, ['a@x.test'])
    const queued = async (broadcastId: string) =>
      (await storage().listQueue({ teamId, broadcastId, limit: 9 }, T0)).items.length
    expect([await queued(id), await queued(newId(T0))]).toEqual([1, 0])
    expect(await storage().dropQueue({ teamId, broadcastId: id }, T0)).toMatchObject({ count: 1 })
  })

  test('counts the results of a broadcast, in total, by provider and for its most recent emails', async () => {
    const { id, domain, get } = await sent()
    expect(await storage().countBroadcast({ id }, T0)).toEqual({ delivered: 1, bounced: 1 })
    expect(await storage().recentEmails({ id, since: 0, most: 1 }, T0)).toHaveLength(1)
    const look = (after: string) => storage().broadcastOutcomes({ id, after, most: 1 }, T0)
    const first = await look('')
    expect(first.outcomes).toEqual([
      { provider: `?${domain}.example`, pool: 'default', lastEvent: 'delivered', n: 1 },
    ])
    expect(await look(first.next!)).toMatchObject({ outcomes: [{ lastEvent: 'bounced', n: 1 }] })
    const reach = { opened: 3, clicked: 2, unsubscribed: 1 }
    await storage().saveBroadcastCounts({ id, counts: {}, reach }, T0 + 7)
    expect(await get(id)).toMatchObject({ counts: {}, reach, countedAt: T0 + 7 })
  })

  test('lists the results of a broadcast by recipient, with links and bounces', async () => {
    const { teamId, id, contacts, emailIds, remove } = await sent()
    const hit = (type: NewHit['type'], link?: string): NewHit => ({
      id: newId(T0),
      teamId,
      emailId: emailIds[0]!,
      deliveryId: null,
      type,
      data: link === undefined ? {} : { click: { ipAddress: '', timestamp: '', userAgent: '', link } },
    })
    for (const one of [hit('email.opened'), hit('email.clicked', 'https://a.example/')])
      for (let n = 0; n < 2; n++) await storage().recordHit({ ...one, id: newId(T0) }, T0 + 1)
    await storage().recordHit({ ...hit('email.opened'), data: { robot: true } }, T0 + 1)
    const list = (type: 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced', more = {}) =>
      storage().listBroadcastRecipients({ teamId, id, type, limit: 9, ...more }, T0)
    const [ada, bob] = contacts
    expect((await list('opened')).items).toMatchObject([{ contactId: ada!.id, email: ada!.email, opens: 2 }])
    expect((await list('clicked')).items[0]!.links).toEqual([{ url: 'https://a.example/', clicks: 2 }])
    expect((await list('bounced')).items).toMatchObject([{ email: bob!.email, bounceType: 'Permanent' }])
    expect((await list('bounced', { bounceType: 'Transient' })).items).toEqual([])
    expect((await list('sent', { email: ada!.email.slice(2) })).items).toHaveLength(1)
    const page = await list('sent', { limit: 1 })
    expect(page).toMatchObject({ hasMore: true, items: [{ id: emailIds[1] }] })
    expect((await list('sent', { before: emailIds[0] })).items).toMatchObject([{ id: emailIds[1] }])
    await remove(ada!.id)
    expect((await list('delivered')).items).toMatchObject([{ contactId: null, email: ada!.email }])
    const links = await storage().listClickedLinks({ teamId, id, offset: 0, limit: 5 }, T0)
    expect(links).toEqual({
      items: [{ url: 'https://a.example/', clicks: 2, uniqueClicks: 1 }],
      hasMore: false,
    })
  })

  test('counts and lists the contacts who unsubscribed by the link in a broadcast', async () => {
    const { teamId, id, contacts, emailIds } = await sent()
    const { id: contactId, email: address } = contacts[0]!
    await storage().savePreferences(
      {
        teamId,
        contactId,
        address,
        change: { unsubscribed: true, topics: [] },
        act: { ...person, source: emailIds[0]! },
      },
      T0,
    )
    expect(await storage().broadcastReach({ id }, T0)).toEqual({ opened: 0, clicked: 0, unsubscribed: 1 })
    const args = { teamId, id, type: 'unsubscribed', limit: 9 } as const
    const { items } = await storage().listBroadcastRecipients(args, T0)
    expect(items).toMatchObject([{ contactId, email: address }])
  })
}
