import { afterAll, beforeAll, expect, test } from 'vitest'
import { computeQueueLimits } from '../../appliance/broadcasts/windows.ts'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** A broadcast from an IP that warms up is spread over days, and none of its emails expires meanwhile. */

const DAY = 86_400_000
/** Messages to the provider on the first days. */
const PLAN = [5, 10, 20, 40]
const READERS = 60
const PATIENCE = { timeout: 90_000, interval: 50 }

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({ domains: { 'warm.test': { mx: [{ preference: 10, host: 'mx.warm.test' }] } } })
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  const delivery = {
    allow_networks: ['127.0.0.0/8'],
    port: world.deliveryPort,
    source_ips: ['127.0.0.9'],
  } as unknown as Config['delivery']
  appliance = await startAppliance({ world, config: { http, delivery } })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const answer = await appliance.call<T>(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** The next one, in UTC. */
const midnight = () => (Math.floor(world.clock.now() / DAY) + 1) * DAY

test('the queue for a provider holds no more emails than today’s remaining warm-up limit', () => {
  const rate = { pool: 'default', provider: 'google', perMinute: 60, left: null as number | null }
  const of = (...rates: (typeof rate)[]) => computeQueueLimits(rates, 'default')
  expect(of(rate).of('google')).toBe(900)
  expect(of({ ...rate, left: 7 }).of('google')).toBe(7)
  // A warm IP of the same pool takes the rest; one of another pool doesn't.
  expect(of({ ...rate, left: 7 }, rate).of('google')).toBe(1800)
  expect(of({ ...rate, left: 7 }, { ...rate, pool: 'other' }).of('google')).toBe(7)
  expect(of({ ...rate, left: 0 }).shut).toEqual(['google'])
  const warming = { ...rate, provider: 'default', left: 50 }
  expect([of(warming).of('new.example'), of(warming).of('')]).toEqual([50, 50])
  expect([of(rate).of('new.example'), of(rate).of('')]).toEqual([1000, 2000])
})

test('a broadcast over the warm-up limit takes several days, and every contact gets it', async () => {
  // Early on a day, so that its share is used before the next one begins.
  await world.clock.set(midnight() + 3_600_000)
  await call('PATCH', '/providers/warm.test', { warm_up: PLAN })
  await call('PATCH', '/sources/127.0.0.9', { warm_up: true })
  const arrived = () => world.mailboxOf('mx.warm.test').length
  await appliance.send({ to: 'first@warm.test' })
  await expect.poll(arrived, PATIENCE).toBe(1)
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@warm.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  interface Shown {
    status: string
    counts: Record<string, number>
    in_flight: number | null
  }
  const show = () => call<Shown>('GET', `/broadcasts/${id}`)
  /** Advances the clock unless an email is on the wire: its conversation would run into its timeouts. */
  const later = async () => {
    const shown = await show()
    if ((shown.in_flight ?? 0) === 0) await world.clock.advance(10_000)
    return shown
  }
  let sum = 0
  for (const share of PLAN) {
    sum = Math.min(sum + share, READERS + 1)
    // Nothing is on the wire any more, so that the jump to the next day interrupts no conversation.
    const delivered = sum - 1
    await expect.poll(later, PATIENCE).toMatchObject({ counts: { delivered }, in_flight: 0 })
    expect(arrived()).toBe(sum)
    if (sum > READERS) break
    expect(await show()).toMatchObject({ status: 'queued' })
    await world.clock.set(midnight() + 1000)
  }
  await expect.poll(later, PATIENCE).toMatchObject({ status: 'sent', counts: { delivered: READERS } })
}, 300_000)
