import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createConnections } from '../../../appliance/delivery/connections.ts'
import { createTestClock } from '../../world/clock.ts'
import { dialog, type ScriptStep } from '../../world/scripted.ts'
import { tlsFile } from '../../world/tls.ts'
import { encrypted, noteOf, serve, simple, talk, upTo } from './talk.ts'

describe('an ordinary conversation', () => {
  test('records an ordinary conversation step by step', async () => {
    const server = await serve(simple)
    const said = await talk(server)
    expect(said.fates).toEqual({ 'bob@example.org': 'accepted 250 2.0.0 queued as 1' })
    expect(said.tls).toBeNull()
    expect(said.lines).toEqual([
      expect.stringMatching(/^connect \(Connected from 127\.\S+ to port \d+\.\)$/),
      'greeting > 220 mx',
      'ehlo EHLO mail.sender.test > 250 mx',
      'mail MAIL FROM:<bounce@sender.test> > 250 2.1.0 sender ok',
      'rcpt RCPT TO:<bob@example.org> > 250 2.1.5 recipient ok',
      'data DATA > 354 go on',
      'body > 250 2.0.0 queued as 1 (21 bytes)',
      expect.stringMatching(/^quit QUIT \(Posthaste does not wait for the reply/),
    ])
    for (const step of said.steps)
      expect(step).toMatchObject({ host: 'mx.self-signed.test', ip: server.address })
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
    expect(server.connections[0]!.mismatch).toBeNull()
  })

  test('pipelines the envelope if the server offers PIPELINING, and records an outcome per recipient', async () => {
    const server = await serve(`
      S: 220 mx
      C: EHLO *
      S: 250-mx
      S: 250-SIZE 1000000
      S: 250-8BITMIME
      S: 250 PIPELINING
      C: MAIL FROM:<bounce@sender.test> SIZE=21
      C: RCPT TO:<a@x.test>
      C: RCPT TO:<b@x.test>
      C: RCPT TO:<c@x.test>
      C: DATA
      S: 250 ok
      S: 250 ok
      S: 550 5.1.1 no such user
      S: 450 4.2.0 greylisted
      S: 354 go on
      C: <body>
      S: 250 queued
      C: QUIT`)
    const said = await talk(server, { to: ['a@x.test', 'b@x.test', 'c@x.test'] })
    expect(said.fates).toEqual({
      'a@x.test': 'accepted 250 queued',
      'b@x.test': 'reply rcpt 550 5.1.1 no such user',
      'c@x.test': 'reply rcpt 450 4.2.0 greylisted',
    })
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
  })

  test('sends no message after DATA if other nodes may have taken it over meanwhile', async () => {
    const server = await serve(simple)
    const connections = createConnections({
      clock: createTestClock(),
      mayBeTakenOver: () => server.connections[0]!.received.includes('DATA'),
    })
    const said = await talk(server, { connections })
    expect(said.fates['bob@example.org']).toBe('stopped body')
    expect(server.connections[0]!.received.toString()).toMatch(/DATA\r\n$/)
    await connections.close()
  })

  test('falls back to HELO when the server rejects EHLO as unknown', async () => {
    const server = await serve(
      simple.replace('S: 250 mx', 'S: 502 5.5.1 what\n  C: HELO mail.sender.test\n  S: 250 mx'),
    )
    expect((await talk(server)).fates['bob@example.org']).toBe('accepted 250 2.0.0 queued as 1')
  })

  test('does not fall back to HELO when EHLO gets a temporary error', async () => {
    const server = await serve(upTo('S: 250 mx').concat('S: 451 4.3.0 later\n C: QUIT'))
    expect((await talk(server)).fates['bob@example.org']).toBe('reply ehlo 451 4.3.0 later')
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
  })

  test('sends the null sender as MAIL FROM:<>', async () => {
    const server = await serve(simple.replace('<bounce@sender.test>', '<>'))
    expect((await talk(server, { from: '' })).fates['bob@example.org']).toMatch(/^accepted/)
  })

  test('transmits the message byte for byte, with dot stuffing', async () => {
    const message =
      `Subject: x\r\n\r\n.\r\n..\r\n.text\r\n\ttab \r\nnul \0 and 8-bit \xff\xfe\r\n${'long '.repeat(500)}\r\n`.repeat(
        40,
      )
    const server = await serve(
      simple
        .replace('S: 250 mx', 'S: 250-mx\n  S: 250 8BITMIME')
        .replace('sender.test>', 'sender.test> BODY=8BITMIME'),
    )
    const sent = Buffer.from(message, 'latin1')
    expect((await talk(server, { message: sent })).fates['bob@example.org']).toMatch(/^accepted/)
    const received = server.connections[0]!.received.toString('latin1')
    const body = received.slice(received.indexOf('DATA\r\n') + 6, received.lastIndexOf('.\r\n'))
    expect(body.replaceAll(/^\./gm, '')).toBe(message)
  })

  test('converts 8-bit text for a server without 8BITMIME and notes the conversion', async () => {
    const server = await serve(simple)
    const said = await talk(server, {
      message: 'Subject: x\r\nMIME-Version: 1.0\r\n\r\nGrüße an alle dort\r\n',
    })
    expect(said.fates['bob@example.org']).toMatch(/^accepted/)
    expect(said.lines.find((line) => line.startsWith('mail'))).toContain(
      'The server does not offer 8BITMIME, so the message was converted to 7-bit text and signed again',
    )
    expect(server.connections[0]!.received.toString('latin1')).toContain(
      'DATA\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe an alle dort\r\n.\r\n',
    )
  })

  test('sends 7-bit text unconverted to a server without 8BITMIME', async () => {
    const server = await serve(simple)
    const said = await talk(server)
    expect(said.lines.some((line) => line.includes('8BITMIME'))).toBe(false)
    expect(server.connections[0]!.received.toString('latin1')).toContain(
      'DATA\r\nSubject: x\r\n\r\nHello\r\n.\r\n',
    )
  })
})

describe('server limits', () => {
  const offering = (extension: string): string =>
    `S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 ${extension}\n C: QUIT`

  test('does not send a message larger than SIZE', async () => {
    const said = await talk(await serve(offering('SIZE 20')))
    expect(said.fates['bob@example.org']).toBe('unsupported mail')
    expect([...said.outcome.values()][0]).toMatchObject({
      failure: {
        status: '5.3.4',
        note: 'mx.self-signed.test accepts messages of up to 20 bytes; this one has 21.',
      },
    })
    expect(said.lines.some((line) => line.startsWith('mail'))).toBe(false)
  })

  test('does not send 8-bit text inside a signed part to a server without 8BITMIME', async () => {
    const message =
      'Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nGrüße\r\n--b\r\nContent-Type: application/pgp-signature\r\n\r\nx\r\n--b--\r\n'
    const said = await talk(await serve(offering('PIPELINING')), { message })
    expect(said.fates['bob@example.org']).toBe('unsupported mail')
    expect([...said.outcome.values()][0]).toMatchObject({
      failure: {
        status: '5.6.3',
        note: 'mx.self-signed.test does not offer 8BITMIME, and the message cannot be converted to 7-bit text: it has 8-bit text inside a signed or encrypted part, which a conversion would break.',
      },
    })
    expect(said.lines.some((line) => line.startsWith('mail'))).toBe(false)
  })

  test('compares SIZE with the converted message', async () => {
    const text = 'Subject: x\r\n\r\nüüüüüüüüüüüüüüüüüüüü\r\n'
    const said = await talk(await serve(offering('SIZE 60')), { message: text })
    expect(noteOf(said)).toMatch(/accepts messages of up to 60 bytes; this one has \d{3}\.$/)
  })

  test('SIZE without a value, or 0, means no limit', async () => {
    for (const size of ['SIZE', 'SIZE 0']) {
      const script = simple
        .replace('S: 250 mx', `S: 250-mx\n  S: 250 ${size}`)
        .replace('sender.test>', 'sender.test> SIZE=21')
      expect((await talk(await serve(script))).fates['bob@example.org']).toMatch(/^accepted/)
    }
  })

  test('a UTF-8 recipient fails locally without SMTPUTF8, and the others get the message', async () => {
    const said = await talk(await serve(simple), { to: ['zoë@example.org', 'bob@example.org'] })
    expect(said.fates).toEqual({
      'zoë@example.org': 'unsupported rcpt',
      'bob@example.org': 'accepted 250 2.0.0 queued as 1',
    })
    expect(said.outcome.get('zoë@example.org')).toMatchObject({ failure: { status: '5.6.7' } })
  })

  test('a UTF-8 recipient is sent in UTF-8 if the server offers SMTPUTF8', async () => {
    const utf8 = Buffer.from('RCPT TO:<zoë@example.org>').toString('latin1')
    const server = await serve([
      ...dialog(
        'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 SMTPUTF8\n C: MAIL FROM:<bounce@sender.test> SMTPUTF8\n S: 250 ok',
      ),
      { expect: utf8 },
      ...dialog('S: 250 ok\n C: DATA\n S: 354 go\n C: <body>\n S: 250 ok\n C: QUIT'),
    ])
    expect((await talk(server, { to: ['zoë@example.org'] })).fates['zoë@example.org']).toBe('accepted 250 ok')
  })

  test('never sends an address that contains a line break', async () => {
    const server = await serve(offering('HELP'))
    const evil = 'bob@example.org>\r\nRCPT TO:<eve@example.org'
    expect((await talk(server, { to: [evil] })).fates[evil]).toBe('unsupported rcpt')
    expect(server.connections[0]!.received.toString()).not.toContain('eve')
  })
})

describe('refusals', () => {
  test.each([
    ['at the greeting', 'S: 554 5.7.1 go away\n C: QUIT', 'reply greeting 554 5.7.1 go away'],
    ['at the greeting with 421', 'S: 421 busy\n S: <close>', 'reply greeting 421 busy'],
    [
      'at EHLO and HELO',
      'S: 220 mx\n C: EHLO *\n S: 550 no\n C: HELO *\n S: 550 still no\n C: QUIT',
      'reply ehlo 550 still no',
    ],
    [
      'at MAIL',
      `${upTo('S: 250 2.1.0')} S: 553 5.1.8 bad sender\n C: QUIT`,
      'reply mail 553 5.1.8 bad sender',
    ],
    ['at RCPT', `${upTo('S: 250 2.1.5')} S: 550 5.1.1 unknown\n C: QUIT`, 'reply rcpt 550 5.1.1 unknown'],
    ['at DATA', `${upTo('S: 354')} S: 451 4.3.0 later\n C: QUIT`, 'reply data 451 4.3.0 later'],
    ['after the body', `${upTo('S: 250 2.0.0')} S: 554 5.7.1 spam\n C: QUIT`, 'reply body 554 5.7.1 spam'],
    [
      'with 421 after RCPT',
      `${upTo('C: DATA')} C: DATA\n S: 421 4.3.2 closing\n S: <close>`,
      'reply data 421 4.3.2 closing',
    ],
    [
      'with 421 at RCPT',
      `${upTo('S: 250 2.1.5')} S: 421 4.7.0 slow down\n S: <close>`,
      'reply rcpt 421 4.7.0 slow down',
    ],
  ])('a refusal is recorded with its phase: %s', async (_, script, fate) => {
    const server = await serve(script)
    expect((await talk(server)).fates).toEqual({ 'bob@example.org': fate })
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
  })

  const pipelined =
    'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 PIPELINING\n C: MAIL *\n C: RCPT *\n C: RCPT *\n C: DATA\n'
  const to = ['a@x.test', 'b@x.test']

  test('the outcome is the refusal of MAIL in a pipelined envelope, not the 503 that follows', async () => {
    const server = await serve(
      `${pipelined} S: 550 5.7.1 no\n S: 503 MAIL first\n S: 503 MAIL first\n S: 503 RCPT first\n C: QUIT`,
    )
    expect((await talk(server, { to })).fates).toEqual({
      'a@x.test': 'reply mail 550 5.7.1 no',
      'b@x.test': 'reply mail 550 5.7.1 no',
    })
  })

  test('ends DATA with an empty message if the server accepted DATA but refused all recipients', async () => {
    const server = await serve(
      `${pipelined} S: 250 ok\n S: 550 no\n S: 450 later\n S: 354 go\n C: .\n S: 250 nothing sent\n C: QUIT`,
    )
    expect((await talk(server, { to })).fates).toEqual({
      'a@x.test': 'reply rcpt 550 no',
      'b@x.test': 'reply rcpt 450 later',
    })
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
  })

  test('keeps replies received together with the end of the connection', async () => {
    const server = await serve(
      `${pipelined} S: 250 ok\n S: 550 5.1.1 no\n S: 450 later\n S: 503 no\n S: <close>`,
    )
    expect((await talk(server, { to })).fates).toEqual({
      'a@x.test': 'reply rcpt 550 5.1.1 no',
      'b@x.test': 'reply rcpt 450 later',
    })
  })

  test('a 421 to one recipient applies to the following ones and keeps earlier replies', async () => {
    const server = await serve(`${pipelined} S: 250 ok\n S: 550 5.1.1 no\n S: 421 too many\n S: <close>`)
    expect((await talk(server, { to })).fates).toEqual({
      'a@x.test': 'reply rcpt 550 5.1.1 no',
      'b@x.test': 'reply rcpt 421 too many',
    })
  })
})

describe('TLS', () => {
  const start = 'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 STARTTLS\n C: STARTTLS\n'
  const within = simple.slice(simple.indexOf('C: EHLO'))
  const tls = (mode: 'self-signed' | 'trusted' | 'expired' | 'broken', then = within): ScriptStep[] => [
    ...dialog(`${start} S: 220 go`),
    { startTls: mode },
    ...dialog(then),
  ]

  test('TLS is used with any certificate when offered, and recorded', async () => {
    const server = await serve(tls('self-signed'))
    const said = await talk(server)
    expect(said.fates['bob@example.org']).toMatch(/^accepted/)
    expect(said.tls).toMatchObject({ version: 'TLSv1.3', verified: false, subject: 'mx.self-signed.test' })
    expect(said.tls!.error).toMatch(/SELF_SIGNED/)
    expect(Date.parse(said.tls!.validTo)).toBeGreaterThan(Date.now())
    expect(Date.parse(said.tls!.validFrom!)).toBeLessThan(Date.now())
    expect(said.tls).toMatchObject({
      group: 'X25519MLKEM768',
      by: 'pkix',
      chainValid: false,
      nameMatched: true,
    })
    const { fingerprint256 } = new X509Certificate(tlsFile('self-signed.pem'))
    expect(said.tls!.fingerprint).toBe(fingerprint256)
    expect(said.lines.find((line) => line.startsWith('tls '))).toMatch(
      /^tls \(TLSv1\.3, TLS_\w+, X25519MLKEM768, certificate not valid \(\w+\)\)$/,
    )
    expect(server.connections).toHaveLength(1)
  })

  test('broken TLS is retried with a smaller ClientHello, then skipped', async () => {
    const server = await serve(tls('broken'), tls('broken'), simple)
    const said = await talk(server)
    expect(said.fates['bob@example.org']).toMatch(/^accepted/)
    expect(said.tls).toBeNull()
    expect(said.lines.map((line) => line.split(' ')[0])).toEqual([
      'connect',
      'greeting',
      'ehlo',
      'starttls',
      'tls',
      'connect',
      'greeting',
      'ehlo',
      'starttls',
      'tls',
      'connect',
      'greeting',
      'ehlo',
      'mail',
      'rcpt',
      'data',
      'body',
      'quit',
    ])
    expect(said.lines[4]).toMatch(/^tls \(.+handshake/i)
    expect(said.lines[5]).toContain('again with a smaller ClientHello')
    expect(said.lines[9]).toMatch(/^tls \(With a smaller ClientHello: .+handshake/i)
    expect(said.lines[10]).toContain('again without TLS')
  })

  test('TLS is skipped if the connection breaks right after the handshake', async () => {
    const server = await serve(tls('self-signed', 'C: EHLO *\n S: <close>'), simple)
    expect((await talk(server)).fates['bob@example.org']).toMatch(/^accepted/)
  })

  test('TLS is skipped on the same connection if STARTTLS is refused', async () => {
    const server = await serve(`${start} S: 454 4.7.0 not now\n ${simple.slice(simple.indexOf('C: MAIL'))}`)
    const said = await talk(server)
    expect(said.fates['bob@example.org']).toMatch(/^accepted/)
    expect(said.lines).toContain(
      'starttls STARTTLS > 454 4.7.0 not now (TLS was refused; continuing in plain text.)',
    )
  })

  test.each([
    ['refused', `${start} S: 454 4.7.0 not now\n C: QUIT`, 'reply starttls 454 4.7.0 not now'],
    ['not offered', simple, 'tls starttls'],
  ])('required TLS that is %s fails without a second connection', async (_, script, fate) => {
    const server = await serve(script)
    expect((await talk(server, { demand: encrypted })).fates['bob@example.org']).toBe(fate)
    expect(server.connections).toHaveLength(1)
    expect(server.connections[0]!.received.toString()).not.toContain('MAIL')
  })

  test('TLS is not used when replies are injected before the handshake', async () => {
    const server = await serve([...dialog(start), { send: '220 go\r\n250 injected\r\n' }], simple)
    const said = await talk(server)
    expect(said.lines.find((line) => line.startsWith('tls'))).toContain('extra data before the TLS handshake')
    expect(said.tls).toBeNull()
  })
})
