import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { computeQueueLimit } from '../../appliance/broadcasts/windows.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** A slow provider neither delays readers at another provider nor fills a queue; a paused lane sends nothing. */

const READERS = 300
const PATIENCE = { timeout: 90_000, interval: 50 }

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  const domain = (name: string) => ({ mx: [{ preference: 10, host: `mx.${name}` }] })
  world = await createWorld({
    domains: {
      'slow.test': domain('slow.test'),
      'fast.test': domain('fast.test'),
      'large.test': { mx: [{ preference: 10, host: 'mx.google.com' }] },
    },
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

test('the queue holds what a lane sends in a quarter hour, within a minimum and maximum', () => {
  expect([undefined, 0, 2, 60, 1_000_000].map(computeQueueLimit)).toEqual([1000, 100, 100, 900, 20_000])
})

test('contacts at a fast provider get a broadcast while those at a slow provider wait', async () => {
  // Both providers are known, and the slow one's lane sends two messages per minute.
  await call('PATCH', '/providers/slow.test', { messages_per_minute: 2 })
  for (const name of ['slow', 'fast']) {
    await appliance.send({ to: `first@${name}.test` })
    await vi.waitFor(() => expect(world.mailboxOf(`mx.${name}.test`)).toHaveLength(1), PATIENCE)
  }
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  for (const name of ['slow', 'fast']) {
    const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@${name}.test`)
    await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  }
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  await vi.waitFor(async () => {
    // The broadcast runner polls every second of the world's clock.
    await world.clock.advance(1000)
    expect(world.mailboxOf('mx.fast.test')).toHaveLength(1 + READERS)
  }, PATIENCE)
  expect(world.mailboxOf('mx.slow.test').length).toBeLessThan(READERS / 2)
  expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'queued', recipients: 2 * READERS })
  const queued = await call<{ count: number }>('GET', `/queue/summary?broadcast=${id}&provider=slow.test`)
  expect(queued.count).toBeGreaterThan(0)
  expect(queued.count).toBeLessThanOrEqual(computeQueueLimit(2))
  const ofSlow = async () => {
    await world.clock.advance(1000)
    const { providers } = await call<{ providers: { provider: string }[] }>(
      'GET',
      `/broadcasts/${id}/results`,
    )
    return providers.find(({ provider }) => provider === 'slow.test')
  }
  const state = expect.stringMatching(/^(?:Sending now, at most|Rate limit of) 2 messages a minute/) as string
  await expect.poll(ofSlow, PATIENCE).toMatchObject({ name: 'slow.test', state })
  await call('POST', `/broadcasts/${id}/cancel`)
}, 200_000)

test('the results list providers with the reason why each has waiting emails', async () => {
  await appliance.send({ to: 'first@large.test' })
  await vi.waitFor(() => expect(world.mailboxOf('mx.google.com')).toHaveLength(1), PATIENCE)
  await call('POST', '/lanes/auto~google/pause', {})
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Large' })
  const emails = ['one@large.test', 'two@large.test']
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'Large',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const seen = async () => {
    // A provider table is kept for ten seconds.
    await world.clock.advance(10_000)
    return (await call<{ providers: object[] }>('GET', `/broadcasts/${id}/results`)).providers
  }
  const state = expect.stringMatching(/^Paused until an operator resumes it: /) as string
  await expect
    .poll(seen, PATIENCE)
    .toEqual([expect.objectContaining({ provider: 'google', name: 'Google', waiting: 2, state })])
  await call('POST', `/broadcasts/${id}/pause`)
  expect(await seen()).toMatchObject([{ name: 'Google', waiting: 2, state: null }])
  await call('POST', `/broadcasts/${id}/resume`)
  await call('POST', '/lanes/auto~google/resume', {})
  await expect
    .poll(seen, PATIENCE)
    .toEqual([expect.objectContaining({ name: 'Google', waiting: 0, delivered: 2, state: null })])
}, 200_000)

test('a broadcast whose lane is paused counts none of its emails as sent', async () => {
  const lane = '/lanes/auto~fast.test'
  await call('POST', `${lane}/pause`, {})
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Few' })
  const emails = ['one@fast.test', 'two@fast.test']
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'Paused',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const seen = async () => {
    await world.clock.advance(1000)
    const { status, counts, recipients } = await call<Record<string, unknown>>('GET', `/broadcasts/${id}`)
    return { status, counts, recipients }
  }
  await vi.waitFor(
    async () => expect(await seen()).toEqual({ status: 'queued', counts: { queued: 2 }, recipients: 2 }),
    PATIENCE,
  )
  expect(await seen()).toEqual({ status: 'queued', counts: { queued: 2 }, recipients: 2 })
  expect(await call('GET', `/broadcasts/${id}/recipients?type=sent`)).toMatchObject({ data: [] })
  await call('POST', `${lane}/resume`, {})
  await vi.waitFor(async () => expect(await seen()).toMatchObject({ status: 'sent' }), PATIENCE)
  expect(await call('GET', `/broadcasts/${id}/recipients?type=sent`)).toMatchObject({ data: [{}, {}] })
})

test('a broadcast is not marked as sent while its last email is in flight', async () => {
  const held = Promise.withResolvers<void>()
  const exchanger = world.exchanger('mx.fast.test')
  exchanger.behave(({ command }) => (command === 'message' ? { until: held.promise } : undefined))
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Last' })
  await call('POST', '/contacts/batch/add', { emails: ['last@fast.test'], segment_ids: [segment] })
  const messages = () => exchanger.steps.filter(({ command }) => command === 'message').length
  const before = messages()
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'Last',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const statusAfter = async (milliseconds: number) => {
    await world.clock.advance(milliseconds)
    return (await call<{ status: string }>('GET', `/broadcasts/${id}`)).status
  }
  await vi.waitFor(async () => {
    await world.clock.advance(1000)
    expect(messages()).toBe(before + 1)
  }, PATIENCE)
  for (let look = 0; look < 5; look++) expect(await statusAfter(2000)).toBe('queued')
  held.resolve()
  exchanger.behave(undefined)
  await expect.poll(() => statusAfter(1000), PATIENCE).toBe('sent')
})
