import { Resend } from 'resend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/** What endpoints hear, to the last event: in an appliance in which no other test's mail is still under way and told, too. */

let world: World
let appliance: TestAppliance
let client: Resend
const receivers: Receiver[] = []

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  appliance = await startAppliance({ world, config: { webhooks } })
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
})
afterAll(async () => {
  for (const receiver of receivers) await receiver.close()
  await appliance.close()
  await world.close()
})

async function endpoint(events: 'email.delivered'[]) {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const { data, error } = await client.webhooks.create({ endpoint: receiver.url, events })
  expect(error).toBeNull()
  return { receiver, id: data!.id }
}

const send = (to = 'ada@busy.test') => appliance.send({ to })

/** The outcomes of so many requests are written down. */
const recorded = (id: string, count: number) =>
  expect
    .poll(
      async () => {
        const path = `/webhooks/${id}/attempts?limit=100`
        return (await appliance.call<{ data: unknown[] }>('GET', path)).body.data.length
      },
      { timeout: PATIENCE },
    )
    .toBe(count)

test('what an endpoint missed while it was disabled is replayed by time', async () => {
  const { receiver, id } = await endpoint(['email.delivered'])
  const other = await endpoint(['email.delivered'])
  const since = new Date(world.clock.now()).toISOString()
  await appliance.until(await send(), isFinal)
  await recorded(id, 1)
  await client.webhooks.update(id, { status: 'disabled' })
  await appliance.until(await send('grace@busy.test'), isFinal)
  // All endpoints that an event is for are found at once.
  await other.receiver.waitFor(2)
  await client.webhooks.update(id, { status: 'enabled' })
  expect(receiver.received).toHaveLength(1)
  const replay = (body: object) =>
    appliance.call<{ events: number }>('POST', `/webhooks/${id}/replay`, { since, ...body })
  expect((await replay({})).body).toEqual({ object: 'webhook', id, events: 1 })
  await receiver.waitFor(2)
  expect(receiver.received[1]!.body).toContain('grace@busy.test')
  await recorded(id, 2)
  expect((await replay({ only: 'all' })).body).toMatchObject({ events: 2 })
  await receiver.waitFor(4)
  expect(await replay({ until: since })).toMatchObject({ status: 422 })
})
