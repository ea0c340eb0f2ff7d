import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** A broadcast with a rate sends no faster, also after a restart, and the rate can change meanwhile. */

const READERS = 30
/** 360 per hour. */
const INTERVAL = 10_000
const PATIENCE = { timeout: 90_000, interval: 20 }

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test' }] } },
  })
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  appliance = await startAppliance({ world, config: { http } })
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
const arrived = () => world.mailboxOf('mx.customer.test').length

/** Advances the clock until this many arrived, and checks that none was early. */
async function until(count: number, { since, before }: { since: number; before: number }) {
  // What the runner may make up for, and the first one.
  const burst = 2
  await expect
    .poll(async () => {
      await world.clock.advance(1000)
      const got = arrived()
      expect(got - before).toBeLessThanOrEqual(burst + (world.clock.now() - since) / INTERVAL)
      return got
    }, PATIENCE)
    .toBeGreaterThanOrEqual(count)
}

test('a broadcast is spread over the hour, continues at the same rate after a restart, and can be sped up', async () => {
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const began = world.clock.now()
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    emails_per_hour: 360,
  })
  const path = `/broadcasts/${id}`
  await until(6, { since: began, before: 0 })
  expect(await call('GET', path)).toMatchObject({ status: 'queued', emails_per_hour: 360 })

  // An hour of downtime isn't made up for.
  await appliance.restart(() => world.clock.advance(3_600_000))
  const [since, before] = [world.clock.now(), arrived()]
  await until(before + 6, { since, before })

  await call('POST', `${path}/pause`)
  await call('PATCH', path, { emails_per_hour: null })
  expect(await call('GET', path)).toMatchObject({
    emails_per_hour: null,
    paused_at: expect.any(String) as string,
  })
  await call('POST', `${path}/resume`)
  await expect
    .poll(async () => {
      await world.clock.advance(1000)
      return (await call<{ status: string }>('GET', path)).status
    }, PATIENCE)
    .toBe('sent')
  await expect.poll(arrived, PATIENCE).toBe(READERS)
  const refused = await appliance.call<{ message: string }>('PATCH', path, { emails_per_hour: 5 })
  expect(refused.status).toBe(403)
}, 300_000)

test.each([0, -1, 1.5, 1_000_001, '60'])(
  'rejects a rate of %j with an error that names the field',
  async (rate) => {
    const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Nobody' })
    const refused = await appliance.call<{ message: string }>('POST', '/broadcasts', {
      segment_id: segment,
      from: `news@${appliance.domain}`,
      subject: 'News',
      html: '<p>Hi</p>',
      emails_per_hour: rate,
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('emails_per_hour') as string,
    ])
  },
)

test('a copy of a broadcast has the rate of the original', async () => {
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Nobody' })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    html: '<p>Hi</p>',
    emails_per_hour: 1200,
  })
  const copy = await call<{ id: string }>('POST', `/broadcasts/${id}/duplicate`)
  expect(await call('GET', `/broadcasts/${copy.id}`)).toMatchObject({ emails_per_hour: 1200 })
})
