import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Visit } from '../../appliance/api/timeline.ts'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Tests opens and clicks, from the domain's setting to the app's webhook: the whole appliance, a real mailbox, real
 * requests.
 */

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const HTML =
  '<html><body><a href="https://shop.test/a?x=1&amp;y=2">A</a> <a href="https://shop.test/b">B</a> <a href="mailto:a@b.test">M</a></body></html>'

let world: World
let appliance: TestAppliance
let receiver: Receiver
let domainId: string

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  const smtp = { starttls: ['127.0.0.1:0'] } as Config['smtp']
  appliance = await startAppliance({ world, config: { webhooks, smtp } })
  receiver = await startReceiver()
  const events = ['email.opened', 'email.clicked']
  await appliance.call('POST', '/webhooks', { endpoint: receiver.url, events })
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
  domainId = body.data[0]!.id
})
afterEach(() => {
  receiver.received.length = 0
})
afterAll(async () => {
  await appliance.close()
  await receiver.close()
  await world.close()
})

const set = (settings: object) => appliance.call('PATCH', `/domains/${domainId}`, settings)

/** Sends an email. Waits until it is delivered, and until an open would count as a person's. */
async function deliver(email: Record<string, unknown> = {}) {
  const mailbox = world.mailboxOf('mx.busy.test')
  const before = mailbox.length
  const id = await appliance.send({ to: 'ada@busy.test', html: HTML, text: undefined, ...email })
  await appliance.until(id, isFinal)
  const arrived = (await mailbox.waitFor(before + 1)).at(-1)!
  const { html, text } = await PostalMime.parse(arrived.raw)
  await world.clock.advance(10_000)
  const links = [...html!.matchAll(/href="([^"]+)"/g)].map(([, url]) => url!.replaceAll('&amp;', '&'))
  return { id, html: html!, text: text!, links, pixel: /<img src="([^"]+)"/.exec(html!)?.[1] }
}

const visit = (url: string, more: RequestInit = {}) =>
  fetch(url, { redirect: 'manual', headers: { 'user-agent': BROWSER }, ...more })

async function visits(id: string): Promise<(Visit & { type: string })[]> {
  const { events } = await appliance.timeline(id)
  return events.flatMap(({ type, visit: one }) => (one ? [{ type, ...one }] : []))
}
const lastEvent = async (id: string) =>
  (await appliance.call<{ last_event: string }>('GET', `/emails/${id}`)).body.last_event
const payloads = () =>
  receiver.received.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> })

test('a domain without tracking sends its HTML unchanged', async () => {
  const { html } = await deliver()
  expect(html.trimEnd()).toBe(HTML)
})

