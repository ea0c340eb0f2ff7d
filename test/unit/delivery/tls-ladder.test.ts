import { getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { createConnections } from '../../../appliance/delivery/connections.ts'
import type { TlsDemand } from '../../../appliance/delivery/tls-demand.ts'
import { createTestClock } from '../../world/clock.ts'
import { dialog, type ScriptStep } from '../../world/scripted.ts'
import { tlsFile, type TlsMode } from '../../world/tls.ts'
import { encrypted, minute, noteOf, type Options, requireTls, serve, talk, verified } from './talk.ts'

/** Tests which TLS attempts are made with a host, what is remembered about it, and which demands a session meets. */
beforeAll(() => setDefaultCACertificates([...getCACertificates(), tlsFile('ca.pem')]))

const day = 86_400_000
const host = 'mx.trusted.test'
const start = 'S: 220 mx\n C: EHLO *\n S: 250-mx here\n S: 250 STARTTLS\n'
const message =
  'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 250 ok\n C: DATA\n S: 354 go\n C: <body>\n S: 250 queued\n'
const within = `C: EHLO *\n S: 250 mx\n ${message}`
const plain = `${start} ${message}`
/** Starts a server inside TLS with the given quirks. */
const tls = (
  more: { mode?: Exclude<TlsMode, 'none'>; options?: TlsOptions; mostHello?: number; then?: string } = {},
): ScriptStep[] => {
  const { mode = 'trusted', then = within, ...rest } = more
  return [...dialog(`${start} C: STARTTLS\n S: 220 go`), { startTls: mode, ...rest }, ...dialog(then)]
}
const broken = tls({ mode: 'broken' })
const smallOnly = tls({ mostHello: 1400 })

function place() {
  const clock = createTestClock()
  const connections = createConnections({ clock })
  const say = (server: { address: string; port: number }, more: Options = {}) =>
    talk(server, { clock, connections, host, idleMs: 0, ...more })
  return { clock, connections, say }
}
const fateOf = ({ fates }: { fates: Record<string, string> }): string => Object.values(fates)[0]!
const connects = ({ lines }: { lines: string[] }): string[] =>
  lines.filter((line) => line.startsWith('connect'))

describe('the TLS handshake', () => {
  test('a failed handshake is retried with a smaller ClientHello, which is remembered for three days', async () => {
    const { say, clock } = place()
    const server = await serve(smallOnly, smallOnly, smallOnly, smallOnly, tls())
    const first = await say(server)
    expect(fateOf(first)).toBe('accepted 250 queued')
    expect(first.tls).toMatchObject({ version: 'TLSv1.3', group: 'X25519', verified: true })
    expect(connects(first)).toEqual([
      expect.stringContaining('Connected from'),
      expect.stringContaining('Connected again with a smaller ClientHello, because TLS failed, from'),
    ])
    expect(first.tlsResult).toMatchObject({ resultType: 'successful-session' })
    await clock.advance(3 * day - minute)
    const second = await say(server)
    expect(second.tls).toMatchObject({ group: 'X25519' })
    expect(connects(second)).toEqual([
      expect.stringMatching(
        /Connected with a smaller ClientHello, because the full one failed on \S+Z, from/,
      ),
    ])
    await clock.advance(minute)
    expect(connects(await say(server))).toHaveLength(2)
    expect(server.connections).toHaveLength(5)
  })

  test.each<[string, TlsDemand]>([
    ['encrypted', encrypted],
    ['verified', verified],
  ])('a handshake with a smaller ClientHello satisfies the demand %s', async (_, demand) => {
    const { say } = place()
    const said = await say(await serve(smallOnly, smallOnly), { demand })
    expect(fateOf(said)).toBe('accepted 250 queued')
    expect(said.tls).toMatchObject({ verified: true, error: null })
  })

  test('a handshake with a server limited to TLS 1.2 takes one connection', async () => {
    const { say } = place()
    const server = await serve(tls({ options: { maxVersion: 'TLSv1.2' } }))
    const said = await say(server)
    expect(said.tls).toMatchObject({ version: 'TLSv1.2', group: 'X25519', verified: true })
    expect(said.tls!.cipher).toMatch(/^TLS_ECDHE_/)
    expect(server.connections).toHaveLength(1)
  })

  test('the handshake with a server limited to TLS 1.1 fails, and the mail is sent in plain text', async () => {
    const { say } = place()
    const old = tls({
      options: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    })
    const said = await say(await serve(old, old, plain))
    expect(fateOf(said)).toBe('accepted 250 queued')
    expect(said.tls).toBeNull()
  })

  test('TLS is skipped for an hour after both ClientHellos failed, then tried in full', async () => {
    const { say, clock } = place()
    const server = await serve(broken, broken, plain, plain, tls())
    const first = await say(server)
    expect(first.tlsResult).toMatchObject({ resultType: 'validation-failure' })
    const second = await say(server)
    expect(second.lines[0]).toMatch(/^connect \(Connected without TLS, because TLS failed on \S+Z, from/)
    expect(second.lines.join()).not.toContain('STARTTLS >')
    await clock.advance(60 * minute)
    const third = await say(server)
    expect(third.tls).toMatchObject({ group: 'X25519MLKEM768' })
    expect([first, second, third].map(fateOf)).toEqual(Array(3).fill('accepted 250 queued'))
    expect(server.connections).toHaveLength(5)
  })

  test('required TLS is tried in full despite remembered failures, and success is remembered', async () => {
    const { say } = place()
    const server = await serve(broken, broken, plain, tls(), tls())
    await say(server)
    expect((await say(server, { demand: encrypted })).tls).toMatchObject({ group: 'X25519MLKEM768' })
    expect((await say(server)).tls).toMatchObject({ group: 'X25519MLKEM768' })
    expect(server.connections).toHaveLength(5)
  })

  test('TLS is tried for a host even if it failed at the same address under another name', async () => {
    const { say } = place()
    const server = await serve(broken, broken, plain, tls())
    await say(server, { host: 'mx.evil.test' })
    expect((await say(server)).tls).toMatchObject({ verified: true })
  })

  test('the handshake times out after one minute, which counts as a failure', async () => {
    const { say, clock } = place()
    const hangs = `${start} C: STARTTLS\n S: 220 go`
    const server = await serve(hangs, hangs, plain)
    const talking = say(server)
    for (const connection of [0, 1]) {
      await expect.poll(() => server.connections[connection]?.complete).toBe(true)
      await expect.poll(() => server.connections[connection]!.received.length).toBeGreaterThan(250)
      await clock.advance(minute)
    }
    const said = await talking
    expect(fateOf(said)).toBe('accepted 250 queued')
    const handshakes = said.steps.filter(({ name }) => name === 'tls')
    expect(handshakes.map(({ note }) => note)).toEqual([
      'did not reply within 60 seconds',
      'With a smaller ClientHello: did not reply within 60 seconds',
    ])
  })

  test.each([
    ['refused by the server', `${start} C: STARTTLS\n S: 454 4.7.0 not now\n ${message}`, 1],
    ['not offered by the server', `S: 220 mx\n C: EHLO *\n S: 250 mx\n ${message}`, 1],
  ])('TLS %s is skipped, and nothing is remembered', async (_, script, connections) => {
    const { say, connections: all } = place()
    const server = await serve(script)
    const said = await say(server)
    expect(fateOf(said)).toBe('accepted 250 queued')
    expect(said.tlsResult).toMatchObject({ resultType: 'starttls-not-supported' })
    expect(server.connections).toHaveLength(connections)
    expect(all.memory.hello({ host, ip: server.address }, Date.now()).hello).toBe('full')
  })

  test('TLS is skipped if the server closes the connection at STARTTLS', async () => {
    const { say } = place()
    const hangsUp = `${start} C: STARTTLS\n S: <close>`
    const said = await say(await serve(hangsUp, hangsUp, plain))
    expect(fateOf(said)).toBe('accepted 250 queued')
  })

  test('TLS is tried again next time if it failed with a server that accepts mail only over TLS', async () => {
    const { say } = place()
    const only = `${start} C: MAIL *\n S: 530 5.7.0 Must issue a STARTTLS command first\n C: QUIT`
    const server = await serve(broken, broken, only, tls())
    const said = await say(server, { idleMs: minute })
    expect(fateOf(said)).toMatch(/^tls starttls 530/)
    expect(noteOf(said)).toBe('mx.trusted.test accepts mail only over TLS, but the TLS handshake failed.')
    expect((await say(server)).tls).toMatchObject({ verified: true })
    expect(server.connections).toHaveLength(4)
  })

  test('reports the failed handshake if the server closes the next connection', async () => {
    const { say } = place()
    const said = await say(await serve(broken, 'S: <close>'))
    expect(fateOf(said)).toBe('tls starttls')
    expect(noteOf(said)).toContain('The TLS handshake with mx.trusted.test failed')
  })
})

describe('mail that requires TLS', () => {
  test.each<[string, string | ScriptStep[], TlsDemand, string, string]>([
    ['broken', broken, encrypted, 'tls starttls', 'The sending domain requires it.'],
    [
      'not offered',
      'S: 220 mx\n C: EHLO *\n S: 250 mx\n C: QUIT',
      verified,
      'tls starttls',
      'does not offer TLS',
    ],
    [
      'used with an expired certificate',
      tls({ mode: 'expired', then: 'C: QUIT' }),
      verified,
      'tls starttls',
      'has expired',
    ],
    [
      'used with a self-signed certificate',
      tls({ mode: 'self-signed', then: 'C: QUIT' }),
      verified,
      'tls starttls',
      'is not trusted',
    ],
    [
      'used with an expired certificate under REQUIRETLS',
      tls({ mode: 'expired', then: 'C: QUIT' }),
      requireTls,
      'requiretls starttls',
      'REQUIRETLS',
    ],
  ])(
    'mail that requires TLS is never sent in plain text if TLS is %s',
    async (_, script, demand, fate, note) => {
      const { say } = place()
      const server = await serve(script, script, plain)
      const said = await say(server, { demand })
      expect(fateOf(said)).toBe(fate)
      expect(noteOf(said)).toContain(note)
      expect(server.connections.length).toBeLessThanOrEqual(2)
      for (const { received } of server.connections) expect(received.toString()).not.toContain('MAIL')
    },
  )

  test.each<[Exclude<TlsMode, 'none'>, string, string]>([
    ['expired', host, 'certificate-expired'],
    ['self-signed', 'mx.self-signed.test', 'certificate-not-trusted'],
    ['trusted', 'mx.example.test', 'certificate-host-mismatch'],
  ])(
    'mail that requires TLS fails with a certificate that is %s, for %s, with TLS result %s',
    async (mode, name, resultType) => {
      const { say } = place()
      const strict = await say(await serve(tls({ mode, then: 'C: QUIT' })), { demand: verified, host: name })
      expect(strict.tlsResult).toMatchObject({
        resultType,
        webPki: resultType,
        receivingHost: name,
        receivingHelo: 'mx',
        sendingIp: '127.0.0.1',
      })
      const lax = await say(await serve(tls({ mode })), { host: name })
      expect(lax.tlsResult).toMatchObject({
        resultType: 'successful-session',
        webPki: resultType,
        reason: null,
      })
    },
  )
})

describe('a kept TLS session', () => {
  const keep = { idleMs: minute }
  const promising = `C: EHLO *\n S: 250-mx\n S: 250 REQUIRETLS\n ${message} ${message}`

  test.each<[string, string | ScriptStep[], TlsDemand, TlsDemand, number]>([
    [
      'that was verified satisfies a lower demand',
      tls({ then: within + message }),
      verified,
      { kind: 'opportunistic' },
      1,
    ],
    ['that was verified satisfies the same demand', tls({ then: within + message }), verified, verified, 1],
    [
      'in plain text does not satisfy a demand for TLS',
      plain + message,
      { kind: 'opportunistic' },
      encrypted,
      2,
    ],
    [
      'with a self-signed certificate does not satisfy a demand for a valid one',
      tls({ mode: 'self-signed', then: within + message }),
      encrypted,
      verified,
      2,
    ],
    [
      'without REQUIRETLS offered does not satisfy REQUIRETLS',
      tls({ then: within + message }),
      verified,
      requireTls,
      2,
    ],
    ['with REQUIRETLS offered satisfies REQUIRETLS', tls({ then: promising }), verified, requireTls, 1],
  ])('a kept TLS session %s', async (_, script, before, demand, connections) => {
    const { say } = place()
    const server = await serve(script, tls({ then: promising }))
    await say(server, { ...keep, demand: before })
    const said = await say(server, { ...keep, demand })
    expect(fateOf(said)).toBe('accepted 250 queued')
    expect(server.connections).toHaveLength(connections)
    expect(said.tls).not.toBeNull()
    const mail = said.lines.find((line) => line.startsWith('mail'))!
    expect(mail.includes(' REQUIRETLS >')).toBe(demand === requireTls)
  })

  test('reuses a TLS session of another host at the same address only if no valid certificate is required', async () => {
    const { say } = place()
    const server = await serve(tls({ then: within + message }), tls())
    await say(server, { ...keep, host: 'other.trusted.test' })
    const said = await say(server, { ...keep, demand: encrypted })
    expect(said.lines[0]).toContain('message 2 on it')
    expect(said.tls).toMatchObject({ verified: true })
    await say(server, { ...keep, demand: verified })
    expect(server.connections).toHaveLength(2)
  })

  test('records a kept TLS session once per recipient domain for TLS reports', async () => {
    const { say } = place()
    const server = await serve(tls({ then: within + message + message }))
    const first = await say(server, keep)
    const again = await say(server, keep)
    const other = await say(server, { ...keep, to: ['ada@example.net'] })
    expect([first, again, other].map(({ tlsResult }) => tlsResult?.resultType)).toEqual([
      'successful-session',
      undefined,
      'successful-session',
    ])
  })
})
