import type { Resend } from 'resend'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { TestAppliance } from '../world/appliance.ts'
import type { Receiver } from '../world/receiver.ts'
import type { World } from '../world/world.ts'
import { PATIENCE } from '../world/patience.ts'
import { ALL, openStage, type Stage } from './webhook-stage.ts'

/** Tests webhooks from the app's side: the whole appliance, real receivers, the official client. */

const HOUR = 3_600_000

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
afterEach(async () => {
  await stage.clear()
  world.exchanger('mx.busy.test').behave(undefined)
})
afterAll(() => stage.close())

const send = (to = 'ada@busy.test') => appliance.send({ to, tags: [{ name: 'kind', value: 'welcome' }] })
const typesOf = (receiver: Receiver) =>
  receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + PATIENCE
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error('it did not come to pass')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Waits until the outcomes of `count` requests are recorded. Time must not advance before. */
const recorded = (id: string, count: number) =>
  until(async () => {
    const { body } = await appliance.call<{ data: unknown[] }>('GET', `/webhooks/${id}/attempts?limit=100`)
    return body.data.length >= count ? body : undefined
  })

describe('the official client', () => {
  test('the official client creates, reads, updates, rotates and removes endpoints', async () => {
    const { id, secret, receiver } = await endpoint()
    expect(secret).toMatch(/^whsec_/)
    expect((await client.webhooks.get(id)).data).toMatchObject({
      object: 'webhook',
      id,
      endpoint: receiver.url,
      events: [...ALL],
      status: 'enabled',
      signing_secret: secret,
    })
    expect((await client.webhooks.list()).data).toMatchObject({
      object: 'list',
      has_more: false,
      data: [{ id }],
    })
    const update = await client.webhooks.update(id, { status: 'disabled', events: ['email.bounced'] })
    expect(update.data).toEqual({ object: 'webhook', id })
    expect((await client.webhooks.get(id)).data).toMatchObject({
      status: 'disabled',
      events: ['email.bounced'],
    })
    const rotated = await client.webhooks.rotateSigningSecret(id)
    expect(rotated.data).toMatchObject({ object: 'webhook', id })
    expect(rotated.data!.signing_secret).not.toBe(secret)
    expect((await client.webhooks.remove(id)).data).toEqual({ object: 'webhook', id, deleted: true })
    expect((await client.webhooks.get(id)).error).toMatchObject({
      statusCode: 404,
      message: 'Webhook not found',
    })
  })

  test('the official client gets the reason why an endpoint is rejected', async () => {
    const create = (url: string, events: string[]) =>
      appliance.call<{ message: string }>('POST', '/webhooks', { endpoint: url, events })
    expect(await create('https://10.0.0.1/', ['email.sent'])).toMatchObject({
      status: 422,
      body: {
        message: expect.stringContaining(
          'Invalid `endpoint` field: a URL on a host with a public address',
        ) as string,
      },
    })
    expect(await create('https://app.example/', ['email.snet'])).toMatchObject({
      status: 422,
      body: {
        message: expect.stringContaining(
          'Invalid `events` field: "email.snet" is not an event type',
        ) as string,
      },
    })
    expect(await create('https://app.example/', [])).toMatchObject({ status: 422 })
  })

  test('the official client verifies webhook signatures, as do Svix and Standard Webhooks', async () => {
    const { receiver, secret } = await endpoint()
    const id = await send()
    await receiver.waitFor(2)
    expect(typesOf(receiver).toSorted()).toEqual(['email.delivered', 'email.sent'])
    for (const { headers, body } of receiver.received) {
      const official = {
        id: headers['svix-id']!,
        timestamp: headers['svix-timestamp']!,
        signature: headers['svix-signature']!,
      }
      const event = client.webhooks.verify({ payload: body, headers: official, webhookSecret: secret })
      expect(event.data).toMatchObject({ email_id: id, to: ['ada@busy.test'], tags: { kind: 'welcome' } })
      expect(Object.keys(event)).toEqual(['type', 'created_at', 'data'])
      new Svix(secret).verify(body, headers)
      expect(new StandardWebhook(secret).verify(body, headers)).toEqual(event)
    }
    expect(new Set(receiver.received.map(({ headers }) => headers['svix-id'])).size).toBe(2)
  })

  test('the official client reads events, payloads and attempts, and replays events', async () => {
    const { receiver, id: webhookId } = await endpoint(['email.delivered'])
    receiver.behave((_, response) => response.writeHead(503).end('not now'))
    await send()
    await receiver.waitFor(1)
    const event = await until(async () => {
      const { data } = await client.webhooks.events.list({ webhookId })
      return data?.data.find(({ status }) => status === 'pending')
    })
    expect(event).toMatchObject({ type: 'email.delivered' })
    const eventId = event.id
    const detail = await client.webhooks.events.get({ webhookId, eventId })
    expect(detail.data).toMatchObject({
      object: 'webhook_event',
      id: eventId,
      next_attempt_at: expect.any(String) as string,
      payload: { type: 'email.delivered', data: { to: ['ada@busy.test'] } },
    })
    const attempts = await client.webhooks.events.attempts.list({ webhookId, eventId })
    expect(attempts.data?.data).toMatchObject([{ http_status_code: 503, response: 'not now' }])
    receiver.behave()
    const replay = await client.webhooks.events.replay({ webhookId, eventId })
    expect(replay.data).toEqual({ object: 'webhook_event', id: eventId })
    await receiver.waitFor(2)
    expect(receiver.received[1]!.headers['svix-id']).toBe(eventId)
    await until(async () => {
      const { data } = await client.webhooks.events.get({ webhookId, eventId })
      return data?.status === 'success' ? data : undefined
    })
  })
})