describe('a domain with tracking', () => {
  beforeAll(() => set({ open_tracking: true, click_tracking: true }))

  test('a domain with tracking gets opens and clicks in its webhook and timeline', async () => {
    const { id, html, text, links, pixel } = await deliver()
    expect(text).toContain('https://shop.test/a?x=1&y=2')
    expect(text).not.toContain(appliance.url)
    expect(links.map((link) => link.startsWith(`${appliance.url}/l/`))).toEqual([true, true, false])
    expect(html.replaceAll(/<img src="[^>]*>/g, '')).toContain('</body></html>')

    const image = await visit(pixel!)
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/gif'])
    expect(image.headers.get('cache-control')).toBe('no-store, private')
    expect((await image.arrayBuffer()).byteLength).toBe(42)
    await receiver.waitFor(1)
    expect(await lastEvent(id)).toBe('opened')

    const followed = await visit(links[0]!)
    expect([followed.status, followed.headers.get('location')]).toEqual([302, 'https://shop.test/a?x=1&y=2'])
    await receiver.waitFor(2)
    expect(await lastEvent(id)).toBe('clicked')
    const who = { ipAddress: '127.0.0.1', timestamp: expect.any(String) as string, userAgent: BROWSER }
    expect(payloads()).toMatchObject([
      { type: 'email.opened', data: { email_id: id, to: ['ada@busy.test'], open: who } },
      { type: 'email.clicked', data: { click: { ...who, link: 'https://shop.test/a?x=1&y=2' } } },
    ])
    const by = { ip: '127.0.0.1', user_agent: BROWSER, robot: false, seen_by: null }
    expect(await visits(id)).toEqual([
      { type: 'email.opened', link: null, ...by },
      { type: 'email.clicked', link: 'https://shop.test/a?x=1&y=2', ...by },
    ])
    await visit(pixel!)
    await world.clock.advance(90_000)
    await visit(pixel!)
    await receiver.waitFor(3)
    expect(await visits(id)).toHaveLength(3)
    expect(await lastEvent(id)).toBe('clicked')
  })

  test('opens and clicks by bots send no events, and are recorded separately', async () => {
    const { id, links, pixel } = await deliver()
    const as = (agent: string) => ({ headers: { 'user-agent': agent } })
    await visit(pixel!, as('Mozilla/5.0'))
    await visit(pixel!, as('Mozilla/5.0 (via ggpht.com GoogleImageProxy)'))
    await visit(links[0]!, { method: 'HEAD' })
    await visit(links[0]!, as('Barracuda Sentinel (EE)'))
    await visit(links[0]!, { headers: { 'user-agent': BROWSER, 'sec-purpose': 'prefetch' } })
    await receiver.waitFor(1)
    expect((await visits(id)).map(({ robot, seen_by: by }) => [robot, by])).toEqual([
      [true, 'Apple Mail Privacy Protection'],
      [false, 'Gmail image proxy'],
      [true, 'sent a HEAD request'],
      [true, 'Barracuda'],
      [true, 'prefetched the content'],
    ])
    expect(payloads().map(({ type }) => type)).toEqual(['email.opened'])
    expect(await lastEvent(id)).toBe('opened')
    const { body } = await appliance.call<{ totals: Record<string, number> }>(
      'GET',
      `/emails/metrics?metrics=opened,clicked,unique_opened&email_id=${id}`,
    )
    expect(body.totals).toEqual({ opened: 1, clicked: 0, unique_opened: 1 })
  })

  test('sends several recipients one message, and its opens have no recipient', async () => {
    const { id, pixel } = await deliver({ to: ['ada@busy.test', 'bob@busy.test'] })
    await visit(pixel!)
    await receiver.waitFor(1)
    const opened = (await appliance.timeline(id)).events.filter(({ type }) => type === 'email.opened')
    expect(opened.map((one) => [one.delivery_id, one.recipient])).toEqual([[null, null]])
    expect(payloads()[0]!.data.to).toEqual(['ada@busy.test', 'bob@busy.test'])
  })

  test('leaves the links in List-Unsubscribe unchanged', async () => {
    const headers = { 'List-Unsubscribe': '<https://shop.test/b>' }
    const { links } = await deliver({ headers })
    expect(links[1]).toBe('https://shop.test/b')
  })

  test('links still work, but are not recorded, after click tracking is turned off', async () => {
    const { id, links } = await deliver()
    await set({ click_tracking: false })
    expect((await visit(links[1]!)).headers.get('location')).toBe('https://shop.test/b')
    expect(await visits(id)).toEqual([])
    await set({ click_tracking: true })
  })

  test('links use the tracking subdomain of the domain once its CNAME is verified', async () => {
    await set({ tracking_subdomain: 'links' })
    expect((await deliver()).links[0]!.startsWith(appliance.url)).toBe(true)
    world.dns.set('links.sender.test', { CNAME: 'mail.sender.test' })
    await appliance.appliance.senders.verifyDomain({ teamId: appliance.teamId, id: domainId })
    const { body } = await appliance.call<{
      status: string
      records: { record: string; status: string; value: string; type: string }[]
    }>('GET', `/domains/${domainId}`)
    expect(body.status).toBe('verified')
    expect(body.records.at(-1)).toMatchObject({
      record: 'Tracking',
      type: 'CNAME',
      value: 'mail.sender.test',
      status: 'verified',
    })
    const { port } = new URL(appliance.url)
    expect((await deliver()).links[0]!.startsWith(`http://links.sender.test:${port}/l/`)).toBe(true)
    await set({ tracking_subdomain: 'other' })
    expect((await deliver()).links[0]!.startsWith(appliance.url)).toBe(true)
    await set({ tracking_subdomain: '' })
  })
})

test('tracks HTML received over SMTP, and changes nothing else in the message', async () => {
  await set({ open_tracking: true, click_tracking: true })
  const transport = createTransport({
    host: '127.0.0.1',
    port: Number(appliance.appliance.smtp.starttls[0]!.split(':')[1]),
    auth: { user: 'posthaste', pass: appliance.apiKey },
    tls: { rejectUnauthorized: false },
  })
  const mailbox = world.mailboxOf('mx.busy.test')
  const before = mailbox.length
  await transport.sendMail({
    from: `hello@${appliance.domain}`,
    to: 'ada@busy.test',
    subject: 'Grüße',
    text: 'See https://shop.test/b',
    html: HTML.replace('>A<', '>Ä<'),
    attachments: [{ filename: 'a.html', content: HTML }],
  })
  transport.close()
  const [arrived] = (await mailbox.waitFor(before + 1)).slice(-1)
  const { html, text, subject, attachments } = await PostalMime.parse(arrived!.raw)
  expect([subject, text!.trim(), attachments.length]).toEqual(['Grüße', 'See https://shop.test/b', 1])
  expect(Buffer.from(attachments[0]!.content as ArrayBuffer).toString()).toBe(HTML)
  const links = [...html!.matchAll(/href="([^"]+)"/g)].map(([, url]) => url!)
  expect(links.map((link) => link.startsWith(`${appliance.url}/l/`))).toEqual([true, true, false])
  expect((await visit(links[0]!)).headers.get('location')).toBe('https://shop.test/a?x=1&y=2')
  expect((await visit(/<img src="([^"]+)"/.exec(html!)![1]!)).status).toBe(200)
})

test.each(['/l/AAAA', '/o/x.gif', `/l/${Buffer.from('https://evil.test/').toString('base64url')}`])(
  '%s returns 404 and does not redirect',
  async (path) => {
    const answer = await visit(`${appliance.url}${path}`)
    expect([answer.status, answer.headers.get('location')]).toEqual([404, null])
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await answer.text()).toContain('This link does not work')
  },
)

test('a tracked link of almost 2,000 octets redirects to its target', async () => {
  await set({ click_tracking: true })
  const url = `https://shop.test/${'x'.repeat(1900)}`
  const { links } = await deliver({ html: `<a href="${url}">x</a>` })
  expect((await visit(links[0]!)).headers.get('location')).toBe(url)
})
