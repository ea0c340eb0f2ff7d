import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runClient, sendWithNodemailer, type Sent } from '../unit/submission/clients.ts'
import { startDoor, type Door } from '../unit/submission/harness.ts'
import { isFinal, startAppliance } from '../world/appliance.ts'
import { createWorld } from '../world/world.ts'

/** Programs that people send mail with, against the SMTP door. */
let door: Door
beforeAll(async () => {
  door = await startDoor({ config: { messageBytes: 100_000 } })
})
afterAll(() => door.close())

/** What a client is told to do; every client below takes these. */
interface Order {
  how: 'starttls' | 'implicit' | 'plain'
  port: number
  key: string
  from?: string
  body?: string
}

const swaks = ({ how, port, key, from = 'app@acme.example', body = 'Hi' }: Order) => {
  const tls = how === 'plain' ? [] : [how === 'implicit' ? '--tls-on-connect' : '--tls']
  const auth = how === 'plain' ? [] : ['--auth', 'PLAIN', '--auth-user', 'posthaste', '--auth-password', key]
  const message = `From: ${from}\nTo: ada@customer.example\nSubject: Hello\n\n${body}\n`
  return runClient(
    'swaks',
    [
      ...[
        '--server',
        '127.0.0.1',
        '--port',
        String(port),
        '--from',
        'app@acme.example',
        '--to',
        'ada@customer.example',
      ],
      ...['--data', '-', ...tls, ...auth],
    ],
    message,
  )
}

const curl = ({ how, port, key, from = 'app@acme.example', body = 'Hi' }: Order) =>
  runClient(
    'curl',
    [
      ...['-sS', '-v', '--insecure', '--url', `${how === 'implicit' ? 'smtps' : 'smtp'}://127.0.0.1:${port}`],
      ...(how === 'starttls' ? ['--ssl-reqd'] : []),
      ...(how === 'plain' ? [] : ['--user', `posthaste:${key}`]),
      ...['--mail-from', 'app@acme.example', '--mail-rcpt', 'ada@customer.example', '--upload-file', '-'],
    ],
    `From: ${from}\r\nSubject: Hello\r\n\r\n${body}\r\n`,
  )

const script = `
import smtplib, ssl, sys
how, port, key, sender, body = sys.argv[1:6]
context = ssl._create_unverified_context()
try:
    s = smtplib.SMTP_SSL('127.0.0.1', int(port), context=context) if how == 'implicit' else smtplib.SMTP('127.0.0.1', int(port))
    if how == 'starttls': s.starttls(context=context)
    if how != 'plain': s.login('posthaste', key)
    s.ehlo_or_helo_if_needed()
    s.mail('app@acme.example'); s.rcpt('ada@customer.example')
    code, text = s.data('From: %s\\r\\nSubject: Hello\\r\\n\\r\\n%s\\r\\n' % (sender, body.replace('|', '\\r\\n')))
    print(code, text.decode()); sys.exit(0 if code == 250 else 1)
except smtplib.SMTPResponseException as e:
    print(e.smtp_code, e.smtp_error.decode()); sys.exit(1)
`
const python = ({ how, port, key, from = 'app@acme.example', body = 'Hi' }: Order) =>
  runClient('python3', ['-c', script, how, String(port), key, from, body])

const nodemailer = ({ how, port, key, from = 'app@acme.example', body = 'Hi' }: Order) =>
  how === 'plain'
    ? python({ how, port, key, from, body })
    : sendWithNodemailer(
        door,
        { from, text: body, envelope: { from: 'app@acme.example', to: 'ada@customer.example' } },
        { port, key, secure: how === 'implicit' },
      )

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
/** swaks speaks TLS only where Perl's Net::SSLeay is installed. */
const missing: Record<string, boolean> = {
  swaks: !has('swaks', '--version') || !has('perl', '-MNet::SSLeay', '-e1'),
  curl: !has('curl', '--version'),
  'Python smtplib': !has('python3', '--version'),
}

const clients: [string, (order: Order) => Promise<Sent>][] = [
  ['swaks', swaks],
  ['curl', curl],
  ['Python smtplib', python],
  ['nodemailer', nodemailer],
]

describe.each(clients)('%s', (name, send) => {
  test.skipIf(missing[name])(
    'is taken over STARTTLS, over implicit TLS, and from a trusted network',
    async () => {
      const { ports, keys } = door
      for (const [how, port] of [
        ['starttls', ports.starttls],
        ['implicit', ports.implicit],
        ['plain', ports.trusted],
      ] as const) {
        const { ok, text } = await send({ how, port, key: keys.sending })
        expect({ how, ok, text }).toEqual({
          how,
          ok: true,
          text: expect.stringMatching(/250 2\.0\.0 Queued as [\da-f-]{36}/) as string,
        })
      }
    },
  )

  test.skipIf(missing[name])('is told what is wrong', async () => {
    const { ports, keys } = door
    const order = { how: 'starttls' as const, port: ports.starttls, key: keys.full }
    const wrongKey = await send({ ...order, key: 're_aaaaaaaa_wrong' })
    expect(wrongKey.ok).toBe(false)
    const foreign = await send({ ...order, from: 'ceo@bank.example' })
    expect(foreign.ok).toBe(false)
    expect(foreign.text).toMatch(/550[ -]5\.7\.1 The bank\.example domain is not verified/)
    const large = await send({ ...order, body: `${'x'.repeat(900)}\r\n`.repeat(120) })
    expect(large.ok).toBe(false)
    expect(large.text).toMatch(/552[ -]5\.3\.4 The message with its attachments is larger than 100000 bytes/)
  })
})

test.skipIf(!has('swaks', '--version'))('swaks is taken from a trusted network', async () => {
  const { ok, text } = await swaks({ how: 'plain', port: door.ports.trusted, key: '' })
  expect({ ok, text }).toEqual({ ok: true, text: expect.stringMatching(/250 2\.0\.0 Queued as/) as string })
})

test('mail that came by SMTP is delivered, and its session is in the log of requests', async () => {
  const world = await createWorld({
    domains: { 'customer.test': { mx: [{ preference: 10, host: 'mx.customer.test' }] } },
  })
  const listen = ['127.0.0.1:0']
  const appliance = await startAppliance({
    world,
    config: {
      smtp: {
        starttls: listen,
        implicit_tls: listen,
        trusted: [],
        proxy_protocol_from: [],
        max_connections: 10,
        max_connections_per_address: 10,
      },
    },
  })
  try {
    const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
    const mail = { from: 'App <hello@sender.test>', to: 'ada@customer.test' }
    const sent = await sendWithNodemailer(door, mail, { port, key: appliance.apiKey })
    const id = /Queued as (.+)$/.exec(sent.text)![1]!
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    expect(world.mailboxOf('mx.customer.test').map(({ raw }) => raw.includes(`id ${id};`))).toEqual([true])
    type Logs = { data: { method: string; endpoint: string; response_status: number }[] }
    const logs = await appliance.call<Logs>('GET', '/logs')
    expect(logs.body.data).toContainEqual(
      expect.objectContaining({ method: 'SMTP', endpoint: `smtp://${port} MAIL`, response_status: 200 }),
    )
  } finally {
    await appliance.close()
    await world.close()
  }
})