test('signs events with both secrets after a rotation', async () => {
  const { receiver, id, secret } = await endpoint(['email.sent'])
  const fresh = (await client.webhooks.rotateSigningSecret(id)).data!.signing_secret
  await send()
  const [one] = await receiver.waitFor(1)
  for (const each of [secret, fresh]) new Svix(each).verify(one!.body, one!.headers)
  expect(() => new Svix('whsec_AAAA').verify(one!.body, one!.headers)).toThrow()
})

test('retries a failed delivery under the same ID with a new signature', async () => {
  const { receiver, id, secret } = await endpoint(['email.sent'])
  receiver.behave((_, response) => response.writeHead(500).end())
  await send()
  const [first] = await receiver.waitFor(1)
  await recorded(id, 1)
  const again = () =>
    receiver.received.filter(({ headers }) => headers['svix-id'] === first!.headers['svix-id'])
  for (const [count, pause] of [
    [2, 7000],
    [3, 400_000],
  ] as const) {
    await world.clock.advance(pause)
    // A test appliance polls for due work only once per hour.
    await send()
    await expect.poll(() => again().length).toBe(count)
    await recorded(id, receiver.received.length)
  }
  const same = again()
  expect(new Set(same.map(({ body }) => body)).size).toBe(1)
  const times = same.map(({ headers }) => Number(headers['svix-timestamp']))
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(5)
  expect(new Set(same.map(({ headers }) => headers['svix-signature'])).size).toBe(same.length)
  expect(secret).toMatch(/^whsec_/)
})

test('a ping returns its result and is listed among the attempts', async () => {
  // An event type that the previous test's mail can't cause any more.
  const { receiver, id } = await endpoint(['email.bounced'])
  const ping = () => appliance.call<{ id: string; status: string }>('POST', `/webhooks/${id}/ping`)
  expect(await ping()).toMatchObject({
    status: 200,
    body: { object: 'webhook_event', status: 'success', attempt: { http_status_code: 200, error: null } },
  })
  expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({
    type: 'webhook.ping',
    data: { webhook_id: id },
  })
  receiver.behave((_, response) => response.writeHead(301, { location: 'https://elsewhere.test/' }).end())
  expect((await ping()).body).toMatchObject({
    status: 'failed',
    attempt: {
      http_status_code: 301,
      error: expect.stringContaining('redirects are not followed') as string,
    },
  })
  const log = await appliance.call<{ data: unknown[] }>('GET', `/webhooks/${id}/attempts`)
  expect(log.body.data).toMatchObject([{ http_status_code: 301 }, { http_status_code: 200 }])
})

/**
 * Waits until the event of this email was attempted and no request is due or in flight, or the webhook is disabled.
 * Time must not advance before. Returns the webhook.
 */
const attempted = (id: string, emailId: string) =>
  until(async () => {
    const events = await appliance.call<{
      data: { email_id: string; status: string; attempts: number; next_attempt_at: string | null }[]
    }>('GET', `/webhooks/${id}/events?limit=100`)
    const { body } = await appliance.call<{ status: string; failing_since: string }>('GET', `/webhooks/${id}`)
    const isAttempted = events.body.data.some((one) => one.email_id === emailId && one.attempts > 0)
    const isIdle = events.body.data.every(
      ({ status, next_attempt_at: next }) =>
        status !== 'attempting' && (next === null || Date.parse(next) > world.clock.now()),
    )
    return body.status === 'disabled' || (isAttempted && isIdle) ? body : undefined
  })

test('disables an endpoint that fails for five days, with a reason', async () => {
  const { receiver, id } = await endpoint(['email.sent'])
  receiver.behave((_, response) => response.writeHead(500).end())
  for (let n = 0; n < 9; n++) {
    await attempted(id, await send())
    await world.clock.advance(12 * HOUR)
  }
  const { failing_since: since } = await attempted(id, await send())
  // Within the last half hour, the appliance doesn't poll, so no request is in flight when time advances.
  await world.clock.set(Date.parse(since) + 4 * 24 * HOUR + 23.5 * HOUR)
  expect(await attempted(id, await send())).toMatchObject({ status: 'enabled' })
  await world.clock.advance(HOUR / 2 + 1000)
  const webhook = await attempted(id, await send())
  expect(webhook).toMatchObject({
    status: 'disabled',
    disabled_at: expect.any(String) as string,
    disabled_reason: 'Every attempt failed for 5 days. Last error: The endpoint returned status 500.',
  })
  // Pending deliveries are retried at once.
  receiver.behave((_, response) => response.writeHead(200).end())
  await client.webhooks.update(id, { status: 'enabled' })
  expect((await appliance.call('GET', `/webhooks/${id}`)).body).toMatchObject({
    status: 'enabled',
    disabled_reason: null,
    failing_since: null,
  })
})

test('retries pending webhook deliveries after a restart', async () => {
  const { receiver } = await endpoint(['email.delivered'])
  const told = () => receiver.received.filter(({ body }) => body.includes('restart@busy.test'))
  receiver.behave((_, response) => response.writeHead(500).end())
  await send('restart@busy.test')
  await until(() => Promise.resolve(told()[0]))
  await appliance.restart()
  client = stage.client()
  receiver.behave()
  await world.clock.advance(HOUR)
  // A test appliance polls only once per hour.
  await send()
  const again = await until(() => Promise.resolve(told()[1]))
  expect(again.headers['svix-id']).toBe(told()[0]!.headers['svix-id'])
})
