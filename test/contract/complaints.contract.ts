import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { ReturnedMailReport } from '../../appliance/mail/returned.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { audienceStage } from './audience-stage.ts'
import { automationStage } from './automations.contract.ts'
import { change, leaseArgs, newEmail, putArgs, putEmail, T0, unique } from './fixtures.ts'

const LIMITS = { emailMessages: 3, emailBytes: 5000, teamBytes: 20_000, allBytes: 1_000_000 }

/** Tests what a spam report that came by mail changes beside the suppression list. */
export function complaintsContract(storage: () => Storage): void {
  const stageOf = (teamId: string) => {
    const put = (recipient: string, more: Partial<NewEmail> = {}) =>
      putEmail(storage(), teamId, [recipient], T0, more)
    const deliver = async (email: NewEmail) => {
      await storage().lease(leaseArgs(), T0)
      const changes = [change(email.deliveries[0]!.id, 'delivered', 'email.delivered')]
      await storage().settle({ owner: 'one', attempt: null, changes }, T0)
      return email
    }
    const report = async (email: NewEmail) => {
      const id = newId(T0)
      const path = { mailFrom: '', rcptTo: 'bounce+1@send.shop.example', ip: '192.0.2.1', helo: 'mx.example' }
      const message = { id, receivedAt: T0, ...path, tls: null, size: 1, bytes: new Uint8Array(1) }
      await storage().keepReturned({ emailId: email.id, message, limits: LIMITS, proven: true }, T0)
      const { id: deliveryId } = email.deliveries[0]!
      const read: ReturnedMailReport = { kind: 'complaint', format: 'arf', reportingMta: null, entries: [] }
      const complaints = [{ deliveryId, reason: 'Reported.' }]
      await storage().settleReturned({ id, report: read, bounces: [], complaints }, T0 + 1)
    }
    const log = (email: string, contactId = '') => storage().listConsents({ teamId, contactId, email }, T0)
    return { put, deliver, report, log }
  }
  const stage = async () => {
    const all = await audienceStage(storage())
    return { ...all, ...stageOf(all.teamId) }
  }
  const out = { topicId: null, subscription: 'opt_out', origin: 'complaint', via: 'report' }

  test('a complaint about an email with a topic opts the contact out of everything and records the origin', async () => {
    const { teamId, add, addTopic, put, deliver, report, get, told, counts, log } = await stage()
    const topic = await addTopic()
    const ada = await add({ email: `${unique('ada')}@example.com` })
    const email = await deliver(await put(ada.email, { topicId: topic.id }))
    await report(email)
    expect((await get(ada.id))!.optOut).toEqual({ at: T0 + 1, origin: 'complaint' })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
    expect(await log(ada.email, ada.id)).toMatchObject([{ ...out, was: 'opt_in', source: email.id }])
    expect(await told()).toContain('contact.updated')
    await storage().removeSuppressions({ teamId, refs: [{ email: ada.email }] }, T0 + 2)
    expect((await get(ada.id))!.optOut).toEqual({ at: T0 + 1, origin: 'complaint' })
  })

  test('a complaint about an email with a topic to an address without a contact is stored for the address', async () => {
    const { add, addTopic, put, deliver, report, log } = await stage()
    const [topic, address] = [await addTopic(), `${unique('bob')}@example.com`]
    await report(await deliver(await put(address, { topicId: topic.id })))
    expect(await log(address)).toMatchObject([{ ...out, was: null }])
    expect((await add({ email: address, unsubscribed: false })).optOut).toEqual({
      at: T0 + 1,
      origin: 'complaint',
    })
  })

  test('a complaint about an email from an automation opts its contact out', async () => {
    const { teamId, contact, begin, get } = await automationStage(storage())
    const { deliver, report } = stageOf(teamId)
    const email = newEmail(teamId, [contact.email], T0)
    const runId = await begin({
      key: 'mail',
      type: 'send_email',
      status: 'pending',
      dueAt: T0,
      eventName: null,
    })
    const step = { runId, key: 'mail', output: { to: contact.email, email_id: email.id } }
    await storage().put(putArgs(email, { step }), T0)
    await report(await deliver(email))
    expect((await get(contact.id))!.optOut).toEqual({ at: T0 + 1, origin: 'complaint' })
  })

  test('a complaint about other mail changes no subscription', async () => {
    const { add, put, deliver, report, get, log } = await stage()
    const ada = await add({ email: `${unique('ada')}@example.com` })
    await report(await deliver(await put(ada.email)))
    expect((await get(ada.id))!.optOut).toBe(null)
    expect(await log(ada.email, ada.id)).toEqual([])
  })
}
