import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { dialog, type ScriptStep } from '../../world/scripted.ts'
import { tlsFile, type TlsMode } from '../../world/tls.ts'
import { encrypted, noteOf, requireTls, serve, simple, talk } from './talk.ts'

/** Tests REQUIRETLS with one server (RFC 8689 §4.2.1). */
beforeAll(() => setDefaultCACertificates([...getCACertificates(), tlsFile('ca.pem')]))

const host = 'mx.trusted.test'
const start = 'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250-REQUIRETLS\n S: 250 STARTTLS\n C: STARTTLS\n'
const ehlo = 'C: EHLO *\n S: 250-mx\n'
const afterMail = simple.slice(simple.indexOf('S: 250 2.1.0'))
const promising = `${ehlo} S: 250 REQUIRETLS\n C: MAIL FROM:<bounce@sender.test> REQUIRETLS\n ${afterMail}`
const tls = (mode: Exclude<TlsMode, 'none'>, then: string): ScriptStep[] => [
  ...dialog(`${start} S: 220 go`),
  { startTls: mode },
  ...dialog(then),
]
const strict = { demand: requireTls, host }

test('passes on REQUIRETLS to a server that offers it over TLS with a valid certificate', async () => {
  const server = await serve(tls('trusted', promising))
  const said = await talk(server, strict)
  expect(said.fates['bob@example.org']).toMatch(/^accepted/)
  expect(said.tls).toMatchObject({ verified: true, error: null })
  expect(server.connections[0]).toMatchObject({ mismatch: null })
})

test('does not send REQUIRETLS if the sender did not ask for it', async () => {
  const server = await serve(
    tls('trusted', `${ehlo} S: 250 REQUIRETLS\n ${simple.slice(simple.indexOf('C: MAIL'))}`),
  )
  const said = await talk(server, { host, demand: encrypted })
  expect(said.fates['bob@example.org']).toMatch(/^accepted/)
  expect(server.connections[0]).toMatchObject({ mismatch: null })
})

describe('a message with REQUIRETLS', () => {
  test.each<[string, string | ScriptStep[], string, string, string | undefined]>([
    [
      'the server offers REQUIRETLS without TLS',
      `S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 REQUIRETLS\n C: QUIT`,
      host,
      'does not offer TLS',
      '5.7.10',
    ],
    [
      'its certificate is self-signed',
      tls('self-signed', promising),
      'mx.self-signed.test',
      'SELF_SIGNED',
      '5.7.10',
    ],
    [
      'its certificate is for another host',
      tls('trusted', promising),
      'mx.example.test',
      'is not for mx.example.test',
      '5.7.10',
    ],
    ['its certificate has expired', tls('expired', promising), host, 'has expired', '5.7.10'],
    [
      'the server does not offer REQUIRETLS inside TLS',
      tls('trusted', `${ehlo} S: 250 SIZE\n C: QUIT`),
      host,
      'does not offer REQUIRETLS',
      '5.7.30',
    ],
  ])(
    'a message with REQUIRETLS is not sent, and no second connection opened, if %s',
    async (_, script, name, why, status) => {
      const server = await serve(script, simple)
      const said = await talk(server, { ...strict, host: name })
      expect(said.fates['bob@example.org']).toBe('requiretls starttls')
      expect(said.outcome.get('bob@example.org')).toMatchObject({ failure: { status } })
      expect(noteOf(said)).toContain(why)
      expect(server.connections).toHaveLength(1)
      expect(server.connections[0]!.received.toString()).not.toContain('MAIL')
    },
  )

  test('a message with REQUIRETLS is not sent if STARTTLS is refused with a temporary error', async () => {
    const server = await serve(`${start} S: 454 4.7.0 not now\n C: QUIT`, simple)
    const { fates } = await talk(server, strict)
    expect(fates['bob@example.org']).toBe('reply starttls 454 4.7.0 not now')
    expect(server.connections).toHaveLength(1)
  })
})

test.each<[string, ScriptStep[], string]>([
  ['the handshake breaks', tls('broken', promising), 'tls starttls'],
  ['the server hangs up inside TLS', tls('trusted', 'C: EHLO *\n S: <close>'), 'network ehlo'],
])(
  'when %s, REQUIRETLS is retried with a smaller ClientHello and never in plain text',
  async (_, script, fate) => {
    const server = await serve(script, script, simple)
    expect((await talk(server, strict)).fates['bob@example.org']).toBe(fate)
    expect(server.connections).toHaveLength(2)
  },
)

describe('a report with REQUIRETLS and a null reverse-path', () => {
  test('a REQUIRETLS report is sent to a server that does not offer REQUIRETLS (RFC 8689 §5)', async () => {
    const then = `${ehlo} S: 250 SIZE\n C: MAIL FROM:<> SIZE=*\n ${afterMail}`
    const server = await serve(tls('trusted', then))
    expect((await talk(server, { ...strict, from: '' })).fates['bob@example.org']).toMatch(/^accepted/)
  })

  test('a REQUIRETLS report is sent with REQUIRETLS if the server offers it', async () => {
    const server = await serve(tls('trusted', promising.replace('bounce@sender.test', '')))
    expect((await talk(server, { ...strict, from: '' })).fates['bob@example.org']).toMatch(/^accepted/)
    expect(server.connections[0]).toMatchObject({ mismatch: null })
  })

  test('a REQUIRETLS report is not sent in plain text', async () => {
    const server = await serve(simple)
    expect((await talk(server, { ...strict, from: '' })).fates['bob@example.org']).toBe('requiretls starttls')
  })
})
