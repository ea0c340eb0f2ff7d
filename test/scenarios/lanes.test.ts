import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Lane, Provider } from '../../appliance/api/shaping.ts'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { RETRY_DELAYS } from '../../appliance/queue/schedule.ts'
import { on, type Behaviour } from '../world/behaviour.ts'
import { createWorld, type World, type WorldDomain, type WorldHost } from '../world/world.ts'
import { PATIENCE } from '../world/patience.ts'

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

const minute = 60_000
const at = (host: string, exchanger?: WorldHost): WorldDomain => ({
  mx: [{ preference: 10, host, ...(exchanger ? { exchanger } : {}) }],
})

async function begin(domains: Record<string, WorldDomain>, delivery: Partial<Config['delivery']> = {}) {
  world = await createWorld({ domains })
  appliance = await startAppliance({
    world,
    config: {
      delivery: {
        allow_networks: ['127.0.0.0/8'],
        port: world.deliveryPort,
        ...delivery,
      } as Config['delivery'],
    },
  })
}

const lanes = async (): Promise<Lane[]> => (await appliance.call<{ data: Lane[] }>('GET', '/lanes')).body.data

/** Waits for a lane's saved state, which is written within a second. */
async function lane(id: string, enough: (lane: Lane) => boolean): Promise<Lane> {
  const end = Date.now() + PATIENCE
  for (;;) {
    const found = (await lanes()).find((one) => one.id === id)
    if (found && enough(found)) return found
    if (Date.now() > end) throw new Error(`it did not come to pass: ${JSON.stringify(await lanes())}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const sendTo = (to: string): Promise<string> => appliance.send({ to })
const waits = (text: RegExp) => (timeline: { deliveries: { waiting: { why: string } | null }[] }) =>
  text.test(timeline.deliveries[0]!.waiting?.why ?? '')

const TSS04 =
  '421 4.7.0 [TSS04] Messages from 127.0.0.1 temporarily deferred due to unexpected volume or user complaints'

describe('a provider that asks for a pause', () => {
  test('a provider’s pause applies to all its domains and no others, and the email shows the reason', async () => {
    const yahoo = { behave: on('mail', TSS04, { times: 1 }) }
    await begin({
      'one.test': at('mta1.yahoodns.net', yahoo),
      'two.test': at('mta1.yahoodns.net'),
      'other.test': at('mx.other.test'),
    })
    const first = await sendTo('a@one.test')
    await appliance.until(first, waits(/^paused until .* UTC: Yahoo replied TSS04: it defers/))
    const second = await sendTo('b@two.test')
    const other = await sendTo('c@other.test')
    await appliance.until(other, isFinal)
    // The domain is new: a single MX lookup identifies Yahoo.
    await appliance.until(second, waits(/Yahoo replied TSS04/))
    expect((await appliance.timeline(second)).deliveries[0]).toMatchObject({ attempts: 0, provider: 'yahoo' })
    expect(
      world.exchanger('mta1.yahoodns.net').steps.filter(({ command }) => command === 'mail'),
    ).toHaveLength(1)

    await world.clock.advance(121 * minute)
    await appliance.until(second, isFinal)
    await appliance.until(first, isFinal)
    expect([...world.mailboxOf('mta1.yahoodns.net')]).toHaveLength(2)
  })

  test('a provider’s pause continues after a restart', async () => {
    await begin({ 'one.test': at('mta1.yahoodns.net', { behave: on('mail', TSS04, { times: 1 }) }) })
    await appliance.until(await sendTo('a@one.test'), waits(/TSS04/))
    await appliance.restart()
    const later = await sendTo('b@one.test')
    await appliance.until(later, waits(/Yahoo replied TSS04/))
    expect(await lane('auto~yahoo', () => true)).toMatchObject({ paused: true, connections: 1 })
    expect(
      world.exchanger('mta1.yahoodns.net').steps.filter(({ command }) => command === 'mail'),
    ).toHaveLength(1)
  })

  test('a paused provider gets mail again when an operator resumes its lane', async () => {
    await begin({ 'one.test': at('mta1.yahoodns.net', { behave: on('mail', TSS04, { times: 1 }) }) })
    await appliance.until(await sendTo('a@one.test'), waits(/TSS04/))
    const next = await sendTo('b@one.test')
    await appliance.until(next, waits(/TSS04/))
    const { status } = await appliance.call('POST', '/lanes/auto~yahoo/resume')
    expect(status).toBe(200)
    await appliance.until(next, isFinal)
  })
})

test('a lane shows its limits and its sent messages per minute for the last hour', async () => {
  await begin({ 'one.test': at('mta1.yahoodns.net') })
  for (let n = 0; n < 3; n += 1) await appliance.until(await sendTo(`u${n}@one.test`), isFinal)
  const seen = await lane('auto~yahoo', ({ in_flight }) => in_flight === 0)
  expect(seen).toMatchObject({ pool: 'default', last_minute: 3 })
  expect(seen.minutes).toHaveLength(60)
  expect(seen.minutes!.reduce((sum, count) => sum + count, 0)).toBe(3)
  await world.clock.advance(61 * minute)
  const later = await lane('auto~yahoo', () => true)
  expect([later.last_minute, Math.max(0, ...later.minutes!)]).toEqual([0, 0])
})

test('hardly any leases are made while all queued mail is paused', async () => {
  await begin({ 'one.test': at('mta1.yahoodns.net', { behave: on('mail', TSS04) }) })
  const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => sendTo(`u${n}@one.test`)))
  for (const id of ids) await appliance.until(id, waits(/TSS04/))
  const lease = vi.spyOn(appliance.appliance.storage, 'lease')
  await sleep(500)
  await world.clock.advance(110 * minute)
  expect(lease.mock.calls.length).toBeLessThan(10)
  lease.mockRestore()
  world.exchanger('mta1.yahoodns.net').behave(undefined)
  await appliance.call('POST', '/lanes/auto~yahoo/resume')
  await world.clock.advance(60 * minute)
  // They are sent at the lane's pace: some more each minute.
  const left = async (): Promise<number> => {
    await world.clock.advance(minute)
    const timelines = await Promise.all(ids.map((id) => appliance.timeline(id)))
    return timelines.filter((one) => !isFinal(one)).length
  }
  await expect.poll(left).toBe(0)
})

test('a server that rejects extra connections gets fewer of them, at the same rate', async () => {
  const crowded: Behaviour = ({ command }) =>
    command === 'connect' && world.exchanger('mx.hosting.test').open() > 1
      ? '421 4.7.0 Too many connections from your address'
      : undefined
  await begin({ 'one.test': at('mx.hosting.test', { behave: crowded }) })
  const ids = await Promise.all(Array.from({ length: 30 }, (_, n) => sendTo(`u${n}@one.test`)))
  const timelines = () => Promise.all(ids.map((id) => appliance.timeline(id)))
  /** Time advances only once all remaining emails wait for their next attempt. */
  const left = async (): Promise<number> => {
    const open = (await timelines()).filter((one) => !isFinal(one))
    if (open.every(({ deliveries }) => deliveries[0]!.waiting?.reason?.key === 'deferred'))
      await world.clock.advance(1000)
    return open.length
  }
  await expect.poll(left, { interval: 10, timeout: PATIENCE }).toBe(0)
  // The pace is unchanged. Only the refused emails waited: a twelfth of the usual time, plus up to 20% at random.
  const refused = RETRY_DELAYS.map((_, n) => RETRY_DELAYS.slice(0, n).reduce((sum, one) => sum + one / 10, 0))
  for (const { accepted_at, deliveries, attempts } of await timelines()) {
    const last = Math.max(...attempts.map(({ started_at }) => Date.parse(started_at)))
    expect(last - Date.parse(accepted_at)).toBeLessThan(refused[deliveries[0]!.attempts - 1]! + 10_000)
  }
  // It starts with 5 connections and may be probing one more at the end; it won't try 5 for a while.
  const after = await lane('auto~hosting.test', ({ connections }) => connections <= 4)
  expect(after).toMatchObject({ most_connections: 10, messages_per_minute: 6000, paused: false })
  expect(after.reason).toMatch(
    /^at most \d connections? to hosting\.test: it allows no more simultaneous connections from .*$|^hosting\.test accepts mail again: now [1-4] connections?, 6,000 messages a minute$/,
  )
})

test('counts messages at MAIL: hosts with a delayed greeting get no more messages per minute', async () => {
  const greet = Promise.withResolvers<undefined>()
  await begin({ 'one.test': at('mx.late.test', { behave: on('connect', { until: greet.promise }) }) })
  await appliance.call('PATCH', '/providers/late.test', { messages_per_minute: 2 })
  const ids = await Promise.all(['a', 'b', 'c'].map((name) => sendTo(`${name}@one.test`)))
  const exchanger = world.exchanger('mx.late.test')
  const mails = () => exchanger.steps.filter(({ command }) => command === 'mail').length
  const timelines = () => Promise.all(ids.map((id) => appliance.timeline(id)))
  for (let open = 1; open <= 3; open++) {
    await expect.poll(() => exchanger.open(), { timeout: PATIENCE }).toBe(open)
    await world.clock.advance(32_000)
  }
  greet.resolve(undefined)
  const back = async () =>
    (await timelines()).flatMap(({ deliveries }) => deliveries.map((one) => one.attempts))
  await expect.poll(async () => (await back()).toSorted(), { timeout: PATIENCE }).toEqual([0, 0, 1])
  expect(mails()).toBe(1)
  const left = async () => {
    await world.clock.advance(32_000)
    return (await timelines()).filter((one) => !isFinal(one)).length
  }
  await expect.poll(left, { timeout: PATIENCE }).toBe(0)
  expect(mails()).toBe(3)
})

test('a slow provider does not delay others', async () => {
  const held = Promise.withResolvers<undefined>()
  await begin({
    'slow.test': at('mx.slow.test', { behave: on('mail', { until: held.promise }) }),
    'quick.test': at('mx.quick.test'),
  })
  const slow = await Promise.all(Array.from({ length: 30 }, (_, n) => sendTo(`u${n}@slow.test`)))
  await appliance.until(await sendTo('a@quick.test'), isFinal)
  for (const id of slow) expect(isFinal(await appliance.timeline(id))).toBe(false)
  held.resolve(undefined)
})

test('two domains of one provider share its connections, and a new limit applies at once', async () => {
  const slow = { behave: on('message', { pauseMs: 300 }) }
  await begin({ 'one.test': at('mx.shared.test', slow), 'two.test': at('mx.shared.test') })
  const { status, body } = await appliance.call<Provider>('PATCH', '/providers/shared.test', {
    connections: 1,
  })
  expect([status, body.connections, body.changed, body.origin]).toEqual([200, 1, ['connections'], 'default'])
  const ids = await Promise.all(['a@one.test', 'b@two.test', 'c@one.test', 'd@two.test'].map(sendTo))
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, world.exchanger('mx.shared.test').open())), 5)
  for (const id of ids) await appliance.until(id, isFinal)
  clearInterval(watch)
  expect(most).toBe(1)
})

test('rejects invalid limits and unknown lanes', async () => {
  await begin({ 'one.test': at('mx.one.test') })
  const wrong = await appliance.call<{ message: string }>('PATCH', '/providers/google', { connections: 0 })
  expect(wrong.status).toBe(422)
  expect(wrong.body.message).toContain('connections')
  expect((await appliance.call('PATCH', '/providers/%3Fone.test', { connections: 1 })).status).toBe(404)
  expect((await appliance.call('POST', '/lanes/192.0.2.9~google/resume')).status).toBe(404)
})

describe('two source addresses', () => {
  test('two source addresses have one lane each: a pause of one does not affect the other', async () => {
    const first = on('mail', TSS04, { times: 1 })
    await begin(
      { 'one.test': at('mta1.yahoodns.net', { behave: first }) },
      { source_ips: ['127.0.0.8', '127.0.0.9'] },
    )
    await sendTo('a@one.test')
    const end = Date.now() + PATIENCE
    let paused: Lane[] = []
    while (paused.length === 0 && Date.now() < end) {
      paused = (await lanes()).filter((one) => one.paused)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(paused).toHaveLength(1)
    await appliance.until(await sendTo('b@one.test'), isFinal)
    const [arrival] = [...world.mailboxOf('mta1.yahoodns.net')]
    expect(`${arrival!.session.clientAddress}~yahoo`).not.toBe(paused[0]!.id)
  })

  test('of two source addresses, the one in warm-up sends up to its limit, and the other sends the rest', async () => {
    await begin({ 'one.test': at('mx.warm.test') }, { source_ips: ['127.0.0.8', '127.0.0.9'] })
    await appliance.call('PATCH', '/providers/warm.test', { warm_up: [2, 4, 8] })
    expect((await appliance.call('PATCH', '/sources/127.0.0.9', { warm_up: true })).status).toBe(200)
    for (let sent = 0; sent < 6; sent++) await appliance.until(await sendTo(`u${sent}@one.test`), isFinal)
    const from = () => [...world.mailboxOf('mx.warm.test')].map(({ session }) => session.clientAddress)
    expect(from().filter((ip) => ip === '127.0.0.9')).toHaveLength(2)
    expect(from().filter((ip) => ip === '127.0.0.8')).toHaveLength(4)
    const warm = await lane('127.0.0.9~warm.test', ({ warm_up }) => warm_up?.sent === 2)
    expect(warm.warm_up).toEqual({ day: 1, share: 2, sent: 2 })
  })
})

test('a source address in warm-up waits for midnight once its daily limit is used', async () => {
  await begin({ 'one.test': at('mx.warm.test') }, { source_ips: ['127.0.0.9'] })
  await appliance.call('PATCH', '/providers/warm.test', { warm_up: [2, 4, 8] })
  await appliance.call('PATCH', '/sources/127.0.0.9', { warm_up: true })
  for (const name of ['a', 'b']) await appliance.until(await sendTo(`${name}@one.test`), isFinal)
  const third = await sendTo('c@one.test')
  await appliance.until(
    third,
    waits(/^warm-up: 2 of 2 messages to warm\.test sent today from 127\.0\.0\.9; continues at .*00:00 UTC$/),
  )
  await world.clock.advance(24 * 60 * minute)
  await appliance.until(third, isFinal)
})
