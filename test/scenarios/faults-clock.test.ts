import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClock } from '../world/clock.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { firstOf, on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests jumps of the clock, as when a virtual machine resumes or someone sets the time. Timers run on real time. */

const HOUR = 3_600_000

let world: World
let appliance: TestAppliance
let offset = 0

const jumping: TestClock = {
  now: () => Date.now() + offset,
  steady: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), 2_147_483_647))
    timer.unref()
    return () => clearTimeout(timer)
  },
  advance: () => Promise.reject(new Error('this clock jumps')),
  set: () => Promise.reject(new Error('this clock jumps')),
}

beforeAll(async () => {
  world = await createWorld({
    domains: { 'away.test': { mx: [{ preference: 10, host: 'mx.away.test' }] } },
  })
  appliance = await startAppliance({ world: { ...world, clock: jumping } })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const stateOf = async (id: string) => (await appliance.timeline(id)).deliveries[0]!.state
const delivered = (id: string) =>
  appliance.until(id, (timeline) => timeline.deliveries[0]!.state === 'delivered')
const copiesOf = (to: string) =>
  [...world.mailboxOf('mx.away.test')].filter(({ envelope }) => envelope.to.includes(to)).length
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Defers `later…` once. Delays the reply for `slow…` until the returned function is called. */
function behave(): () => void {
  const held = Promise.withResolvers<undefined>()
  world
    .exchanger('mx.away.test')
    .behave(
      firstOf(
        on('rcpt', '451 4.3.0 later', { address: /^later/, times: 1 }),
        on('rcpt', { until: held.promise }, { address: /^slow/ }),
      ),
    )
  return () => held.resolve(undefined)
}

/** Sends an email. Returns once its server has received RCPT, to which it hasn't replied yet. */
async function sendSlow(to: string): Promise<string> {
  const id = await appliance.send({ to })
  const asked = () => world.exchanger('mx.away.test').steps.map(({ address }) => address)
  await expect.poll(asked).toContain(to)
  return id
}

test('a clock set a day forward causes no second copy of mail in flight, and one retry of deferred mail', async () => {
  const answer = behave()
  const later = await appliance.send({ to: 'later1@away.test' })
  await appliance.until(later, ({ attempts }) => attempts.length === 1)
  const slow = await sendSlow('slow1@away.test')
  expect(await stateOf(slow)).toBe('waiting')
  offset += 24 * HOUR
  const fresh = await appliance.send({ to: 'fresh1@away.test' })
  for (const id of [fresh, later]) await delivered(id)
  answer()
  await delivered(slow)
  await pause(500)
  expect(['later1', 'slow1', 'fresh1'].map((name) => copiesOf(`${name}@away.test`))).toEqual([1, 1, 1])
  expect((await appliance.timeline(later)).attempts).toHaveLength(2)
  expect((await appliance.timeline(slow)).attempts).toHaveLength(1)
})

test('a clock set an hour back keeps leases, sends new mail at once, and does not retry deferred mail', async () => {
  const answer = behave()
  const later = await appliance.send({ to: 'later2@away.test' })
  await appliance.until(later, ({ attempts }) => attempts.length === 1)
  const slow = await sendSlow('slow2@away.test')
  offset -= HOUR
  const fresh = await appliance.send({ to: 'fresh2@away.test' })
  await delivered(fresh)
  answer()
  await delivered(slow)
  expect([await stateOf(later), copiesOf('slow2@away.test'), copiesOf('fresh2@away.test')]).toEqual([
    'waiting',
    1,
    1,
  ])
  expect((await appliance.timeline(later)).attempts).toHaveLength(1)
})
