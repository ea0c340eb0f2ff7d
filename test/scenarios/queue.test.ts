import { afterAll, beforeAll, expect, test } from 'vitest'
import type { QueueChange } from '../../appliance/api/queue-changes.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/** Tests the queue through the whole appliance, in its sandbox. */

let posthaste: TestAppliance

beforeAll(async () => {
  posthaste = await startAppliance()
})
afterAll(() => posthaste?.close())

const act = async (action: string, body: object) =>
  (await posthaste.call<QueueChange>('POST', `/queue/${action}`, body)).body

test('held mail shows the reason, and is delivered when released', async () => {
  const held = await act('hold', { filter: { domain: 'reader.example' }, new: true })
  const id = await posthaste.send({ to: 'ada@reader.example' })
  const free = await posthaste.send({ to: 'ada@free.example' })
  await posthaste.until(free, ({ deliveries }) => deliveries[0]!.state === 'delivered')
  const { deliveries } = await posthaste.timeline(id)
  expect(deliveries).toMatchObject([
    { state: 'held', attempts: 0, waiting: { why: 'held by an operator until released' } },
  ])
  expect(await act('undo', { audit_id: held.audit_id })).toMatchObject({ action: 'release', count: 1 })
  const { attempts } = await posthaste.until(id, (one) => one.deliveries[0]!.state === 'delivered')
  expect(attempts).toMatchObject([{ source: 'auto' }])
})

test('deferred mail is found by its reply, and expires as a bounce', async () => {
  const id = await posthaste.send({ to: 'defer@reader.example' })
  await posthaste.until(id, ({ attempts }) => attempts.length > 0)
  const { deliveries: waiting } = await posthaste.timeline(id)
  const filter = { reply: waiting[0]!.cause!.reply!.text.slice(0, 20).toUpperCase(), source: 'auto' }
  expect(await act('expire', { filter })).toMatchObject({ count: 1 })
  const { deliveries, events } = await posthaste.timeline(id)
  expect(deliveries).toMatchObject([{ state: 'expired', waiting: null }])
  expect(events.at(-1)).toMatchObject({ type: 'email.bounced', recipient: 'defer@reader.example' })
})

test('each backlog has a row with its lane, and so does a paused lane without mail', async () => {
  interface Row {
    id: string
    count: number
    later: number
    state: string
    why: string | null
    lanes: { id: string; paused: boolean }[]
  }
  const rows = async () =>
    (await posthaste.call<{ data: Row[] }>('GET', '/queue/lanes?team_id=all')).body.data
  const id = await posthaste.send({ to: 'defer@lanes.example' })
  await posthaste.until(id, ({ attempts }) => attempts.length > 0)
  const { deliveries } = await posthaste.timeline(id)
  const provider = deliveries[0]!.provider
  const row = (await rows()).find((one) => one.id === `default/${provider}`)
  expect(row).toMatchObject({ count: 1, later: 1, state: 'retrying' })
  expect(row!.why).toMatch(/\(4\d\d .*\)$|4\d\d/)
  await posthaste.call('POST', '/lanes/auto~google/pause', {})
  expect((await rows()).at(-1)).toMatchObject({
    id: 'default/google',
    count: 0,
    state: 'paused',
    why: 'Google is paused by an operator',
    lanes: [{ id: 'auto~google', paused: true }],
  })
  await posthaste.call('POST', '/lanes/auto~google/resume')
  await act('drop', { filter: { email_id: id } })
})
