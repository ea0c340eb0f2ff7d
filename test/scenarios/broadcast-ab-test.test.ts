import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import type { BroadcastResults } from '../../appliance/api/broadcast-results.ts'
import type { Static } from 'typebox'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/** An A/B test: test emails to some, a wait for clicks by people, and the winner to the rest. Nobody gets two emails. */

const HOST = 'mx.customer.test'
const PUBLIC = 'https://mail.sender.test'
const READERS = 60
const HOUR = 3_600_000
const PATIENCE = { timeout: 90_000, interval: 20 }

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  world = await createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } })
  const http = { listen: ['127.0.0.1:0'], public_url: PUBLIC } as Config['http']
  appliance = await startAppliance({ world, config: { http } })
  const { data } = await call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  const domain = data.find(({ name }) => name === appliance.domain)!
  await call('PATCH', `/domains/${domain.id}`, { click_tracking: true })
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

interface Arrived {
  to: string
  subject: string
  raw: string
}
const arrived = (name: string): Arrived[] =>
  world.mailboxOf(HOST).flatMap(({ envelope, raw }) => {
    const to = envelope.to[0]!
    const text = raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
    const subject = /^Subject: (.*)\r$/m.exec(text)?.[1] ?? ''
    return to.startsWith(name) ? [{ to, subject, raw: text }] : []
  })
const bySubject = (name: string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { subject } of arrived(name)) counts[subject] = (counts[subject] ?? 0) + 1
  return counts
}

/** Follows the tracked link of an email. */
async function click({ raw }: Arrived, method: 'GET' | 'HEAD' = 'GET'): Promise<void> {
  const [, path] = /"https:\/\/mail\.sender\.test(\/l\/[^"]+)"/.exec(raw)!
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }
  expect((await fetch(appliance.url + path!, { method, headers, redirect: 'manual' })).status).toBe(302)
}

