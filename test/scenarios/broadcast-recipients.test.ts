import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { readCsv } from '../../appliance/mail/csv.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** What a broadcast says of its recipients: how many are on the wire at a pause, and what became of each. */

const HOST = 'mx.customer.test'
const PATIENCE = { timeout: 60_000, interval: 50 }

let world: World
let appliance: TestAppliance
/** Set: the exchanger answers no message before it is resolved. */
let wait: Promise<void> | undefined
beforeAll(async () => {
  const gone = { behave: on('rcpt', '550 5.1.1 No such user here') }
  world = await createWorld({
    domains: {
      'customer.test': {
        mx: [
          {
            preference: 10,
            host: HOST,
            exchanger: {
              behave: ({ command }) => (command === 'message' && wait ? { until: wait } : undefined),
            },
          },
        ],
      },
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
const segmentOf = async (emails: string[]): Promise<string> => {
  const { id } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  for (let from = 0; from < emails.length; from += 500)
    await call('POST', '/contacts/batch/add', { emails: emails.slice(from, from + 500), segment_ids: [id] })
  return id
}
const send = async (segment: string): Promise<string> =>
  (
    await call<{ id: string }>('POST', '/broadcasts', {
      segment_id: segment,
      from: `news@${appliance.domain}`,
      subject: 'News',
      send: true,
      html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    })
  ).id

interface Shown {
  status: string
  in_flight: number
  counts: Record<string, number>
  unsubscribed: number
}
const shown = (id: string) => call<Shown>('GET', `/broadcasts/${id}`)

test('pausing returns the number of emails in flight, which finish', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  wait = promise
  const addresses = Array.from({ length: 40 }, (_, n) => `wire${n}@customer.test`)
  const id = await send(await segmentOf(addresses))
  await vi.waitFor(async () => expect((await shown(id)).in_flight).toBeGreaterThan(0), PATIENCE)
  const { in_flight: count } = await call<{ in_flight: number }>('POST', `/broadcasts/${id}/pause`)
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThan(40)
  resolve()
  wait = undefined
  await vi.waitFor(async () => expect(await shown(id)).toMatchObject({ in_flight: 0 }), PATIENCE)
  const { counts, status } = await shown(id)
  expect(status).toBe('queued')
  // Those that waited for a connection and got none go back to the queue.
  expect(counts.delivered).toBeLessThanOrEqual(count)
  expect(counts.delivered).toBeGreaterThan(0)
  await call('POST', `/broadcasts/${id}/resume`)
  await vi.waitFor(async () => expect((await shown(id)).counts).toEqual({ delivered: 40 }), PATIENCE)
  expect((await shown(id)).in_flight).toBe(0)
})

test('exports all recipients with their results, and escapes formulas in cells', async () => {
  const names = Array.from({ length: 230 }, (_, n) => `reader${n}@customer.test`)
  const segment = await segmentOf([...names, '=1+1@customer.test', 'nobody@gone.test'])
  await call('PATCH', `/contacts/${encodeURIComponent(names[0]!)}`, { unsubscribed: true })
  const id = await send(segment)
  await vi.waitFor(async () => {
    await world.clock.advance(1000)
    expect((await shown(id)).counts).toEqual({ delivered: 230, bounced: 1 })
  }, PATIENCE)
  const fileOf = async (query: string) => {
    const answer = await fetch(`${appliance.url}/broadcasts/${id}/recipients/export.csv${query}`, {
      headers: { authorization: `Bearer ${appliance.apiKey}` },
    })
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="broadcast-recipients.csv"')
    const [head, ...rows] = [...readCsv(await answer.text())].map(({ cells }) => cells)
    return rows.map((cells) => Object.fromEntries(head!.map((name, at) => [name, cells[at]])))
  }
  const rows = await fileOf('')
  expect(rows).toHaveLength(232)
  const of = (email: string) => rows.find((row) => row.email === email)
  expect(of(names[0]!)).toMatchObject({
    status: 'skipped',
    reason: 'unsubscribed',
    email_id: '',
    sent_at: '',
  })
  expect(of('nobody@gone.test')).toMatchObject({ status: 'bounced', bounce_type: 'permanent' })
  expect(of("'=1+1@customer.test")).toMatchObject({
    status: 'delivered',
    reason: '',
    opens: '0',
    clicks: '0',
    unsubscribed: 'false',
    sent_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  })
  expect((await fileOf('?type=bounced')).map(({ email }) => email)).toEqual(['nobody@gone.test'])
  expect(await fileOf('?type=delivered')).toHaveLength(230)
  const refused = (path: string) => appliance.call('GET', `/broadcasts/${path}/recipients/export.csv`)
  expect((await refused('00000000-0000-4000-8000-000000000000')).status).toBe(404)
})

test('lists the broadcasts of a segment with their number of unsubscribes', async () => {
  const segment = await segmentOf(['one@customer.test'])
  const id = await send(segment)
  await vi.waitFor(async () => {
    await world.clock.advance(1000)
    expect(await shown(id)).toMatchObject({ status: 'sent', counts: { delivered: 1 } })
  }, PATIENCE)
  const raw = world
    .mailboxOf(HOST)
    .find(({ envelope }) => envelope.to.includes('one@customer.test'))!
    .raw.toString()
    .replaceAll(/\r\n[ \t]+/g, ' ')
  const link = /^List-Unsubscribe: <(https:[^>]+)>/im.exec(raw)![1]!
  const answer = await fetch(link.replace('https://mail.sender.test', appliance.url), {
    method: 'POST',
    body: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect(answer.status).toBe(200)
  await vi.waitFor(async () => {
    await world.clock.advance(10_000)
    const list = await call<{ data: Shown[] }>('GET', `/broadcasts?segment_id=${segment}`)
    expect(list.data).toEqual([expect.objectContaining({ id, unsubscribed: 1 })])
  }, PATIENCE)
  expect((await appliance.call('GET', '/broadcasts?segment_id=1')).status).toBe(422)
})
