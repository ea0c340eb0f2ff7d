import { afterEach, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests what an email's timeline says about the time between attempts. */

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

const MINUTE = 60_000

async function begin(): Promise<void> {
  world = await createWorld({ domains: { 'slow.test': { mx: [{ preference: 10, host: 'mx.slow.test' }] } } })
  appliance = await startAppliance({ world })
}

/** Returns the waits of an email in a final state: seconds and reason. */
async function waitsOf(id: string) {
  const timeline = await appliance.until(id, isFinal)
  return timeline.waits.map(({ from, until, reason, why }) => ({
    seconds: (Date.parse(until) - Date.parse(from)) / 1000,
    reason,
    why,
  }))
}

test('a rate limit is shown as the reason for waiting, and the acceptance time stays the same', async () => {
  await begin()
  const first = await appliance.send({ to: 'a@slow.test' })
  expect(await waitsOf(first)).toEqual([])
  await appliance.call('PATCH', '/providers/slow.test', { messages_per_minute: 1 })
  const ids = [await appliance.send({ to: 'b@slow.test' }), await appliance.send({ to: 'c@slow.test' })]
  const accepted = (await appliance.timeline(ids[1]!)).accepted_at
  await appliance.until(ids[0]!, isFinal)
  await world.clock.advance(3 * MINUTE)
  const waits = await waitsOf(ids[1]!)
  expect(waits).toMatchObject([{ reason: 'rate', why: 'rate limit of one message a minute to slow.test' }])
  expect(waits[0]!.seconds).toBeGreaterThan(30)
  expect((await appliance.timeline(ids[1]!)).accepted_at).toBe(accepted)
})

test('a held or scheduled delivery shows that as its reason for waiting', async () => {
  await begin()
  const scheduledAt = new Date(world.clock.now() + 10 * MINUTE).toISOString()
  const id = await appliance.send({ to: 'a@slow.test', scheduled_at: scheduledAt })
  const filter = { email_id: id }
  expect((await appliance.call('POST', '/queue/hold', { filter, all: false })).status).toBe(200)
  await world.clock.advance(30 * MINUTE)
  await appliance.call('POST', '/queue/release', { filter, all: false })
  const waits = await waitsOf(id)
  expect(waits.map(({ reason, why }) => [reason, why])).toEqual([
    ['scheduled', 'scheduled by the sender'],
    ['held', 'held by an operator'],
  ])
  expect(waits.map(({ seconds }) => Math.round(seconds / 60))).toEqual([10, 20])
})
