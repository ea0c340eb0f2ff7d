import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WebhookEventSummary } from '../../../appliance/api/webhook-events.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import type { NewWebhookDelivery } from '../../../appliance/storage/storage.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const made = async (endpoint: string): Promise<string> => {
  const { status, json } = await api.call('POST', '/webhooks', { endpoint, events: ['email.sent'] })
  expect(status).toBe(201)
  return (json as { id: string }).id
}
const read = async (id: string) => (await api.call('GET', `/webhooks/${id}`)).json

test('white space around an endpoint is removed', async () => {
  const id = await made(' https://hooks.example/a\n')
  expect(await read(id)).toMatchObject({ endpoint: 'https://hooks.example/a' })
  await api.call('PATCH', `/webhooks/${id}`, { endpoint: '\thttps://hooks.example/b ' })
  expect(await read(id)).toMatchObject({ endpoint: 'https://hooks.example/b' })
})

test('null fields in a change leave a webhook unchanged', async () => {
  const id = await made('https://hooks.example/null')
  const before = await read(id)
  const nothing = { endpoint: null, events: null, status: null }
  const { status, json } = await api.call('PATCH', `/webhooks/${id}`, nothing)
  expect([status, json]).toEqual([200, { object: 'webhook', id }])
  expect(await read(id)).toEqual(before)
})

/** Stores a pending webhook delivery as the outbox does. */
async function told(
  webhookId: string,
  type: string,
  data: object,
  more: Partial<NewWebhookDelivery> = {},
): Promise<string> {
  const now = api.clock.now()
  const id = `msg_${newId(now).replaceAll('-', '')}`
  const payload = JSON.stringify({ type, created_at: new Date(now).toISOString(), data })
  const about = { teamId: api.teamId, webhookId, eventId: newId(now), emailId: null, createdAt: now }
  const delivery = { id, type, payload, ...about, ...more }
  await api.storage.replayWebhookEvents({ deliveries: [delivery], onlyUndelivered: true }, now)
  return id
}

/** Lets the delivery fail after its only attempt. */
async function failed(webhookId: string, deliveryId: string): Promise<void> {
  const now = api.clock.now()
  const room = { limit: 100, each: 100, failing: 100, failures: 3, inFlight: {}, pauses: [30_000] }
  await api.storage.leaseWebhookDeliveries(room, now)
  const attempt = {
    id: newId(now),
    deliveryId,
    webhookId,
    teamId: api.teamId,
    sentAt: now,
    durationMs: 1240,
    status: 503,
    error: 'The endpoint returned status 503.',
    ip: '192.0.2.1',
    requestHeaders: {},
    responseHeaders: {},
    response: '',
  }
  const disable = { failingBefore: 0, leastFailures: 1000, reason: 'dead' }
  const outcome = { success: false as const, dueAt: null }
  await api.storage.settleWebhookAttempt({ attempt, attemptNumber: 1, outcome, disable }, now)
}

const eventsOf = async (id: string) =>
  ((await api.call('GET', `/webhooks/${id}/events`)).json as { data: WebhookEventSummary[] }).data
const statesOf = async (id: string) =>
  Object.fromEntries((await eventsOf(id)).map((one) => [one.id, one.status]))
const send = async (to: string): Promise<string> => {
  const email = { from: `app@${api.domain.name}`, to, subject: 'Your receipt', text: 'hi' }
  return ((await api.call('POST', '/emails', email)).json as { id: string }).id
}

