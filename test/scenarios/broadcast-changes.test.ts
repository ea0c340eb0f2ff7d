import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance, type TestApplianceOptions } from '../world/appliance.ts'
import type { TestClock } from '../world/clock.ts'
import { emptyDisk, fillDisk, mountSmall, unmount } from '../world/small-disk.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests changes while a broadcast is being sent: contacts, content, the clock, and disk space. */

const HOST = 'mx.customer.test'
const HOUR = 3_600_000
const PATIENCE = { timeout: 60_000, interval: 50 }

let world: World
let appliance: TestAppliance
const cleanup: (() => Promise<void> | void)[] = []
async function open(options: Partial<TestApplianceOptions> = {}, clock?: TestClock): Promise<void> {
  world = await createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } })
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  const config = { http, ...options.config }
  appliance = await startAppliance({ world: clock ? { ...world, clock } : world, config })
  cleanup.unshift(
    () => appliance.close(),
    () => world.close(),
  )
}
afterEach(async () => {
  for (const step of cleanup.splice(0)) await step()
})

const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const answer = await appliance.call<T>(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** Creates a segment with contacts of these names at customer.test. */
async function segmentOf(names: string[]): Promise<string> {
  const { id } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = names.map((name) => `${name}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [id] })
  return id
}

const send = async (segment: string, more: object = {}): Promise<string> =>
  (
    await call<{ id: string }>('POST', '/broadcasts', {
      segment_id: segment,
      from: `news@${appliance.domain}`,
      subject: 'News',
      send: true,
      html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
      ...more,
    })
  ).id

const readers = (): string[] =>
  world
    .mailboxOf(HOST)
    .map(({ envelope }) => envelope.to[0]!.replace('@customer.test', ''))
    .toSorted()
const untilGot = (names: string[]) => vi.waitFor(() => expect(readers()).toEqual(names.toSorted()), PATIENCE)
const enqueued = (id: string, count: number) =>
  vi.waitFor(
    async () =>
      expect((await call<{ data: object[] }>('GET', `/emails?broadcast_id=${id}`)).data).toHaveLength(count),
    PATIENCE,
  )
const lane = (what: 'pause' | 'resume') => call('POST', `/lanes/auto~customer.test/${what}`, {})

test('sends nothing to contacts who unsubscribe, are erased or change their address before their email is sent', async () => {
  await open()
  const segment = await segmentOf(['stays', 'leaves', 'erased', 'moves'])
  await lane('pause')
  const id = await send(segment)
  await enqueued(id, 4)
  await call('PATCH', '/contacts/leaves@customer.test', { unsubscribed: true })
  await call('DELETE', '/contacts/erased@customer.test')
  await call('PATCH', '/contacts/moves@customer.test', { email: 'moved@customer.test' })
  await lane('resume')
  await vi.waitFor(
    async () =>
      expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({
        status: 'sent',
        counts: { delivered: 1, failed: 3 },
      }),
    PATIENCE,
  )
  await untilGot(['stays'])
})

test('rejects changes to the content of a broadcast in progress, and sends the content it started with', async () => {
  await open()
  const segment = await segmentOf(['one', 'two'])
  await lane('pause')
  const id = await send(segment)
  await enqueued(id, 2)
  const refused = await appliance.call<{ message: string }>('PATCH', `/broadcasts/${id}`, {
    subject: 'Other',
  })
  expect(refused.status).toBe(403)
  await call('PATCH', `/broadcasts/${id}`, { name: 'Renamed' })
  await lane('resume')
  await untilGot(['one', 'two'])
  expect(world.mailboxOf(HOST).every(({ raw }) => raw.includes('Subject: News\r\n'))).toBe(true)
})

/** Real time that the test can set. */
function settableClock(): TestClock & { offset: number } {
  return {
    offset: 0,
    now() {
      return Date.now() + this.offset
    },
    steady: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, Math.min(Math.max(0, ms), 2_147_483_647))
      timer.unref()
      return () => clearTimeout(timer)
    },
    advance: () => Promise.reject(new Error('this clock is set')),
    set: () => Promise.reject(new Error('this clock is set')),
  }
}

test.each([
  ['a day forward', 24 * HOUR],
  ['an hour backward', -HOUR],
])(
  'setting the clock %s during a broadcast duplicates and loses no emails',
  async (_, jump) => {
    const clock = settableClock()
    clock.now = clock.now.bind(clock)
    await open({}, clock)
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const segment = await segmentOf(names)
    const held = Promise.withResolvers<undefined>()
    world
      .exchanger(HOST)
      .behave(({ command }) => (command === 'message' ? { until: held.promise } : undefined))
    const id = await send(segment)
    await vi.waitFor(
      () => expect(world.exchanger(HOST).steps.some(({ command }) => command === 'rcpt')).toBe(true),
      PATIENCE,
    )
    clock.offset += jump
    held.resolve(undefined)
    await appliance.send({ to: 'fresh@customer.test' })
    await vi.waitFor(() => expect(readers()).toContain('fresh'), PATIENCE)
    // Timers that were due when the clock went back are due again when it reaches that time.
    if (jump < 0) clock.offset -= jump
    await appliance.send({ to: 'later@customer.test' })
    await untilGot([...names, 'fresh', 'later'])
    await vi.waitFor(
      async () => expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'sent' }),
      PATIENCE,
    )
    expect(readers()).toHaveLength(names.length + 2)
  },
  120_000,
)

test('a broadcast waits while the disk is full, and resumes by itself', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-full-'))
  cleanup.push(() => rm(folder, { recursive: true, force: true }))
  const disk = mountSmall(folder, 48)
  if (disk === undefined) return context.skip('a small file system can only be mounted by root')
  cleanup.unshift(() => unmount(disk))
  const { TMPDIR } = process.env
  process.env.TMPDIR = disk
  await open({
    config: { storage: { engine: 'sqlite', bodies: 'engine', min_free_mb: 16, reserve_mb: 0 } },
  })
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  const segment = await segmentOf(['one', 'two', 'three'])
  const id = await send(segment, { scheduled_at: 'in 1 hour' })
  await fillDisk(disk, 4_000_000)
  await world.clock.advance(HOUR + 1000)
  await vi.waitFor(
    async () =>
      expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'queued', recipients: 3 }),
    PATIENCE,
  )
  await world.clock.advance(60_000)
  expect((await call<{ data: object[] }>('GET', `/emails?broadcast_id=${id}`)).data).toEqual([])
  await emptyDisk(disk)
  await vi.waitFor(async () => {
    await world.clock.advance(1000)
    expect(readers()).toEqual(['one', 'three', 'two'])
  }, PATIENCE)
  await untilGot(['one', 'two', 'three'])
})
