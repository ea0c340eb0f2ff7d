import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { RETRY_PERIOD } from '../../../appliance/queue/schedule.ts'
import { createWorld } from '../../world/world.ts'
import { startAppliance, type TestAppliance } from '../../world/appliance.ts'
import { errorText, hello, startApi, type Api } from './harness.ts'

const HOUR = 3_600_000
let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const idOf = ({ json }: { json: unknown }) => (json as { id: string }).id
const schedule = async (scheduled_at = 'in 1 hour', more = {}) =>
  idOf(await api.call('POST', '/emails', { ...hello, scheduled_at, ...more }))
const historyOf = (id: string) => api.storage.getHistory({ teamId: api.teamId, id }, api.clock.now())
const emailOf = async (id: string) => (await api.call('GET', `/emails/${id}`)).json
const lease = (now: number) =>
  api.storage.lease(
    { owner: 'one', limit: 100, room: {}, roomElse: 100, leaseUntil: now + HOUR, retryDelays: [HOUR] },
    now,
  )

describe('a scheduled email', () => {
  test('a scheduled email is accepted if its time comes while the storage is busy', async () => {
    const { findReceipt } = api.storage
    api.storage.findReceipt = async (...asked) => {
      await api.clock.advance(6000)
      return findReceipt(...asked)
    }
    const { status } = await api.call(
      'POST',
      '/emails',
      { ...hello, scheduled_at: 'in 5 seconds' },
      { 'idempotency-key': 'busy' },
    )
    api.storage.findReceipt = findReceipt
    expect(status).toBe(200)
  })

  test('a scheduled email waits for its time, when its lifetime starts', async () => {
    const at = new Date(api.clock.now() + 2 * HOUR)
    const id = await schedule(at.toISOString())
    const { deliveries, events } = await historyOf(id)
    expect(deliveries.map(({ state, dueAt, expiresAt }) => [state, dueAt, expiresAt])).toEqual([
      ['waiting', at.getTime(), at.getTime() + RETRY_PERIOD],
    ])
    expect(events.map(({ type }) => type)).toEqual(['email.scheduled'])
    expect(await emailOf(id)).toMatchObject({
      last_event: 'scheduled',
      scheduled_at:
        at
          .toISOString()
          .slice(0, -1)
          .replace('T', ' ')
          .replace(/\.?0+$/, '') + '+00',
    })
  })

  test.each([
    ['yesterday', 'The `scheduled_at` field must be a future date'],
    ['2020-01-01T00:00:00Z', 'The `scheduled_at` field must be a future date'],
    ['in 31 days', 'Invalid `scheduled_at` field: a date at most 30 days from now.'],
  ])('rejects an email scheduled for %s, and stores nothing', async (scheduled_at, message) => {
    const before = await api.count()
    const answer = await api.call('POST', '/emails', { ...hello, scheduled_at })
    expect(answer.text).toBe(errorText(422, 'validation_error', message))
    expect(await api.count()).toBe(before)
  })

  test('a scheduled email repeated with its idempotency key after its time gets the first response', async () => {
    const body = { ...hello, scheduled_at: new Date(api.clock.now() + HOUR).toISOString() }
    const headers = { 'idempotency-key': 'scheduled/1' }
    const first = await api.call('POST', '/emails', body, headers)
    await api.clock.advance(2 * HOUR)
    const again = await api.call('POST', '/emails', body, headers)
    expect([again.status, again.text]).toEqual([200, first.text])
  })

  test('a scheduled email can be rescheduled to an earlier time, which wakes dispatch', async () => {
    const id = await schedule('in 2 days')
    const woken = api.woken
    const answer = await api.call('PATCH', `/emails/${id}`, { scheduled_at: 'in 10 minutes' })
    expect(answer.json).toEqual({ object: 'email', id })
    expect(api.woken).toBe(woken + 1)
    const { deliveries } = await historyOf(id)
    const { dueAt, expiresAt } = deliveries[0]!
    expect(Math.abs(dueAt! - api.clock.now() - 600_000)).toBeLessThan(60_000)
    expect(expiresAt).toBe(dueAt! + RETRY_PERIOD)
    expect((await api.storage.getEmail({ teamId: api.teamId, id }, 0))!.scheduledAt).toBe(dueAt)
  })

  test('a scheduled email can be canceled, and none of its deliveries is leased afterwards', async () => {
    const id = await schedule('in 1 hour', { to: ['a@example.com', 'b@example.net'] })
    const answer = await api.call('POST', `/emails/${id}/cancel`)
    expect([answer.status, answer.json]).toEqual([200, { object: 'email', id }])
    expect(await emailOf(id)).toMatchObject({ last_event: 'canceled' })
    const timeline = (await api.call('GET', `/emails/${id}/timeline`)).json as {
      deliveries: Record<string, unknown>[]
    }
    for (const delivery of timeline.deliveries)
      expect(delivery).toMatchObject({
        state: 'canceled',
        next_attempt_at: null,
        cause: { note: 'canceled by its sender' },
      })
    expect((await lease(api.clock.now() + 2 * HOUR)).filter(({ emailId }) => emailId === id)).toEqual([])
  })

  test.each([
    ['POST', '/cancel', 'canceled'],
    ['PATCH', '', 'rescheduled'],
  ])("can't be changed once it is canceled, queued or sent: %s %s", async (method, path, change) => {
    const body = method === 'PATCH' ? { scheduled_at: 'in 1 hour' } : undefined
    const refused = (state: string) =>
      errorText(
        422,
        'validation_error',
        `This email cannot be ${change} because it is ${state}. Only scheduled emails can be ${change}.`,
      )
    const canceled = await schedule()
    await api.call('POST', `/emails/${canceled}/cancel`)
    expect((await api.call(method, `/emails/${canceled}${path}`, body)).text).toBe(refused('canceled'))
    const queued = idOf(await api.call('POST', '/emails', hello))
    expect((await api.call(method, `/emails/${queued}${path}`, body)).text).toBe(refused('queued'))
    const sent = await schedule()
    await lease(api.clock.now() + HOUR + 1000)
    expect((await api.call(method, `/emails/${sent}${path}`, body)).text).toBe(refused('sent'))
  })

  test('an email canceled and leased concurrently is either canceled or leased, never both', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => schedule('in 1 hour')))
    const later = api.clock.now() + 2 * HOUR
    const jobs = ids.map((id) => api.call('POST', `/emails/${id}/cancel`))
    const leases = Array.from({ length: 40 }, () =>
      api.storage.lease(
        { owner: 'race', limit: 1, room: {}, roomElse: 1, leaseUntil: later + HOUR, retryDelays: [HOUR] },
        later,
      ),
    )
    const leased = new Set((await Promise.all(leases)).flat().map(({ emailId }) => emailId))
    const canceled = (await Promise.all(jobs)).map(({ status }) => status === 200)
    for (const [index, id] of ids.entries()) expect(canceled[index]).toBe(!leased.has(id))
  })

  test.each([
    ['PATCH', ''],
    ['POST', '/cancel'],
  ])('returns 404 for an unknown scheduled email: %s %s', async (method, path) => {
    const body = method === 'PATCH' ? { scheduled_at: 'in 1 hour' } : undefined
    const answer = await api.call(method, `/emails/${newId(0)}${path}`, body)
    expect(answer.text).toBe(errorText(404, 'not_found', 'Email not found'))
    const bad = await api.call(method, `/emails/1${path}`, body)
    expect(bad.text).toBe(errorText(422, 'validation_error', 'The `id` must be a valid UUID.'))
  })

  test('a scheduled email cannot be rescheduled without a time, or canceled with a sending key', async () => {
    const id = await schedule()
    expect((await api.call('PATCH', `/emails/${id}`, {})).text).toBe(
      errorText(422, 'missing_required_field', 'Missing `scheduled_at` field.'),
    )
    expect((await api.call('PATCH', `/emails/${id}`, { scheduled_at: '' })).text).toBe(
      errorText(422, 'missing_required_field', 'Missing `scheduled_at` field.'),
    )
    const headers = { authorization: `Bearer ${api.sending}` }
    expect((await api.call('POST', `/emails/${id}/cancel`, undefined, headers)).status).toBe(401)
  })
})