describe('replaying selected events', () => {
  const unknown = `msg_${'0'.repeat(32)}`
  const replay = async (id: string, body: object, headers?: Record<string, string>) => {
    const { status, json } = await api.call('POST', `/webhooks/${id}/replay`, body, headers)
    return { status, json: json as { events?: number; message?: string } }
  }

  test('requeues each selected event once, and no other', async () => {
    const id = await made('https://hooks.example/picked')
    const [a, b, c] = [
      await told(id, 'email.sent', {}),
      await told(id, 'email.sent', {}),
      await told(id, 'x', {}),
    ]
    for (const one of [a, b, c]) await failed(id, one)
    expect(await statesOf(id)).toEqual({ [a]: 'failed', [b]: 'failed', [c]: 'failed' })
    expect(await replay(id, { event_ids: [a, c, a] })).toEqual({
      status: 200,
      json: { object: 'webhook', id, events: 2 },
    })
    expect(await statesOf(id)).toEqual({ [a]: 'pending', [b]: 'failed', [c]: 'pending' })
    const { data } = (await api.call('GET', '/audit?action=webhook.replay')).json as { data: object[] }
    expect(data[0]).toMatchObject({
      action: 'webhook.replay',
      target: `webhook ${id}`,
      outcome: 'done',
      details: { event_ids: [a, c, a] },
      after: { events: 2 },
    })
  })

  test('rejects an invalid selection with an error that names the field, and requeues nothing', async () => {
    const [id, other] = [await made('https://hooks.example/some'), await made('https://hooks.example/other')]
    const [mine, theirs] = [await told(id, 'email.sent', {}), await told(other, 'email.sent', {})]
    for (const [hook, one] of [
      [id, mine],
      [other, theirs],
    ] as const)
      await failed(hook, one)
    const refused = async (body: object) => {
      const { status, json } = await replay(id, body)
      return `${status} ${json.message}`
    }
    const none = (wrong: string) =>
      `422 Invalid \`event_ids\` field: "${wrong}" is not an event of this webhook.`
    expect(await refused({ event_ids: [mine, theirs] })).toBe(none(theirs))
    expect(await refused({ event_ids: [mine, unknown] })).toBe(none(unknown))
    expect(await refused({ event_ids: ['x'.repeat(99)] })).toBe(none('x'.repeat(60)))
    expect(await statesOf(id)).toEqual({ [mine]: 'failed' })
    const count = (n: number) => `422 Invalid \`event_ids\` field: 1 to 100 event IDs; got ${n}.`
    expect(await refused({ event_ids: [] })).toBe(count(0))
    expect(await refused({ event_ids: Array.from({ length: 101 }, (_, n) => `msg_${n}`) })).toBe(count(101))
    expect(await refused({ event_ids: mine })).toMatch(/^422 Invalid `event_ids` field: it must be an array/)
    expect(await refused({ event_ids: [mine], since: '2026-01-01T00:00:00Z' })).toBe(
      '422 Invalid `event_ids` field: either these, or `since`, `until` and `only`, not both.',
    )
    expect(await refused({})).toBe('422 Missing `since` or `event_ids` field.')
    const sending = { authorization: `Bearer ${api.sending}` }
    expect((await replay(id, { event_ids: [mine] }, sending)).status).toBe(401)
    expect(await statesOf(id)).toEqual({ [mine]: 'failed' })
  })
})

describe('the webhook event log', () => {
  const plain = { erased: false, removed: false }

  test('the event log shows the subject of each event, and its latest request', async () => {
    const id = await made('https://hooks.example/about')
    const to = ['ada@x.example']
    const email = await send(to[0]!)
    const sent = await told(
      ...([id, 'email.sent', { email_id: email, to, subject: 'Your receipt' }, { emailId: email }] as const),
    )
    await failed(id, sent)
    await told(id, 'domain.updated', { id: 'd1', name: 'shop.example' })
    await told(id, 'suppression.added', { id: 's1', email: 'gone@x.example' })
    await told(id, 'webhook.ping', { webhook_id: id })
    const listed = await eventsOf(id)
    expect(listed.map(({ type, about }) => [type, about])).toEqual([
      ['webhook.ping', null],
      [
        'suppression.added',
        { object: 'suppression', id: 's1', names: ['gone@x.example'], subject: null, ...plain },
      ],
      ['domain.updated', { object: 'domain', id: 'd1', names: ['shop.example'], subject: null, ...plain }],
      ['email.sent', { object: 'email', id: email, names: to, subject: 'Your receipt', ...plain }],
    ])
    expect(listed[3]!.last_request).toMatchObject({
      http_status_code: 503,
      duration_ms: 1240,
      error: 'The endpoint returned status 503.',
    })
    expect(listed[0]!.last_request).toBeNull()
    expect((await api.call('GET', `/webhooks/${id}/events/${sent}`)).json).toMatchObject(listed[3]!)
    const { data } = (await api.call('GET', `/emails/${email}/webhooks`)).json as { data: object[] }
    expect(data).toEqual([{ ...listed[3], webhook_id: id }])
  })

  test('the event log shows that an email was removed, or its recipient erased', async () => {
    const id = await made('https://hooks.example/gone')
    const email = await send('eve@x.example')
    const about = { to: ['eve@x.example'], subject: 'Your receipt' }
    await told(id, 'email.sent', { email_id: email, ...about }, { emailId: email })
    const gone = newId(0)
    await told(id, 'email.sent', { email_id: gone, to: ['bob@x.example'], subject: '' }, { emailId: gone })
    const erasure = (await api.call('POST', '/erasures', { address: 'eve@x.example' })).json as { id: string }
    const state = async () =>
      ((await api.call('GET', `/erasures/${erasure.id}`)).json as { status: string }).status
    await expect.poll(state).toBe('done')
    expect((await eventsOf(id)).map((one) => one.about)).toEqual([
      { object: 'email', id: gone, names: ['bob@x.example'], subject: '', erased: false, removed: true },
      {
        object: 'email',
        id: email,
        subject: '',
        erased: true,
        removed: false,
        names: [expect.stringMatching(/^erased-[0-9a-f]{16}@erased\.invalid$/)],
      },
    ])
  })
})
