import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { freeAddress } from '../../world/addresses.ts'
import { firstOf, on } from '../../world/behaviour.ts'
import { startExchanger, type Exchanger, type ExchangerOptions } from '../../world/exchanger.ts'
import { dialog, startScripted, type ScriptedOptions, type ScriptedServer } from '../../world/scripted.ts'
import { tlsFile } from '../../world/tls.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function exchangerThat(more: Partial<ExchangerOptions> = {}): Promise<Exchanger> {
  const exchanger = await startExchanger({ address: freeAddress(), port: 0, name: 'mx.test', ...more })
  cleanups.push(() => exchanger.close())
  return exchanger
}

async function scriptedThat(script: ScriptedOptions['script']): Promise<ScriptedServer> {
  const server = await startScripted({ address: freeAddress(), port: 0, script })
  cleanups.push(() => server.close())
  return server
}

/** A client that sends lines and returns whole replies, or `null` when the connection ends. */
class Client {
  socket: Socket
  #text = ''
  #ended = false
  #wake: () => void = () => undefined

  constructor(to: { address: string; port: number }) {
    this.socket = connect(to.port, to.address)
    this.#listen()
    cleanups.push(() => this.socket.destroy())
  }

  #listen(): void {
    const end = () => {
      this.#ended = true
      this.#wake()
    }
    this.socket.on('error', end).on('close', end)
    this.socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('latin1')
      this.#wake()
    })
  }

  async reply(): Promise<string | null> {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(this.#text)
      if (match) {
        this.#text = this.#text.slice(match[0].length)
        return match[0].trimEnd()
      }
      if (this.#ended) return null
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  say(line: string): Promise<string | null> {
    this.socket.write(`${line}\r\n`)
    return this.reply()
  }

  startTls(options: { ca?: string; servername?: string }): Promise<string> {
    this.socket.removeAllListeners()
    return new Promise((resolve) => {
      const tls: TLSSocket = connectTls({ socket: this.socket, rejectUnauthorized: false, ...options })
      this.socket = tls
      tls.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      tls.on('secureConnect', () => {
        this.#listen()
        resolve(tls.authorized ? 'verified' : String(tls.authorizationError))
      })
    })
  }
}

async function greeted(exchanger: { address: string; port: number }): Promise<Client> {
  const client = new Client(exchanger)
  expect(await client.reply()).toMatch(/^220 mx\.test/)
  return client
}

async function send(
  client: Client,
  to = ['b@y.test'],
  body = 'Subject: hi\r\n\r\n..dot\r\n',
): Promise<string | null> {
  await client.say('MAIL FROM:<a@x.test>')
  for (const address of to) await client.say(`RCPT TO:<${address}>`)
  const go = await client.say('DATA')
  return go?.startsWith('354') ? client.say(`${body}.`) : go
}

describe('a test exchanger', () => {
  test('a test exchanger receives a message and records envelope, bytes and session', async () => {
    const exchanger = await exchangerThat()
    const client = await greeted(exchanger)
    expect(await client.say('EHLO out.test')).not.toMatch(/STARTTLS|AUTH/)
    expect(await send(client, ['b@y.test', 'c@y.test'])).toMatch(/^250 /)
    const [arrival] = await exchanger.mailbox.waitFor(1)
    expect(arrival).toMatchObject({
      envelope: { from: 'a@x.test', to: ['b@y.test', 'c@y.test'] },
      tls: null,
      session: { ehlo: 'out.test', clientAddress: '127.0.0.1' },
    })
    expect(arrival!.raw.toString()).toBe('Subject: hi\r\n\r\n.dot\r\n')
    expect(exchanger.steps.map(({ command }) => command)).toEqual([
      'connect',
      'mail',
      'rcpt',
      'rcpt',
      'data',
      'message',
    ])
    expect(exchanger.open()).toBe(1)
  })

  test('a test exchanger rejects some recipients with the given code and text', async () => {
    const exchanger = await exchangerThat({
      behave: on('rcpt', '550 5.1.1 no such user', { address: /^no@/ }),
    })
    const client = await greeted(exchanger)
    await client.say('EHLO out.test')
    await client.say('MAIL FROM:<a@x.test>')
    expect(await client.say('RCPT TO:<no@y.test>')).toBe('550 5.1.1 no such user')
    expect(await client.say('RCPT TO:<yes@y.test>')).toMatch(/^250 /)
  })

  test('a test exchanger rejects the first attempts, then accepts', async () => {
    const exchanger = await exchangerThat({ behave: on('message', '451 4.7.1 later', { times: 2 }) })
    const client = await greeted(exchanger)
    await client.say('EHLO out.test')
    expect(await send(client)).toBe('451 4.7.1 later')
    expect(await send(client)).toBe('451 4.7.1 later')
    expect(await send(client)).toMatch(/^250 /)
    expect(exchanger.mailbox).toHaveLength(1)
  })

  test('a test exchanger can greet with 421, customize its 250, and change its behavior while running', async () => {
    const exchanger = await exchangerThat({ behave: on('connect', '421 4.3.2 go away', { times: 1 }) })
    const refused = new Client(exchanger)
    expect(await refused.reply()).toBe('421 4.3.2 go away')
    expect(await refused.reply()).toBeNull()
    exchanger.behave(
      firstOf(on('mail', '452 4.3.1 full', { times: 1 }), on('message', '250 2.0.0 queued as 42')),
    )
    const client = await greeted(exchanger)
    await client.say('EHLO out.test')
    expect(await client.say('MAIL FROM:<a@x.test>')).toBe('452 4.3.1 full')
    expect(await send(client)).toBe('250 2.0.0 queued as 42')
  })

  test('a test exchanger drops the connection in or after the body, and stores no message', async () => {
    const exchanger = await exchangerThat({
      behave: firstOf(on('data', 'drop', { times: 1 }), on('message', 'drop', { times: 1 })),
    })
    for (let time = 0; time < 2; time++) {
      const client = await greeted(exchanger)
      await client.say('EHLO out.test')
      expect(await send(client)).toBeNull()
    }
    expect(exchanger.mailbox).toHaveLength(0)
  })

  test('a test exchanger pauses before a reply', async () => {
    const exchanger = await exchangerThat({ behave: on('mail', { pauseMs: 60, then: '450 4.2.0 slow' }) })
    const client = await greeted(exchanger)
    await client.say('EHLO out.test')
    const start = performance.now()
    expect(await client.say('MAIL FROM:<a@x.test>')).toBe('450 4.2.0 slow')
    expect(performance.now() - start).toBeGreaterThan(50)
  })

  test.each([
    ['trusted', 'verified'],
    ['expired', 'CERT_HAS_EXPIRED'],
    ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ] as const)('offers STARTTLS with a certificate that is %s', async (tls, verdict) => {
    const exchanger = await exchangerThat({ tls })
    const client = await greeted(exchanger)
    expect(await client.say('EHLO out.test')).toMatch(/STARTTLS/)
    await client.say('STARTTLS')
    expect(await client.startTls({ ca: tlsFile('ca.pem'), servername: 'mx1.gmail.test' })).toBe(verdict)
    await client.say('EHLO out.test')
    expect(await send(client)).toMatch(/^250 /)
    expect(exchanger.mailbox[0]!.tls).toMatchObject({ version: 'TLSv1.3' })
  })

  test('a test exchanger can break the TLS handshake, and accepts plain text on the next connection', async () => {
    const exchanger = await exchangerThat({ tls: 'broken' })
    const client = await greeted(exchanger)
    await client.say('EHLO out.test')
    await client.say('STARTTLS')
    expect(await client.startTls({})).toMatch(/ALERT|ERR_SSL|ECONNRESET/)
    const second = await greeted(exchanger)
    await second.say('EHLO out.test')
    expect(await send(second)).toMatch(/^250 /)
  })

  test('a test exchanger reports how many messages are missing after a timeout', async () => {
    const exchanger = await exchangerThat()
    await expect(exchanger.mailbox.waitFor(1, 20)).rejects.toThrow('0 of 1 messages arrived within 20 ms')
  })
})

describe('a scripted test server', () => {
  test('a scripted server sends exactly the scripted bytes, and records what it received', async () => {
    const server = await scriptedThat([
      { send: '220-a\r\n220 b\r\n' },
      { expect: 'EHLO x' },
      { send: Buffer.from('250 \xff\r\n', 'latin1') },
      { expect: /^MAIL/ },
      { wait: 5 },
      { send: '250 ok\r\n' },
      { close: 'end' },
    ])
    const client = new Client(server)
    expect(await client.reply()).toBe('220-a\r\n220 b')
    expect(await client.say('EHLO x')).toBe('250 \xff')
    expect(await client.say('MAIL FROM:<>')).toBe('250 ok')
    expect(await client.reply()).toBeNull()
    expect(server.connections).toEqual([
      { received: Buffer.from('EHLO x\r\nMAIL FROM:<>\r\n'), mismatch: null, complete: true },
    ])
  })

  test('a scripted server stops at the first line that does not match the script', async () => {
    const server = await scriptedThat([{ send: '220 hi\r\n' }, { expect: 'EHLO x' }])
    const client = new Client(server)
    await client.reply()
    expect(await client.say('HELO y')).toBeNull()
    expect(server.connections[0]).toMatchObject({
      mismatch: 'expected EHLO x, got "HELO y"',
      complete: false,
    })
  })

  test('a scripted server plays a dialog per connection, including resets', async () => {
    const server = await scriptedThat((connection) =>
      connection === 1
        ? dialog('S: 220 one\n S: <reset>')
        : dialog(`
            S: 220 two
            C: EHLO *.test
            S: 354 go
            C: <body>
            S: 250 2.0.0 (ok)
          `),
    )
    const first = new Client(server)
    await first.reply()
    expect(await first.reply()).toBeNull()
    const second = new Client(server)
    expect(await second.reply()).toBe('220 two')
    expect(await second.say('EHLO out.test')).toBe('354 go')
    expect(await second.say('text\r\n.')).toBe('250 2.0.0 (ok)')
    expect(() => dialog('X: what')).toThrow('a line of a dialog begins')
  })

  test('a scripted server continues within TLS', async () => {
    const server = await scriptedThat([
      { send: '220 go\r\n' },
      { startTls: 'self-signed' },
      { expect: 'EHLO x' },
      { send: '250 secret\r\n' },
    ])
    const client = new Client(server)
    await client.reply()
    expect(await client.startTls({})).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
    expect(await client.say('EHLO x')).toBe('250 secret')
  })
})