async function send(name: string, more: object, readers = READERS): Promise<string> {
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name })
  const emails = Array.from({ length: readers }, (_, n) => `${name}${n}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `Ada <news@${appliance.domain}>`,
    subject: 'First',
    html: '<a href="https://shop.test/">Shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    send: true,
    ...more,
  })
  return id
}
const SECOND = { subject: 'Second', from_name: 'Grace' }

type Test = NonNullable<Static<typeof BroadcastResults>['ab_test']>
const testOf = async (id: string): Promise<Test> =>
  (await call<{ ab_test: Test }>('GET', `/broadcasts/${id}/results`)).ab_test
const statusOf = async (id: string) => (await call<{ status: string }>('GET', `/broadcasts/${id}`)).status

/** Advances the clock by a second until a value is as expected. */
const eventually = (value: () => unknown) =>
  expect.poll(async () => {
    await world.clock.advance(1000)
    return value()
  }, PATIENCE)
/** Looks a few times whether anything changes. */
const steps = async (count = 5) => {
  for (let n = 0; n < count; n++) await world.clock.advance(1000)
}

test('the variant that more people click goes to the rest, also after restarts', async () => {
  const id = await send('auto', { ab_test: { share: 50, wait_hours: 2, variants: [SECOND] } })
  await eventually(() => bySubject('auto')).toEqual({ First: 15, Second: 15 })
  await eventually(async () => (await testOf(id)).phase).toBe('waiting')
  const tested = arrived('auto')
  expect(tested.find(({ subject }) => subject === 'Second')!.raw).toMatch(/^From: Grace <news@/m)

  await appliance.restart(() => world.clock.advance(60_000))
  // Bots click all of A, people 3 of A and 9 of B.
  const [first, second] = ['First', 'Second'].map((wanted) =>
    tested.filter(({ subject }) => subject === wanted),
  )
  for (const one of first!.slice(3)) await click(one, 'HEAD')
  for (const one of [...first!.slice(0, 3), ...second!.slice(0, 9)]) await click(one)
  const clicks = async () => {
    await world.clock.advance(11_000)
    return (await testOf(id)).variants.map(({ delivered, clicked }) => [delivered, clicked])
  }
  await expect.poll(clicks, PATIENCE).toEqual([
    [15, 3],
    [15, 9],
  ])
  const untouched = new Set(tested.map(({ to }) => to))
  const rest = Array.from({ length: READERS }, (_, n) => `auto${n}@customer.test`)
  const [left] = rest.filter((to) => !untouched.has(to))
  await call('PATCH', `/contacts/${left!}`, { unsubscribed: true })

  await world.clock.advance(HOUR)
  await steps()
  expect(arrived('auto')).toHaveLength(30)
  expect(await statusOf(id)).toBe('queued')
  // Its time passes while the server is down.
  await appliance.restart(() => world.clock.advance(HOUR))
  await eventually(() => statusOf(id)).toBe('sent')
  await eventually(() => bySubject('auto')).toEqual({ First: 15, Second: 44 })
  expect(new Set(arrived('auto').map(({ to }) => to)).size).toBe(59)
  expect(arrived('auto').map(({ to }) => to)).not.toContain(left)
  expect(await testOf(id)).toMatchObject({
    phase: 'decided',
    winner: 'B',
    reason: expect.stringMatching(/^Variant B has the highest rate of clicks\. Clicks: A 3 of 15 /) as string,
    variants: [
      { variant: 'A', sent: 15, clicked: 3 },
      { variant: 'B', sent: 15, clicked: 9 },
    ],
  })
  const { data } = await call<{ data: { id: string; subject: string; to: string[] }[] }>(
    'GET',
    `/emails?broadcast_id=${id}&limit=100`,
  )
  const late = data.find(({ to }) => !untouched.has(to[0]!))!
  expect(await call('GET', `/emails/${late.id}`)).toMatchObject({ subject: 'Second', variant: 'B' })
  const file = await fetch(`${appliance.url}/broadcasts/${id}/recipients/export.csv`, {
    headers: { authorization: `Bearer ${appliance.apiKey}` },
  })
  const ends = (await file.text())
    .trim()
    .split('\r\n')
    .map((line) => line.split(',').at(-1)!)
  expect(ends.toSorted()).toEqual([
    '',
    ...Array<string>(15).fill('A'),
    ...Array<string>(44).fill('B'),
    'variant',
  ])
}, 300_000)

test('with too few clicks, variant A goes to the rest, and the reason says so', async () => {
  const id = await send('few', {
    ab_test: { share: 20, wait_hours: 1, variants: [SECOND, { subject: 'Third' }] },
  })
  await eventually(async () => (await testOf(id)).phase).toBe('waiting')
  expect(bySubject('few')).toEqual({ First: 4, Second: 4, Third: 4 })
  await world.clock.advance(60_000)
  await click(arrived('few').find(({ subject }) => subject === 'Third')!)
  await world.clock.advance(HOUR)
  await eventually(() => statusOf(id)).toBe('sent')
  expect(bySubject('few')).toEqual({ First: 52, Second: 4, Third: 4 })
  expect(await testOf(id)).toMatchObject({
    winner: 'A',
    reason: expect.stringMatching(/^Fewer than 10 people clicked.*C 1 of 4 \(25\.0%\)\.$/) as string,
  })
}, 300_000)

test('a person chooses the winner before the wait is over; a pause keeps it back', async () => {
  const id = await send('hand', { ab_test: { share: 50, wait_hours: 72, variants: [SECOND] } })
  await eventually(async () => (await testOf(id)).phase).toBe('waiting')
  await call('POST', `/broadcasts/${id}/pause`)
  await world.clock.advance(73 * HOUR)
  await steps()
  expect(await testOf(id)).toMatchObject({ phase: 'waiting', winner: null })
  await call('POST', `/broadcasts/${id}/ab-test/winner`, { variant: 'B' })
  await steps()
  expect(arrived('hand')).toHaveLength(30)
  await call('POST', `/broadcasts/${id}/resume`)
  await eventually(() => statusOf(id)).toBe('sent')
  expect(bySubject('hand')).toEqual({ First: 15, Second: 45 })
  expect((await testOf(id)).reason).toMatch(/^Somebody chose variant B\./)
  const again = await appliance.call('POST', `/broadcasts/${id}/ab-test/winner`, { variant: 'A' })
  expect(again.status).toBe(403)
}, 300_000)

test('a canceled test sends no winner', async () => {
  const id = await send('stop', { ab_test: { share: 50, wait_hours: 1, variants: [SECOND] } })
  await eventually(async () => (await testOf(id)).phase).toBe('waiting')
  await call('POST', `/broadcasts/${id}/cancel`)
  await world.clock.advance(2 * HOUR)
  await steps()
  expect(arrived('stop')).toHaveLength(30)
  expect(await testOf(id)).toMatchObject({ phase: 'stopped', winner: null })
  expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({
    status: 'canceled',
    skipped: { canceled: 30 },
  })
}, 300_000)

test('with a share of 100, everybody gets a variant and the broadcast ends without a winner', async () => {
  const id = await send('all', { ab_test: { share: 100, variants: [SECOND] } }, 21)
  await eventually(() => statusOf(id)).toBe('sent')
  expect(bySubject('all')).toEqual({ First: 11, Second: 10 })
  expect(await testOf(id)).toMatchObject({ phase: 'comparing', winner: null, reason: null })
}, 300_000)

test('the rate applies to the test and to the rest', async () => {
  const id = await send(
    'slow',
    { emails_per_hour: 360, ab_test: { share: 50, wait_hours: 1, variants: [SECOND] } },
    12,
  )
  const began = world.clock.now()
  await eventually(async () => (await testOf(id)).phase).toBe('waiting')
  expect(world.clock.now() - began).toBeGreaterThan(40_000)
  await call('POST', `/broadcasts/${id}/ab-test/winner`, { variant: 'A' })
  const chosen = world.clock.now()
  await eventually(() => statusOf(id)).toBe('sent')
  expect(world.clock.now() - chosen).toBeGreaterThan(40_000)
  expect(bySubject('slow')).toEqual({ First: 9, Second: 3 })
}, 300_000)