describe('scheduled delivery', () => {
  let appliance: TestAppliance
  let world: Awaited<ReturnType<typeof createWorld>>
  beforeAll(async () => {
    world = await createWorld({
      domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test', exchanger: {} }] } },
    })
    appliance = await startAppliance({ world })
  })
  afterAll(async () => {
    await appliance.close()
    await world.close()
  })

  test('a scheduled email is sent at its time, a rescheduled one at the new time, and a canceled one never', async () => {
    const send = (subject: string) =>
      appliance.send({ to: 'ada@customer.test', subject, scheduled_at: 'in 3 days' })
    const [onTime, moved, canceled] = [await send('on time'), await send('moved'), await send('canceled')]
    await appliance.call('PATCH', `/emails/${moved}`, { scheduled_at: 'in 1 hour' })
    await appliance.call('POST', `/emails/${canceled}/cancel`)
    const state = async (id: string) => (await appliance.timeline(id)).deliveries[0]!.state
    await world.clock.advance(HOUR - 60_000)
    expect(await state(moved)).toBe('waiting')
    await world.clock.advance(2 * 60_000)
    await appliance.until(moved, ({ deliveries }) => deliveries[0]!.state === 'delivered')
    expect(await state(onTime)).toBe('waiting')
    await world.clock.advance(72 * HOUR)
    const timeline = await appliance.until(onTime, ({ deliveries }) => deliveries[0]!.state === 'delivered')
    expect(timeline.events.map(({ type }) => type)).toEqual([
      'email.scheduled',
      'email.sent',
      'email.delivered',
    ])
    expect(await state(canceled)).toBe('canceled')
    const arrived = world.mailboxOf('mx.customer.test').map(({ raw }) => raw.toString())
    expect(arrived).toHaveLength(2)
    const { storage } = appliance.appliance
    const due = (await storage.getEmail({ teamId: appliance.teamId, id: moved }, 0))!.scheduledAt!
    expect(arrived[0]).toContain(`\r\nDate: ${new Date(due).toUTCString().replace('GMT', '+0000')}\r\n`)
  })
})
