import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { tlsFile } from '../world/tls.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Tests a message that requires TLS on the whole path (RFC 8689), from an app's client to the recipients' exchangers.
 */
let world: World
let appliance: TestAppliance

const promises = { hideREQUIRETLS: false }
const mx = (...hosts: string[]) => hosts.map((host, at) => ({ preference: 10 * (at + 1), host }))

beforeAll(async () => {
  setDefaultCACertificates([...getCACertificates(), tlsFile('ca.pem')])
  world = await createWorld({
    domains: {
      'promise.test': {
        mx: [
          {
            preference: 10,
            host: 'mx1.trusted.test',
            exchanger: { tls: 'trusted', smtp: promises },
          },
        ],
      },
      // The return address, at a server that doesn't announce REQUIRETLS.
      'sender.test': { mx: [{ preference: 10, host: 'mx2.trusted.test', exchanger: { tls: 'trusted' } }] },
      'stranger.test': {
        mx: [{ preference: 10, host: 'mx.stranger.test', exchanger: { tls: 'self-signed', smtp: promises } }],
      },
      'plain.test': { mx: [{ preference: 10, host: 'mx.plain.test', exchanger: {} }] },
      'down.test': { mx: [{ preference: 10, host: 'mx.down.test', exchanger: { down: true } }] },
      'last.test': { mx: mx('mx.plain.test', 'mx.stranger.test', 'mx2.trusted.test', 'mx1.trusted.test') },
      'perhaps.test': { mx: mx('mx.plain.test', 'mx.down.test', 'mx2.trusted.test') },
    },
  })
  appliance = await startAppliance({
    world,
    config: {
      smtp: {
        starttls: ['127.0.0.1:0'],
        implicit_tls: [],
        trusted: [],
        proxy_protocol_from: [],
        hide_client: false,
        max_connections: 10,
        max_connections_per_address: 10,
        max_unknown_connections_per_address: 1000,
      },
    },
  })
})
afterAll(async () => {
  await appliance.close()
  await world.close()
})

/** Sends as an app does. Returns the ID. */
async function send(to: string, options: { require: boolean; headers?: Record<string, string> }) {
  const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'posthaste', pass: appliance.apiKey },
  })
  const { response } = await transport.sendMail({
    from: 'App <app@sender.test>',
    to,
    subject: 'Secret',
    text: 'The word is swordfish.',
    headers: options.headers ?? {},
    requireTLSExtensionEnabled: options.require,
  })
  transport.close()
  return /Queued as (.+)$/.exec(response)![1]!
}

const said = ({ attempts }: Timeline, name: string) =>
  attempts.flatMap(({ steps }) => steps.filter((step) => step.name === name).map(({ sent }) => sent))
/**
 * Reports whether the message itself arrived. A report about it returns its header section and may have arrived at the
 * same host.
 */
const saw = (host: string, id: string) =>
  world.mailboxOf(host).filter(({ envelope, raw }) => envelope.from !== '' && raw.includes(`id ${id};`))
    .length

describe('a message with REQUIRETLS', () => {
  test('a REQUIRETLS message is delivered to a server that supports it, with REQUIRETLS on MAIL', async () => {
    const id = await send('ada@promise.test', { require: true })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    expect(said(timeline, 'mail')).toEqual([expect.stringMatching(/ REQUIRETLS$/)])
    expect(timeline.attempts[0]!.tls).toMatchObject({ verified: true })
  })

  test('a REQUIRETLS message is delivered to the only exchanger that supports it', async () => {
    const id = await send('ada@last.test', { require: true })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    expect(timeline.attempts[0]!.host).toBe('mx1.trusted.test')
    expect(said(timeline, 'mail')).toHaveLength(1)
    for (const host of ['mx.plain.test', 'mx.stranger.test', 'mx2.trusted.test'])
      expect(saw(host, id)).toBe(0)
  })

  test.each([
    ['plain.test', 'mx.plain.test', 'mx.plain.test does not offer TLS, and', '5.7.10'],
    [
      'stranger.test',
      'mx.stranger.test',
      'presented a certificate that is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
      '5.7.10',
    ],
    ['sender.test', 'mx2.trusted.test', 'mx2.trusted.test does not offer REQUIRETLS, and', '5.7.30'],
  ])(
    'a REQUIRETLS message to %s bounces, and the report does not leak its content',
    async (domain, host, why, status) => {
      const before = world.mailboxOf('mx2.trusted.test').length
      const id = await send(`ada@${domain}`, { require: true })
      const timeline = await appliance.until(id, isFinal)
      expect(timeline.deliveries.map(({ state }) => state)).toEqual(['bounced'])
      expect(timeline.deliveries[0]!.cause!.note).toContain(why)
      expect(said(timeline, 'mail')).toEqual([])
      expect(saw(host, id)).toBe(0)
      const arrived = await world.mailboxOf('mx2.trusted.test').waitFor(before + 1)
      const report = arrived.at(-1)!
      expect(report.envelope).toEqual({ from: '', to: ['app@sender.test'] })
      expect(report.tls).not.toBeNull()
      const text = report.raw.toString()
      expect(text).toContain(`Status: ${status}\r\n`)
      expect(text).toContain('text/rfc822-headers')
      expect(text).not.toContain('swordfish')
    },
  )

  test('a REQUIRETLS message is deferred while an exchanger that might support it is unreachable', async () => {
    const id = await send('ada@perhaps.test', { require: true })
    const timeline = await appliance.until(id, ({ attempts }) => attempts.length > 0)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['waiting'])
    expect(timeline.deliveries[0]!.cause!.host).toBe('mx.down.test')
    expect(said(timeline, 'mail')).toEqual([])
  })
})

describe('a domain that enforces TLS', () => {
  beforeAll(async () => {
    const { storage } = appliance.appliance
    const { teamId } = appliance
    const { id } = (await storage.findDomain({ teamId, name: 'sender.test' }, world.clock.now()))!
    const { status } = await appliance.call('PATCH', `/domains/${id}`, { tls: 'enforced' })
    expect(status).toBe(200)
  })
  const unimportant = { 'TLS-Required': 'No' }

  test('a domain that enforces TLS sends a message with TLS-Required: No in plain text', async () => {
    const id = await send('ada@plain.test', { require: false, headers: unimportant })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    expect(world.mailboxOf('mx.plain.test').at(-1)!.raw.toString()).toMatch(/^TLS-Required: No\r$/im)
  })

  test('a domain that enforces TLS sends an API email with TLS-Required: No in plain text', async () => {
    const id = await appliance.send({ to: 'ada@plain.test', headers: unimportant })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
  })

  test('REQUIRETLS takes precedence over TLS-Required: No', async () => {
    const id = await send('ada@plain.test', { require: true, headers: unimportant })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['bounced'])
    expect(saw('mx.plain.test', id)).toBe(0)
  })
})
