import { Resend } from 'resend'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests broadcasts created and sent with the official client, received, and unsubscribed from with one click. */

const HOST = 'mx.customer.test'
const PUBLIC = 'https://mail.sender.test'

let world: World
let appliance: TestAppliance
let client: Resend
beforeAll(async () => {
  const gone = { behave: on('rcpt', '550 5.1.1 No such user here') }
  world = await createWorld({
    domains: {
      'customer.test': { mx: [{ preference: 10, host: HOST }] },
      'gone.test': { mx: [{ preference: 10, host: 'mx.gone.test', exchanger: gone }] },
    },
  })
  const http = { listen: ['127.0.0.1:0'], public_url: PUBLIC } as Config['http']
  appliance = await startAppliance({ world, config: { http } })
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

const taken = async <T>(answer: Promise<{ data: T | null; error: unknown }>): Promise<T> => {
  const { data, error } = await answer
  expect(error).toBeNull()
  return data!
}

/** Creates a segment of `size` contacts: `<name>0@customer.test` and so on. */
async function segmentOf(name: string, size: number): Promise<string> {
  const { id } = await taken(client.segments.create({ name }))
  for (let n = 0; n < size; n++)
    await taken(
      client.contacts.create({
        email: `${name}${n}@customer.test`,
        segments: [{ id }],
        ...(n % 2 === 0 && { firstName: `<b>${name}${n}</b>` }),
      }),
    )
  return id
}

const CONTENT = {
  subject: 'News for {{{FIRST_NAME|you}}}',
  html: '<p>Hi {{{FIRST_NAME|friend}}}</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
}
const draft = async (segmentId: string, more: object = {}) =>
  (
    await taken(
      client.broadcasts.create({ ...CONTENT, segmentId, from: `Ada <ada@${appliance.domain}>`, ...more }),
    )
  ).id

const arrived = (name: string) =>
  world.mailboxOf(HOST).filter(({ envelope }) => envelope.to.some((one) => one.startsWith(name)))

/** Waits until a broadcast is in a state. */
const until = (id: string, status: string) =>
  vi.waitFor(async () => expect((await client.broadcasts.get(id)).data?.status).toBe(status), {
    timeout: 30_000,
    interval: 50,
  })

const header = (raw: Buffer, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(
    raw
      .toString()
      .split('\r\n\r\n', 1)[0]!
      .replaceAll(/\r\n[ \t]+/g, ' '),
  )?.[1]

test('every contact gets one copy with their own values and signed unsubscribe headers', async () => {
  const id = await draft(await segmentOf('own', 5))
  expect(await taken(client.broadcasts.send(id))).toMatchObject({ id })
  await until(id, 'sent')
  await vi.waitFor(() => expect(arrived('own')).toHaveLength(5), { timeout: 30_000 })
  expect(new Set(arrived('own').map(({ envelope }) => envelope.to[0])).size).toBe(5)
  const [even, odd] = ['own0', 'own1'].map((name) => arrived(name)[0]!.raw)
  expect(header(even!, 'Subject')).toBe('News for <b>own0</b>')
  expect(even!.toString()).toContain('Hi &lt;b&gt;own0&lt;/b&gt;')
  expect(header(odd!, 'Subject')).toBe('News for you')
  expect(odd!.toString()).toContain('Hi friend')
  expect(odd!.toString()).not.toContain('{{{')
  expect(header(odd!, 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click')
  expect(header(odd!, 'List-Id')).toMatch(/^"own" <[0-9a-f-]{36}\./)
  expect(header(odd!, 'Feedback-ID')).toMatch(new RegExp(`^${id}:[0-9a-f]{10}:broadcast:posthaste$`))
  const signed = /\bh=([^;]*);/.exec(header(odd!, 'DKIM-Signature')!)![1]!.replaceAll(' ', '').split(':')
  expect(signed).toEqual(
    expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post', 'list-id', 'feedback-id']),
  )
  const link = /<(https:[^>]+)>/.exec(header(odd!, 'List-Unsubscribe')!)![1]!
  const left = await fetch(link.replace(PUBLIC, appliance.url), {
    method: 'POST',
    body: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect(left.status).toBe(200)
  const list = (type: string) =>
    appliance.call<{ data: { email: string }[] }>('GET', `/broadcasts/${id}/recipients?type=${type}`)
  expect((await list('unsubscribed')).body.data).toMatchObject([{ email: 'own1@customer.test' }])
  expect((await list('delivered')).body.data).toHaveLength(5)
})

test('tracked links are numbered, redirect to their targets, and are recorded', async () => {
  const { body: domains } = await appliance.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  const path = `/domains/${domains.data.find(({ name }) => name === appliance.domain)!.id}`
  await appliance.call('PATCH', path, { click_tracking: true, open_tracking: true })
  const html = `<p><a href="https://shop.test/a?x=1&amp;y=2">A</a> <a href="https://shop.test/b">B</a></p>${CONTENT.html}`
  const id = await draft(await segmentOf('linked', 1), { html })
  await taken(client.broadcasts.send(id))
  await vi.waitFor(() => expect(arrived('linked')).toHaveLength(1), { timeout: 30_000 })
  const raw = arrived('linked')[0]!.raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const links = [...raw.matchAll(/"https:\/\/mail\.sender\.test(\/l\/([\w-]{64})\/(\d))"/g)]
  expect(links.map(([, , token, n]) => [token, n])).toEqual([
    [links[0]![2], '0'],
    [links[0]![2], '1'],
  ])
  expect(raw).toContain(`${PUBLIC}/o/${links[0]![2]}.gif`)
  const visit = (to: string) => fetch(appliance.url + to, { redirect: 'manual' })
  const followed = await visit(links[0]![1]!)
  expect([followed.status, followed.headers.get('location')]).toEqual([302, 'https://shop.test/a?x=1&y=2'])
  expect((await visit(links[0]![1]!.replace(/0$/, '7'))).status).toBe(404)
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', `/emails?broadcast_id=${id}`)
  const seen = async () =>
    (await appliance.timeline(body.data[0]!.id)).events.flatMap(({ visit: one }) => one?.link ?? [])
  await expect.poll(seen).toEqual(['https://shop.test/a?x=1&y=2'])
  await appliance.call('PATCH', path, { click_tracking: false, open_tracking: false })
})

test('composing an email of a broadcast again gives the same bytes, even after a restart', async () => {
  const id = await draft(await segmentOf('alike', 1))
  await taken(client.broadcasts.send(id))
  await vi.waitFor(() => expect(arrived('alike')).toHaveLength(1), { timeout: 30_000 })
  const { body } = await appliance.call<{ data: { id: string; to: string[] }[] }>('GET', '/emails?limit=5')
  const email = body.data.find(({ to }) => to[0] === 'alike0@customer.test')!
  const messageOf = async () =>
    Buffer.from((await appliance.appliance.storage.getMessage({ emailId: email.id }, Date.now()))!).toString()
  const before = await messageOf()
  await appliance.restart()
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
  expect(await messageOf()).toBe(before)
  expect(arrived('alike')[0]!.raw.toString()).toContain(before)
})

test('a paused broadcast resumes where it stopped after a restart, and sends nothing twice', async () => {
  const id = await draft(await segmentOf('pause', 4))
  const act = async (what: string) => (await appliance.call('POST', `/broadcasts/${id}/${what}`)).status
  await taken(client.broadcasts.send(id, { scheduledAt: 'in 1 hour' }))
  expect(await act('pause')).toBe(200)
  expect(await act('resume')).toBe(200)
  expect(await taken(client.broadcasts.get(id))).toMatchObject({ status: 'scheduled' })
  await taken(client.broadcasts.send(id))
  await act('pause')
  await appliance.restart()
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
  await act('resume')
  await until(id, 'sent')
  await vi.waitFor(() => expect(arrived('pause')).toHaveLength(4), { timeout: 30_000 })
  expect(new Set(arrived('pause').map(({ envelope }) => envelope.to[0])).size).toBe(4)
})

test('rejects a broadcast without an unsubscribe link, with the text to add', async () => {
  const id = await draft(await segmentOf('bare', 1), { html: '<p>Hello</p>' })
  const refused = await client.broadcasts.send(id)
  expect(refused.error).toMatchObject({
    statusCode: 403,
    name: 'validation_error',
    message:
      'A broadcast needs an unsubscribe link. Add `<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>` to its HTML, or {{{UNSUBSCRIBE_URL}}} to its plain text.',
  })
  await taken(client.broadcasts.update(id, { html: '', text: 'Leave: {{{RESEND_UNSUBSCRIBE_URL}}}' }))
  await taken(client.broadcasts.send(id))
  await vi.waitFor(() => expect(arrived('bare')).toHaveLength(1), { timeout: 30_000 })
  expect(arrived('bare')[0]!.raw.toString()).toContain(`Leave: ${PUBLIC}/u/`)
})

test('emails and metrics can be filtered by their broadcast', async () => {
  const id = await draft(await segmentOf('told', 2))
  await taken(client.broadcasts.send(id))
  await until(id, 'sent')
  await vi.waitFor(() => expect(arrived('told')).toHaveLength(2), { timeout: 30_000 })
  const single = await appliance.send({ to: 'told2@customer.test' })
  const get = async <T>(path: string) => (await appliance.call<T>('GET', path)).body
  const list = await get<{ data: { id: string; broadcast_id?: string }[] }>(`/emails?broadcast_id=${id}`)
  expect(list.data.map((one) => one.broadcast_id)).toEqual([id, id])
  expect(await get(`/emails/${list.data[0]!.id}`)).toMatchObject({ broadcast_id: id })
  expect(await get(`/emails/${single}`)).not.toHaveProperty('broadcast_id')
  expect((await appliance.call('GET', '/emails?broadcast_id=1')).status).toBe(422)
  const found = await get<typeof list>(`/emails/search?broadcast=${id}`)
  expect(found.data.map((one) => one.id)).toEqual(list.data.map((one) => one.id))
  expect(await get(`/queue?broadcast=${id}`)).toMatchObject({ data: [] })
  await vi.waitFor(
    async () =>
      expect(
        await get(`/emails/metrics?dimensions=broadcast&broadcast_id=${id}&metrics=sent,delivered`),
      ).toMatchObject({
        dimensions: ['broadcast'],
        totals: { sent: 2, delivered: 2 },
        data: [{ broadcast_id: id, broadcast_name: 'News for {{{FIRST_NAME|you}}}', sent: 2, delivered: 2 }],
      }),
    { timeout: 30_000, interval: 50 },
  )
  const rows = await get<{ data: { value: string; counts: object }[] }>(
    '/emails/metrics/breakdown?by=broadcast',
  )
  expect(rows.data.find(({ value }) => value === id)).toMatchObject({ counts: { sent: 2, delivered: 2 } })
  expect((await appliance.call('GET', '/emails/metrics/breakdown?by=broadcast&provider=google')).status).toBe(
    422,
  )
})

test('canceling a scheduled broadcast makes it a draft, which cannot be canceled', async () => {
  const id = await draft(await segmentOf('cancel', 1))
  const cancel = () => appliance.call<{ message?: string }>('POST', `/broadcasts/${id}/cancel`)
  await taken(client.broadcasts.send(id, { scheduledAt: 'in 1 hour' }))
  expect((await cancel()).status).toBe(200)
  expect((await client.broadcasts.get(id)).data).toMatchObject({ status: 'draft', scheduled_at: null })
  const refused = await cancel()
  expect([refused.status, refused.body.message]).toEqual([
    403,
    'Only queued or scheduled broadcasts can be canceled',
  ])
  expect(arrived('cancel')).toEqual([])
})

test('a broadcast pauses itself when its emails bounce, and shows the reason', async () => {
  const { id: segment } = await taken(client.segments.create({ name: 'bounce' }))
  const addresses = Array.from({ length: 12 }, (_, n) => `bounce${n}@gone.test`)
  for (const email of [...addresses, 'bounce@customer.test'])
    await taken(client.contacts.create({ email, segments: [{ id: segment }] }))
  // The last email is held back, so that the broadcast stays in progress.
  expect((await appliance.call('POST', '/lanes/auto~customer.test/pause', {})).status).toBe(200)
  const id = await draft(segment)
  await taken(client.broadcasts.send(id))
  await vi.waitFor(
    async () =>
      expect((await client.broadcasts.get(id)).data).toMatchObject({
        status: 'queued',
        pause_reason:
          '12 of the last 12 emails bounced, which harms your reputation. Check where the addresses come from before you continue.',
        counts: { bounced: 12 },
      }),
    { timeout: 30_000, interval: 50 },
  )
  expect((await appliance.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200)
  expect((await client.broadcasts.get(id)).data).toMatchObject({ status: 'canceled' })
  expect((await appliance.call('POST', '/lanes/auto~customer.test/resume')).status).toBe(200)
})

test('a scheduled broadcast that is hours late asks for confirmation before it is sent', async () => {
  const id = await draft(await segmentOf('late', 2))
  await taken(client.broadcasts.send(id, { scheduledAt: 'in 1 hour' }))
  await appliance.restart(() => world.clock.advance(3 * 3_600_000))
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
  await vi.waitFor(
    async () =>
      expect((await client.broadcasts.get(id)).data).toMatchObject({
        status: 'scheduled',
        pause_reason:
          'Its time passed more than an hour ago, while the server was down. Send it now, or choose another time.',
      }),
    { timeout: 30_000, interval: 50 },
  )
  expect(arrived('late')).toEqual([])
  expect((await appliance.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200)
  await until(id, 'sent')
  await vi.waitFor(() => expect(arrived('late')).toHaveLength(2), { timeout: 30_000 })
})
