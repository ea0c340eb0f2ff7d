import { spawnSync } from 'node:child_process'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startDoor, type Door } from '../unit/smtp/harness.ts'
import { startSmarthostClient, type Route, type SmarthostClient } from '../world/postfix-smarthost.ts'
import { clients } from './clients.ts'

/**
 * Runs common mail programs on the five ports of a default configuration: 25, 587 and 2587 with STARTTLS, 465 and 2465
 * with implicit TLS. The test uses free loopback ports instead; submission-ports.test.ts tests the real ones. Port 25
 * differs in its replies to unknown clients.
 */
let door: Door
let five: { how: 'starttls' | 'implicit'; port: number }[]
beforeAll(async () => {
  door = await startDoor({ config: { messageBytes: 100_000 } })
  const { alternatives } = door
  const { relay, starttls, implicit } = door.ports
  five = [
    { how: 'starttls', port: relay },
    { how: 'starttls', port: starttls },
    { how: 'starttls', port: alternatives.starttls },
    { how: 'implicit', port: implicit },
    { how: 'implicit', port: alternatives.implicit },
  ]
})
afterAll(() => door.close())
// Wrong keys delay the following ones for 15 minutes.
beforeEach(() => door.clock.advance(16 * 60_000))

const accepted = /250 2\.0\.0 Queued as [\da-f-]{36}/
const crowd = Array.from({ length: 101 }, (_, n) => `n${n}@customer.example`)
const large = `${'x'.repeat(900)}\n`.repeat(120)

/** Error texts. Programs wrap and prefix lines differently, so only the words are compared. */
const sentences = {
  noTls: '530 5.7.0 Encryption required. Send STARTTLS first.',
  wrongKey:
    '535 5.7.8 Authentication failed: the username must be posthaste and the password a valid API key.',
  foreignFrom: '550 5.7.1 The bank.example domain is not verified.',
  tooLarge: '552 5.3.4 The message with its attachments is larger than 100000 bytes.',
  tooMany: '452 4.5.3 A message can have at most 100 recipients. Send to the others in another transaction.',
}

/** What programs do if one of 101 recipients is refused: send to the rest and name it, or give up. */
const sendsToTheOthers = new Set(['swaks', "Python's smtplib", 'nodemailer'])

const mute = { swaks: 'swaks', curl: 'curl', msmtp: 'msmtp', "Python's smtplib": '/usr/bin/python3' }
const missing = (name: string) =>
  name in mute && spawnSync(mute[name as keyof typeof mute], ['--version']).status !== 0

describe.each(Object.entries(clients))('%s', (name, send) => {
  const skip = missing(name) && process.getuid?.() !== 0

  test.skipIf(skip)('the client can send on all five ports and from a trusted network', async () => {
    const { ports, keys } = door
    for (const order of [...five, { how: 'clear' as const, port: ports.trusted }]) {
      const { ok, text } = await send({ ...order, key: keys.sending })
      expect({ order, ok, text }).toEqual({
        order,
        ok: true,
        text: expect.stringMatching(accepted) as string,
      })
    }
  })

  test.skipIf(skip)('the client shows the server’s reply for each rejection', async () => {
    const { ports, keys } = door
    const order = { how: 'starttls' as const, port: ports.starttls, key: keys.full }
    const noTls = await send({ ...order, how: 'clear' })
    expect(noTls).toEqual({ ok: false, text: expect.stringContaining(sentences.noTls) as string })
    const wrongKey = await send({ ...order, key: 're_aaaaaaaa_wrong' })
    expect(wrongKey).toEqual({ ok: false, text: expect.stringContaining(sentences.wrongKey) as string })
    const foreign = await send({ ...order, from: 'ceo@bank.example' })
    expect(foreign).toEqual({ ok: false, text: expect.stringContaining(sentences.foreignFrom) as string })
    const tooLarge = await send({ ...order, body: large })
    expect(tooLarge).toEqual({ ok: false, text: expect.stringContaining(sentences.tooLarge) as string })
    const many = await send({ ...order, to: crowd })
    expect(many).toEqual({
      ok: sendsToTheOthers.has(name),
      text: expect.stringContaining(sentences.tooMany) as string,
    })
  })
})

