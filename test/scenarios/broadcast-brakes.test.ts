import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** A provider that refuses a broadcast as spam stops its own part; and a brake does not act again on what it saw. */

const READERS = 30
const PATIENCE = { timeout: 90_000, interval: 50 }
const SPAM = '550 5.7.1 This message is likely spam'

let world: World
let appliance: TestAppliance
let refusing = true
beforeAll(async () => {
  const wary = on('message', SPAM)
  const gone = { behave: on('rcpt', '550 5.1.1 No such user here') }
  world = await createWorld({
    domains: {
      'wary.test': {
        mx: [
          {
            preference: 10,
            host: 'mx.wary.test',
            exchanger: { behave: (step) => (refusing ? wary(step) : undefined) },
          },
        ],
      },
      'kind.test': { mx: [{ preference: 10, host: 'mx.kind.test' }] },
      'gone.test': { mx: [{ preference: 10, host: 'mx.gone.test', exchanger: gone }] },
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

/** Sends a broadcast to these addresses. Returns its id. */
async function sendTo(emails: string[]): Promise<string> {
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  return id
}

const addresses = (domain: string, count: number) =>
  Array.from({ length: count }, (_, n) => `reader${n}@${domain}`)

interface Shown {
  status: string
  warning: string | null
  paused_at: string | null
  paused_providers: { provider: string; reason: string }[]
  counts: Record<string, number>
}
/** Returns the broadcast a second later on the world's clock. */
async function later(id: string): Promise<Shown> {
  await world.clock.advance(1000)
  return call<Shown>('GET', `/broadcasts/${id}`)
}

test('a provider that rejects a broadcast as spam pauses it for that provider, and a user can resume it', async () => {
  // The provider is known, and its lane is slow, so that most of its readers wait when the brake acts.
  await call('PATCH', '/providers/wary.test', { messages_per_minute: 12 })
  await appliance.send({ to: 'first@wary.test' })
  await appliance.send({ to: 'first@kind.test' })
  await vi.waitFor(() => expect(world.mailboxOf('mx.kind.test')).toHaveLength(1), PATIENCE)
  const id = await sendTo([...addresses('wary.test', READERS), ...addresses('kind.test', READERS)])
  let shown: Shown | undefined
  await vi.waitFor(async () => {
    shown = await later(id)
    expect(shown).toMatchObject({
      status: 'queued',
      paused_at: null,
      paused_providers: [
        {
          provider: 'wary.test',
          reason: expect.stringMatching(
            /^wary\.test refused \d+ of the last \d+ emails as spam or because of your reputation\. /,
          ) as string,
        },
      ],
    })
  }, PATIENCE)
  await vi.waitFor(async () => {
    await later(id)
    expect(world.mailboxOf('mx.kind.test')).toHaveLength(1 + READERS)
  }, PATIENCE)
  const resume = (provider: string) =>
    appliance.call<{ message?: string }>('POST', `/broadcasts/${id}/resume`, { provider })
  expect(await resume('kind.test')).toMatchObject({
    status: 403,
    body: { message: 'This broadcast is not paused for kind.test.' },
  })
  const { counts, status } = await later(id)
  expect(status).toBe('queued')
  expect(counts.queued).toBeGreaterThan(0)
  refusing = false
  expect((await resume('wary.test')).status).toBe(200)
  await vi.waitFor(async () => expect(await later(id)).toMatchObject({ status: 'sent' }), PATIENCE)
  // The last email may still be on the wire.
  await vi.waitFor(async () => {
    const { paused_providers: held, counts: end } = await later(id)
    expect(held).toEqual([])
    expect((end.delivered ?? 0) + (end.bounced ?? 0)).toBe(2 * READERS)
    expect(end.bounced).toBeLessThan(READERS)
  }, PATIENCE)
}, 300_000)

test('after a resume, emails that caused an automatic pause do not cause another', async () => {
  await call('POST', '/lanes/auto~kind.test/pause', {})
  const id = await sendTo([...addresses('gone.test', 12), 'last@kind.test'])
  await vi.waitFor(
    async () => expect(await later(id)).toMatchObject({ paused_at: expect.any(String) as string }),
    PATIENCE,
  )
  await call('POST', `/broadcasts/${id}/resume`)
  const { storage } = appliance.appliance
  const stored = () => storage.getBroadcast({ teamId: appliance.teamId, id }, Date.now())
  // The runner counts results and then looks at the brakes, so the second count follows the first look.
  let last = (await stored())!.resumedAt!
  for (let looks = 0; looks < 2; looks++)
    await vi.waitFor(async () => {
      await world.clock.advance(1000)
      const { countedAt } = (await stored())!
      expect(countedAt).toBeGreaterThan(last)
      last = countedAt!
    }, PATIENCE)
  expect((await stored())!.paused).toBeNull()
  await call('POST', '/lanes/auto~kind.test/resume', {})
  await vi.waitFor(async () => expect(await later(id)).toMatchObject({ status: 'sent' }), PATIENCE)
}, 300_000)

test('warns of complaints while a broadcast is being sent, before they pause it', async () => {
  // One recipient is held back, so that the broadcast stays in progress.
  await call('POST', '/lanes/auto~kind.test/pause', {})
  const complaining = ['complained+1@resend.dev', 'complained+2@resend.dev']
  const id = await sendTo([...complaining, 'delivered@resend.dev', 'waits@kind.test'])
  const warning = expect.stringMatching(
    /^2 of 3 delivered emails were reported as spam \(66\.67%\)\. /,
  ) as string
  await vi.waitFor(
    async () => expect(await later(id)).toMatchObject({ status: 'queued', paused_at: null, warning }),
    PATIENCE,
  )
  const { data } = await call<{ data: { id: string }[] }>('GET', '/broadcasts?status=queued')
  expect(data).toMatchObject([{ id, warning }])
  await call('POST', '/lanes/auto~kind.test/resume', {})
  await vi.waitFor(
    async () => expect(await later(id)).toMatchObject({ status: 'sent', warning: null }),
    PATIENCE,
  )
}, 300_000)
