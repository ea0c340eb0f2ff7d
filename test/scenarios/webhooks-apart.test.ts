import type { Resend } from 'resend'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { isFinal, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import type { World } from '../world/world.ts'
import { openStage, type Stage } from './webhook-stage.ts'

/**
 * Tests that endpoints receive every event. Uses its own appliance, so that no other test's mail is in flight and
 * causes events.
 */

let stage: Stage
let world: World
let appliance: TestAppliance
let client: Resend
const endpoint = (events?: Parameters<Stage['endpoint']>[0]) => stage.endpoint(events)

beforeAll(async () => {
  stage = await openStage()
  ;({ world, appliance } = stage)
  client = stage.client()
})
afterEach(() => stage.clear())
afterAll(() => stage.close())

const send = (to = 'ada@busy.test') => appliance.send({ to })

/** Waits until the outcomes of `count` requests are recorded. */
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

test('events missed while an endpoint was disabled can be replayed by time', async () => {
  const { receiver, id } = await endpoint(['email.delivered'])
  const other = await endpoint(['email.delivered'])
  const since = new Date(world.clock.now()).toISOString()
  await appliance.until(await send(), isFinal)
  await recorded(id, 1)
  await client.webhooks.update(id, { status: 'disabled' })
  await appliance.until(await send('grace@busy.test'), isFinal)
  // All endpoints for an event are found at once.
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

test('an endpoint that hangs, fails or gets many events does not delay others', async () => {
  const good = await endpoint(['email.delivered'])
  const dead = [await endpoint(), await endpoint(), await endpoint()]
  dead[0]!.receiver.behave(() => undefined)
  dead[1]!.receiver.behave((_, response) => response.writeHead(500).end())
  dead[2]!.receiver.behave((_, response) => {
    response.on('error', () => undefined)
    const more = (): void => {
      while (!response.destroyed)
        if (!response.write('x'.repeat(65_536))) return void response.once('drain', more)
    }
    more()
  })
  // From here on, no timer of ten seconds or more fires, of endpoints or mail. Anything that depends on one would wait
  // forever.
  const after = world.clock.after.bind(world.clock)
  const late = new Set<() => void>()
  world.clock.after = (ms, callback) => {
    if (ms < 10_000 || ms > 60_000) return after(ms, callback)
    late.add(callback)
    return () => void late.delete(callback)
  }
  await Promise.all(Array.from({ length: 40 }, (_, n) => send(`user${n}@busy.test`)))
  const all = await good.receiver.waitFor(40)
  expect(new Set(all.map(({ headers }) => headers['svix-id'])).size).toBe(40)
  await dead[0]!.receiver.waitFor(1)
  expect(late.size).toBeGreaterThan(0)
  world.clock.after = after
  for (const callback of late) callback()
})