describe.runIf(process.getuid?.() === 0)('Postfix as a client of its smarthost (needs root)', () => {
  let postfix: SmarthostClient
  beforeAll(async () => {
    const { ports, keys } = door
    const sasl = (key: string) => ({
      smtp_sasl_auth_enable: 'yes',
      smtp_sasl_password_maps: `static:posthaste:${key}`,
    })
    const starttls = { ...sasl(keys.sending), smtp_tls_security_level: 'encrypt' }
    const implicit = { ...starttls, smtp_tls_wrappermode: 'yes' }
    const secure = five.map(({ how, port }, at): [string, Route] => [
      `port-${at}.test`,
      { port, settings: how === 'implicit' ? implicit : starttls },
    ])
    postfix = await startSmarthostClient({
      ...Object.fromEntries(secure),
      'trusted.test': { port: ports.trusted, settings: { smtp_tls_security_level: 'none' } },
      'clear.test': { port: ports.starttls, settings: { smtp_tls_security_level: 'none' } },
      'wrong-key.test': {
        port: ports.starttls,
        settings: { ...starttls, ...sasl('re_aaaaaaaa_wrong') },
      },
      'many.test': { port: ports.starttls, settings: starttls },
    })
  })
  afterAll(() => postfix?.close())

  /** Hands mail to Postfix. Returns its outcome. */
  const send = async (to: string[], { from = 'app@acme.example', text = 'Hi' } = {}): Promise<string[]> => {
    const transport = createTransport({ host: postfix.address, port: 25, ignoreTLS: true })
    const envelope = { from: 'app@acme.example', to }
    await transport.sendMail({ from, to: to[0]!, subject: 'Hello', text, envelope })
    transport.close()
    return postfix.outcomes(to)
  }

  test('Postfix can send on all five ports and from a trusted network', async () => {
    for (const domain of [...five.map((_, at) => `port-${at}.test`), 'trusted.test'])
      expect(await send([`ada@${domain}`])).toEqual([
        expect.stringMatching(/^sent \(250 2\.0\.0 Queued as [\da-f-]{36}\)$/),
      ])
  })

  test('Postfix logs the reply for each rejection, and keeps and retries mail if its key is wrong', async () => {
    const refused = async (...order: Parameters<typeof send>) => (await send(...order)).join()
    expect(await refused(['ada@clear.test'])).toBe(
      `bounced (host 127.0.0.1[127.0.0.1] said: ${sentences.noTls} (in reply to MAIL FROM command))`,
    )
    expect(await refused(['ada@wrong-key.test'])).toBe(
      `deferred (SASL authentication failed; server 127.0.0.1[127.0.0.1] said: ${sentences.wrongKey})`,
    )
    expect(await refused(['bob@port-1.test'], { from: 'ceo@bank.example' })).toContain(
      `bounced (host 127.0.0.1[127.0.0.1] said: ${sentences.foreignFrom} `,
    )
    // It knows the announced size limit and doesn't even try.
    expect(await refused(['eve@port-1.test'], { text: large })).toMatch(
      /^bounced \(message size \d+ exceeds size limit 100000 of server 127\.0\.0\.1\[127\.0\.0\.1\]\)$/,
    )
  })

  test('Postfix sends to a hundred recipients and keeps the others for the next transaction', async () => {
    const to = Array.from({ length: 101 }, (_, n) => `n${n}@many.test`)
    const outcomes = await send(to)
    expect(outcomes.filter((one) => one.startsWith('sent'))).toHaveLength(100)
    expect(outcomes.filter((one) => !one.startsWith('sent'))).toEqual([
      expect.stringMatching(/^deferred \(.* said: /),
    ])
    expect(outcomes.join()).toContain(sentences.tooMany)
  })
})
