import { expect, test } from 'vitest'
import type { Storage, Topic } from '../../appliance/storage/storage.ts'
import { audienceStage, person } from './audience-stage.ts'
import { leaseArgs, newEmail, putEmail, T0 } from './fixtures.ts'

/** Tests of who gets an email about a topic. */
export function topicMailContract(storage: () => Storage): void {
  const everything = 'Not sent: the recipient unsubscribed from everything.'
  const left = 'Not sent: the recipient unsubscribed from the topic "News".'
  const stage = async (more: Partial<Topic> = {}) => {
    const made = await audienceStage(storage())
    const topic = await made.addTopic({ name: 'News', ...more })
    const send = (recipients: string[], at = T0) =>
      putEmail(storage(), made.teamId, recipients, T0, {
        topicId: topic.id,
        deliveries: newEmail(made.teamId, recipients, at).deliveries,
      })
    const deliveries = async (id: string) => {
      const { deliveries, events } = await storage().getHistory({ teamId: made.teamId, id }, T0)
      const lastEvent = (await storage().getEmail({ teamId: made.teamId, id }, T0))!.lastEvent
      const rows = deliveries.map(({ state, cause }) => [state, cause?.note])
      return { rows, lastEvent, events: events.map(({ type, data }) => [type, data.failed?.reason]) }
    }
    const chose = (subscription: 'opt_in' | 'opt_out') => [{ id: topic.id, subscription }]
    return { ...made, topic, send, deliveries, chose }
  }

  test('mail with a topic is sent to subscribers of the topic, and fails for others', async () => {
    const { add, remove, send, deliveries, chose } = await stage()
    const subscribed = await add({ topics: chose('opt_in') })
    const out = await add({ topics: chose('opt_out') })
    const unsubscribed = await add({ unsubscribed: true, topics: chose('opt_in') })
    const [goneFromTopic, goneFromAll] = [
      await add({ topics: chose('opt_out') }),
      await add({ unsubscribed: true }),
    ]
    for (const { id } of [goneFromTopic, goneFromAll]) await remove(id)
    const all = [subscribed, out, unsubscribed, goneFromTopic, goneFromAll].map(({ email }) => email)
    const { id } = await send([...all, 'stranger@example.com'])
    expect(await deliveries(id)).toEqual({
      rows: [
        ['waiting', undefined],
        ['failed', left],
        ['failed', everything],
        ['failed', left],
        ['failed', everything],
        ['waiting', undefined],
      ],
      lastEvent: 'queued',
      events: [left, everything, left, everything].map((reason) => ['email.failed', reason]),
    })
    const leased = await storage().lease(leaseArgs(), T0)
    const mine = leased.filter(({ emailId }) => emailId === id).map(({ recipient }) => recipient)
    expect(mine).toEqual([subscribed.email, 'stranger@example.com'])
  })

  test('mail with an opt-in topic is sent only to contacts who opted in', async () => {
    const { add, send, deliveries, chose } = await stage({ defaultSubscription: 'opt_out' })
    const [asked, silent] = [await add({ topics: chose('opt_in') }), await add()]
    const { id } = await send([silent.email, 'stranger@example.com'])
    const why = 'Not sent: the recipient isn\'t subscribed to the topic "News".'
    const failed = ['failed', why]
    expect(await deliveries(id)).toEqual({
      rows: [failed, failed],
      lastEvent: 'failed',
      events: [
        ['email.failed', why],
        ['email.failed', why],
      ],
    })
    const [capitals] = (await deliveries((await send([asked.email.toUpperCase()])).id)).rows
    expect(capitals).toEqual(['waiting', undefined])
  })

  test('mail with a topic respects choices made while it was queued; if the topic is deleted, only full opt-outs', async () => {
    const { teamId, topic, add, update, send, deliveries, chose } = await stage()
    const [ada, bob, eve] = [await add(), await add(), await add()]
    const later = T0 + 1000
    const { id } = await send([ada.email, bob.email, eve.email], later)
    const choice = { teamId, ref: { id: ada.id }, topics: chose('opt_out'), act: person }
    await storage().setContactTopics(choice, T0)
    await update(bob.id, { unsubscribed: true })
    const leased = await storage().lease(leaseArgs({ leaseUntil: later + 1000 }), later)
    expect(leased.filter(({ emailId }) => emailId === id).map(({ recipient }) => recipient)).toEqual([
      eve.email,
    ])
    expect((await deliveries(id)).rows).toEqual([
      ['failed', left],
      ['failed', everything],
      ['waiting', undefined],
    ])
    const waiting = await send([ada.email.replace('ada', 'new'), bob.email])
    await storage().deleteTopic({ teamId, id: topic.id }, T0)
    const after = await send([ada.email, bob.email])
    expect((await deliveries(waiting.id)).rows).toEqual([
      ['waiting', undefined],
      ['failed', everything],
    ])
    expect((await deliveries(after.id)).rows).toEqual([
      ['waiting', undefined],
      ['failed', everything],
    ])
  })

  test('mail with a topic of another team ignores the topic', async () => {
    const [one, other] = [await stage(), await stage({ defaultSubscription: 'opt_out' })]
    const ada = await one.add()
    const mail = await putEmail(storage(), one.teamId, [ada.email], T0, { topicId: other.topic.id })
    expect((await one.deliveries(mail.id)).rows).toEqual([['waiting', undefined]])
  })
}
