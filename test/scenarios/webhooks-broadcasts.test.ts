import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/** A webhook without broadcasts receives the events of single emails only. */

const READERS = 3

let world: World
let appliance: TestAppliance
const receivers: Receiver[] = []
beforeAll(async () => {
  world = await createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test' }] } },
  })
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  appliance = await startAppliance({ world, config: { http, webhooks } })
})
afterAll(async () => {
  await appliance.close()
  for (const receiver of receivers) await receiver.close()
  await world.close()
})

const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const answer = await appliance.call<T>(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

async function endpoint(more: object) {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const events = ['email.sent', 'email.delivered']
  const { id } = await call<{ id: string }>('POST', '/webhooks', { endpoint: receiver.url, events, ...more })
  const emailIds = () =>
    receiver.received.map(({ body }) => (JSON.parse(body) as { data: { email_id: string } }).data.email_id)
  return { id, receiver, emailIds }
}

test('a webhook without broadcasts gets only events of single emails, and another one gets all events', async () => {
  const since = new Date(world.clock.now() - 60_000).toISOString()
  const all = await endpoint({})
  const single = await endpoint({ broadcasts: false })
  expect(await call('GET', `/webhooks/${all.id}`)).toMatchObject({ broadcasts: true })
  expect(await call('GET', '/webhooks')).toMatchObject({
    data: [
      { id: single.id, broadcasts: false },
      { id: all.id, broadcasts: true },
    ],
  })

  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  await call('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  await all.receiver.waitFor(2 * READERS)
  // Events are handled in order, so the events of this email come after those of the broadcast.
  const id = await appliance.send({ to: 'single@customer.test' })
  await single.receiver.waitFor(2)
  await all.receiver.waitFor(2 * READERS + 2)
  expect(single.emailIds()).toEqual([id, id])
  expect(all.emailIds().filter((one) => one === id)).toHaveLength(2)

  const replay = (webhook: string) =>
    call<{ events: number }>('POST', `/webhooks/${webhook}/replay`, { since, only: 'all' })
  expect(await replay(single.id)).toMatchObject({ events: 2 })
  await call('PATCH', `/webhooks/${single.id}`, { events: null, broadcasts: true })
  expect(await replay(single.id)).toMatchObject({ events: 2 * READERS + 2 })
  await call('PATCH', `/webhooks/${single.id}`, { broadcasts: null })
  expect(await call('GET', `/webhooks/${single.id}`)).toMatchObject({ broadcasts: true })
})

test('rejects values of broadcasts other than true and false, and changes nothing', async () => {
  const one = await endpoint({ broadcasts: false })
  const refused = await appliance.call<{ message: string }>('PATCH', `/webhooks/${one.id}`, {
    broadcasts: 'sometimes',
  })
  expect([refused.status, refused.body.message]).toEqual([
    422,
    expect.stringContaining('`broadcasts`') as string,
  ])
  expect(await call('GET', `/webhooks/${one.id}`)).toMatchObject({ broadcasts: false })
})
