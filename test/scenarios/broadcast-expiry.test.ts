import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** An email of a broadcast that a provider defers again and again expires after 48 hours. */

const HOUR = 3_600_000
const PATIENCE = { timeout: 90_000, interval: 50 }

let world: World
let appliance: TestAppliance
beforeAll(async () => {
  const busy = { behave: on('rcpt', '451 4.3.0 Try again later') }
  world = await createWorld({
    domains: {
      'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test', exchanger: busy }] },
      'kind.test': { mx: [{ preference: 10, host: 'mx.kind.test' }] },
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

test('an email of a broadcast expires after 48 hours, while a single email is still retried', async () => {
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = ['late@busy.test', 'reader@kind.test']
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const single = await appliance.send({ to: 'single@busy.test' })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `news@${appliance.domain}`,
    subject: 'News',
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const show = () =>
    call<{ status: string; counts: Record<string, number>; paused_at: string | null }>(
      'GET',
      `/broadcasts/${id}`,
    )
  // A deferred email doesn't keep the broadcast from being sent.
  await expect
    .poll(async () => {
      await world.clock.advance(1000)
      return show()
    }, PATIENCE)
    .toMatchObject({ status: 'sent', counts: { delivered: 1, delivery_delayed: 1 } })
  const { data } = await call<{ data: { id: string; to: string[] }[] }>('GET', `/emails?broadcast_id=${id}`)
  const late = data.find(({ to }) => to[0] === 'late@busy.test')!.id
  const began = Date.parse((await appliance.timeline(late)).attempts[0]!.started_at)

  for (let seen = await appliance.timeline(late); !isFinal(seen);) {
    const tries = seen.attempts.length
    await world.clock.set(Date.parse(seen.deliveries[0]!.next_attempt_at!) + 10)
    seen = await appliance.until(late, ({ attempts }) => attempts.length > tries)
  }
  const { deliveries, attempts, events } = await appliance.until(late, isFinal)
  expect(deliveries).toMatchObject([
    { state: 'expired', cause: { phase: 'rcpt', reply: { code: 451, text: 'Try again later' } } },
  ])
  const last = Date.parse(attempts.at(-1)!.started_at) - began
  expect(last).toBeGreaterThan(40 * HOUR)
  expect(last).toBeLessThan(56 * HOUR)
  expect(events.map(({ type }) => type)).toEqual([
    'email.sent',
    ...events.slice(1, -1).map(() => 'email.delivery_delayed'),
    'email.bounced',
  ])
  expect(await call('GET', `/emails/${late}`)).toMatchObject({ last_event: 'bounced', broadcast_id: id })
  expect((await appliance.timeline(single)).deliveries).toMatchObject([{ state: 'waiting' }])

  await expect
    .poll(show, PATIENCE)
    .toMatchObject({ status: 'sent', paused_at: null, counts: { delivered: 1, bounced: 1 } })
  // It may be delivered another time, so the address is not suppressed.
  expect(await call('GET', `/broadcasts/${id}/recipients?type=bounced`)).toMatchObject({
    data: [{ email: 'late@busy.test', bounce_type: 'transient' }],
  })
  expect((await appliance.call('GET', '/suppressions/late@busy.test')).status).toBe(404)
}, 300_000)
