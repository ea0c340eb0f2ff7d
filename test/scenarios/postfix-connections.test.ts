import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createConnections } from '../../appliance/delivery/connections.ts'
import { encrypted, minute, noteOf, type Options, talk, verified } from '../unit/delivery/talk.ts'
import { createTestClock } from '../world/clock.ts'
import { startPostfix, type Postfix } from '../world/postfix.ts'
import { tlsFile } from '../world/tls.ts'

/** Tests connection reuse and TLS with real Postfix receivers, by their logs. */

const domain = 'postfix.test'
const host = 'mx.trusted.test'
const pem = (name: string) => join(import.meta.dirname, '..', 'world', 'tls', name)
const pair = (cert: string, key = cert) => ({
  smtpd_tls_cert_file: pem(`${cert}.pem`),
  smtpd_tls_key_file: pem(`${key}.key`),
})

/** The Postfix instances, by their special setting. */
const receivers = {
  starttls: pair('trusted'),
  tlsOnly: { ...pair('trusted'), smtpd_tls_security_level: 'encrypt' },
  plain: { smtpd_tls_security_level: 'none' },
  expired: pair('expired'),
  wrongKey: pair('trusted', 'self-signed'),
  strict: {
    ...pair('trusted'),
    smtpd_client_connection_count_limit: 2,
    // By default, loopback is exempt from limits.
    smtpd_client_event_limit_exceptions: '',
  },
}
type Name = keyof typeof receivers

describe.runIf(process.getuid?.() === 0)('a real Postfix (needs root)', () => {
  const running = new Map<Name, Postfix>()
  beforeAll(async () => {
    setDefaultCACertificates([...getCACertificates(), tlsFile('ca.pem')])
    const starting = Object.entries(receivers).map(async ([name, settings]) =>
      running.set(name as Name, await startPostfix({ domain, host, settings })),
    )
    await Promise.all(starting)
  })
  afterAll(() => Promise.all([...running.values()].map((postfix) => postfix.close())))

  const count = async (name: Name, words: RegExp) =>
    (await running.get(name)!.log()).match(new RegExp(words, 'g'))?.length ?? 0

  function place() {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const say = (name: Name, more: Options = {}) =>
      talk(
        { address: running.get(name)!.address, port: 25 },
        { clock, connections, host, to: [`ada@${domain}`], ...more },
      )
    return { connections, say }
  }
  const fateOf = ({ fates }: { fates: Record<string, string> }): string => Object.values(fates)[0]!
  const queued: unknown = expect.stringMatching(/^accepted 250 2\.0\.0 Ok: queued as \w+$/)

  test('Postfix accepts several messages over one connection, with rejections in between, and gets QUIT at the end', async () => {
    const { connections, say } = place()
    const fates = [
      fateOf(await say('starttls')),
      fateOf(await say('starttls', { to: ['eve@elsewhere.test'] })),
      fateOf(await say('starttls', { to: ['eve@elsewhere.test', `bob@${domain}`] })),
    ]
    const last = await say('starttls')
    expect([...fates, fateOf(last)]).toEqual([
      queued,
      'reply rcpt 554 5.7.1 <eve@elsewhere.test>: Relay access denied',
      'reply rcpt 554 5.7.1 <eve@elsewhere.test>: Relay access denied',
      queued,
    ])
    expect(last.tls).toMatchObject({ version: 'TLSv1.3', verified: true, by: 'pkix', chainValid: true })
    expect(last.lines[0]).toContain('(message 4 on it)')
    expect(last.lines.map((line) => line.split(' ')[0])).toEqual(['connect', 'mail', 'rcpt', 'data', 'body'])
    await connections.close()
    expect(await running.get('starttls')!.waitFor(3)).toHaveLength(3)
    await expect.poll(() => count('starttls', /disconnect from .*/)).toBe(1)
    expect(await count('starttls', /\]: connect from/)).toBe(1)
    expect(/disconnect from .*/.exec(await running.get('starttls')!.log())![0]).toMatch(
      /ehlo=2 starttls=1 mail=4 rcpt=3\/5 data=3\/4 rset=1 quit=1 commands=/,
    )
  })

  test('a Postfix that requires TLS gets mail only over TLS', async () => {
    const { connections, say } = place()
    expect(fateOf(await say('tlsOnly', { demand: verified }))).toEqual(queued)
    const { address: ip } = running.get('tlsOnly')!
    connections.closeIdle()
    await expect.poll(() => connections.count().open).toBe(0)
    connections.memory.learn({ host, ip }, 'none', Date.now())
    const said = await say('tlsOnly')
    expect(fateOf(said)).toBe('tls starttls 530 5.7.0 Must issue a STARTTLS command first')
    expect(fateOf(await say('tlsOnly'))).toEqual(queued)
    await connections.close()
  })

  test('a Postfix without TLS gets mail unless TLS is required', async () => {
    const { connections, say } = place()
    const said = await say('plain')
    expect(fateOf(said)).toEqual(queued)
    expect(said.tls).toBeNull()
    expect(said.tlsResult).toMatchObject({ resultType: 'starttls-not-supported' })
    const refused = await say('plain', { demand: encrypted })
    expect(fateOf(refused)).toBe('tls starttls')
    expect(noteOf(refused)).toContain('mx.trusted.test does not offer TLS')
    await connections.close()
  })

  test('a Postfix with an expired certificate gets mail unless a valid one is required', async () => {
    const { connections, say } = place()
    const said = await say('expired')
    expect(fateOf(said)).toEqual(queued)
    expect(said.tls).toMatchObject({ verified: false, error: 'CERT_HAS_EXPIRED' })
    const refused = await say('expired', { demand: verified })
    expect(fateOf(refused)).toBe('tls starttls')
    expect(noteOf(refused)).toContain('presented a certificate that has expired')
    expect(refused.tlsResult).toMatchObject({ resultType: 'certificate-expired' })
    expect(fateOf(await say('expired', { demand: encrypted }))).toEqual(queued)
    expect(await count('expired', /\]: connect from/)).toBe(2)
    await connections.close()
  })

  test('a Postfix whose key does not match its certificate gets plain text unless TLS is required', async () => {
    const { connections, say } = place()
    const said = await say('wrongKey')
    expect(fateOf(said)).toEqual(queued)
    expect(said.tls).toBeNull()
    expect(fateOf(await say('wrongKey', { demand: encrypted }))).toMatch(/^(reply|tls) starttls/)
    await connections.close()
  })

  test('a Postfix that allows two concurrent connections gets no third', async () => {
    const { connections, say } = place()
    let left = 30
    const fates: string[] = []
    const worker = async () => {
      while (left-- > 0) {
        const lane = { key: 'strict', connections: 2 }
        const messages =
          left % 3 === 0 ? { messagesPerConnection: 3 } : { hostname: `mail${left % 2}.sender.test` }
        fates.push(fateOf(await say('strict', { lane, idleMs: minute, ...messages })))
      }
    }
    await Promise.all([worker(), worker()])
    await connections.close()
    expect(fates).toEqual(Array(30).fill(queued))
    expect(await count('strict', /Connection concurrency limit exceeded/)).toBe(0)
    const opened = await count('strict', /\]: connect from/)
    expect(opened).toBeGreaterThan(2)
    expect(opened).toBeLessThan(30)
    await running.get('strict')!.waitFor(30)
  })
})
