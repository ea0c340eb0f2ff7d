import { request } from 'node:http'
import { createTransport } from 'nodemailer'
import { Resend } from 'resend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Tests mail about a topic: sent with the official client and over SMTP, and unsubscribed from with one click, as
 * mailbox providers do (RFC 8058).
 */

const HOST = 'mx.customer.test'
const PUBLIC = 'https://mail.sender.test'
const ONE_CLICK = 'List-Unsubscribe=One-Click'

let world: World
let appliance: TestAppliance
let client: Resend
let topicId: string
beforeAll(async () => {
  world = await createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } })
  const http = { listen: ['127.0.0.1:0'], public_url: PUBLIC } as Config['http']
  appliance = await startAppliance({ world, config: { smtp: smtp(), http } })
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
  const topic = await client.topics.create({ name: 'News', defaultSubscription: 'opt_in' })
  topicId = topic.data!.id
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

function smtp(): Config['smtp'] {
  const listen = { starttls: ['127.0.0.1:0'], implicit_tls: [], trusted: [], proxy_protocol_from: [] }
  const limits = { max_connections: 10, max_connections_per_address: 10 }
  return { ...listen, ...limits, max_unknown_connections_per_address: 10, hide_client: false }
}

async function send(to: string | string[], more: object = {}): Promise<string> {
  const mail = {
    from: `Acme <hello@${appliance.domain}>`,
    to,
    subject: 'News',
    text: 'News.',
    topicId,
    ...more,
  }
  const { data, error } = await client.emails.send(mail)
  expect(error).toBeNull()
  return data!.id
}

async function submit(headers: Record<string, string>): Promise<string> {
  const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'posthaste', pass: appliance.apiKey },
  })
  const mail = { from: `App <hello@${appliance.domain}>`, subject: 'Hello', text: 'Hi' }
  const { response } = await transport.sendMail({ ...mail, to: 'smtp@customer.test', headers })
  transport.close()
  return /Queued as (.+)$/.exec(response)![1]!
}

/** Returns the email's header fields as they arrived, unfolded. */
async function arrived(id: string): Promise<Map<string, string>> {
  const { deliveries } = await appliance.until(id, isFinal)
  expect(deliveries.map(({ state }) => state)).toEqual(deliveries.map(() => 'delivered'))
  const raw = world.mailboxOf(HOST).at(-1)!.raw.toString()
  const header = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ')
  return new Map(
    header.split('\r\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

/** Posts to an email's unsubscribe link as a mailbox provider does. The test resolves the public name itself. */
async function leave(fields: Map<string, string>): Promise<number> {
  const link = /^<(https:\S+)>$/.exec(fields.get('list-unsubscribe')!)![1]!
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status } = await fetch(link.replace(PUBLIC, appliance.url), {
    method: 'POST',
    headers,
    body: ONE_CLICK,
  })
  return status
}

const isSigned = (fields: Map<string, string>, name: string): boolean =>
  /\bh=([^;]*);/.exec(fields.get('dkim-signature')!)![1]!.replaceAll(' ', '').split(':').includes(name)

test('a recipient can unsubscribe with one click, and then gets no more mail of the topic', async () => {
  const fields = await arrived(await send('ada@customer.test'))
  expect(fields.get('list-unsubscribe-post')).toBe(ONE_CLICK)
  for (const name of ['list-unsubscribe', 'list-unsubscribe-post']) expect(isSigned(fields, name)).toBe(true)
  expect(await leave(fields)).toBe(200)
  const { deliveries } = await appliance.until(await send('ADA@customer.test'), isFinal)
  expect(deliveries).toMatchObject([{ state: 'failed', cause: { by: 'recipient' } }])
  const batch = await client.batch.send([
    { from: `hello@${appliance.domain}`, to: 'ada@customer.test', subject: 'x', text: 'x', topicId },
  ])
  expect((await client.emails.get(batch.data!.data[0]!.id)).data).toMatchObject({ last_event: 'failed' })
  expect(
    (await arrived(await send('ada@customer.test', { topicId: undefined }))).has('list-unsubscribe'),
  ).toBe(false)
})

test('adds no unsubscribe link for several recipients, and keeps a link set by the app', async () => {
  const several = await arrived(await send(['bob@customer.test', 'eve@customer.test']))
  expect(several.has('list-unsubscribe')).toBe(false)
  const own = await arrived(
    await send('bob@customer.test', { headers: { 'List-Unsubscribe': '<mailto:u@sender.test>' } }),
  )
  expect(own.get('list-unsubscribe')).toBe('<mailto:u@sender.test>')
  expect(own.has('list-unsubscribe-post')).toBe(false)
})

test('accepts the topic in X-Posthaste-Topic over SMTP, and removes the header', async () => {
  const fields = await arrived(await submit({ 'X-Posthaste-Topic': topicId }))
  expect(fields.has('x-posthaste-topic')).toBe(false)
  expect(fields.get('list-unsubscribe-post')).toBe(ONE_CLICK)
  expect(isSigned(fields, 'list-unsubscribe')).toBe(true)
  expect(await leave(fields)).toBe(200)
  const { deliveries } = await appliance.until(await submit({ 'X-Posthaste-Topic': topicId }), isFinal)
  expect(deliveries).toMatchObject([{ state: 'failed' }])
  const unknown = submit({ 'X-Posthaste-Topic': '00000000-0000-7000-8000-000000000000' })
  await expect(unknown).rejects.toThrow(/Invalid `X-Posthaste-Topic` field/)
})

test("uses the domain's own name for the link once its CNAME is verified, and one-click works there", async () => {
  const { body } = await appliance.call<{ data: { id: string }[] }>('GET', '/domains')
  const { id } = body.data[0]!
  await appliance.call('PATCH', `/domains/${id}`, { tracking_subdomain: 'links' })
  world.dns.set('links.sender.test', { CNAME: 'mail.sender.test' })
  await appliance.appliance.senders.verifyDomain({ teamId: appliance.teamId, id })
  const fields = await arrived(await send('carl@customer.test'))
  const link = new URL(/^<(\S+)>$/.exec(fields.get('list-unsubscribe')!)![1]!)
  expect(link.hostname).toBe('links.sender.test')
  const visit = (method: string, sent?: string) =>
    new Promise<number>((resolve, reject) => {
      const { hostname, port } = new URL(appliance.url)
      const headers = { host: link.host, 'content-type': 'application/x-www-form-urlencoded' }
      const asked = { hostname, port, path: link.pathname, method, headers }
      request(asked, (response) => resolve(response.resume().statusCode!))
        .on('error', reject)
        .end(sent)
    })
  expect([await visit('HEAD'), await visit('GET')]).toEqual([200, 200])
  const before = await arrived(await send('carl@customer.test'))
  expect(before.has('list-unsubscribe')).toBe(true)
  expect(await visit('POST', ONE_CLICK)).toBe(200)
  const { deliveries } = await appliance.until(await send('carl@customer.test'), isFinal)
  expect(deliveries).toMatchObject([{ state: 'failed', cause: { by: 'recipient' } }])
  await appliance.call('PATCH', `/domains/${id}`, { tracking_subdomain: '' })
})
