import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { longestTurn, speak } from '../world/loop.ts'
import { sendWithNodemailer } from '../unit/smtp/clients.ts'
import { startDoor, type Door } from '../unit/smtp/harness.ts'

const MB = 1024 * 1024

let door: Door | undefined
afterEach(async () => {
  await door?.close()
  door = undefined
})
const open = async (config = {}) => (door = await startDoor({ config: { messageBytes: 40 * MB, ...config } }))

const HEAD = 'From: app@acme.example\r\nSubject: x\r\n'

/** Returns the commands before a message, on the listener that requires no sign-in. */
const until = (last: string): string[] => [
  'EHLO client.example',
  'MAIL FROM:<app@acme.example>',
  'RCPT TO:<ada@customer.example>',
  last,
]

describe('messages that are expensive to parse', () => {
  test.each([
    ['38 MB of lines that start with a dot', `${HEAD}\r\n`, '..\r\n', 9.5 * MB, /^250 /],
    [
      '36 MB of header fields',
      HEAD,
      'X-A: b\r\n',
      4.5 * MB,
      /^554 5\.6\.0 .*header is larger than 262144 bytes/,
    ],
    [
      '36 MB of folded header lines',
      HEAD,
      ' folded on and on\r\n',
      2 * MB,
      /^554 5\.6\.0 .*header is larger/,
    ],
    ['60,000 header fields', HEAD, 'a:\r\n', 60_000, /^554 5\.6\.0 .*more than 1000 header fields/],
    [
      '32 MB of nested messages',
      `${HEAD}Content-Type: message/rfc822\r\n\r\n`,
      'Content-Type: message/rfc822\r\n\r\n',
      MB,
      /^554 5\.6\.0 .*more than 1000 parts/,
    ],
    [
      'a million parts',
      `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n`,
      '--a\r\n\r\n',
      MB,
      /^554 5\.6\.0 .*more than 1000 parts/,
    ],
    ['200,000 recipients in a header field', `${HEAD}To: a@b.example`, ',\r\n a@b.example', 15_000, /^250 /],
  ])("finding 3: %s don't block the event loop", async (_name, before, piece, times, expected) => {
    const { ports } = await open()
    const speech = { port: ports.trusted, before, piece, times: Math.floor(times), dialog: until('DATA') }
    const longest = await longestTurn(async () => {
      expect(await speak({ ...speech, after: '\r\n\r\nHello\r\n.\r\n' }, /\r\n$/)).toMatch(expected)
    })
    expect(longest).toBeLessThan(50)
  })

  test("finding 3: six concurrent messages don't block the event loop", async () => {
    const { ports } = await open()
    const dots = { port: ports.trusted, before: `${HEAD}\r\n`, piece: '..\r\n', times: 2 * MB }
    const header = { port: ports.trusted, before: HEAD, piece: 'X-A: b\r\n', times: 2 * MB }
    const longest = await longestTurn(async () => {
      const said = [dots, dots, dots, header, header, header].map((speech) =>
        speak({ ...speech, dialog: until('DATA'), after: '\r\n\r\nHello\r\n.\r\n' }, /\r\n$/),
      )
      for (const answer of await Promise.all(said)) expect(answer).toMatch(/^(250|554) /)
    })
    expect(longest).toBeLessThan(50)
  })

  test('finding 3: 60,000 one-byte BDAT chunks use at most 256 KiB of memory', async () => {
    const { ports, capacity } = await open()
    const speech = { port: ports.trusted, before: '', piece: 'BDAT 1\r\nx', times: 60_000, after: '' }
    const answer = speak({ ...speech, dialog: until('NOOP') }, /(250 2\.0\.0 1 octets received\r\n){60000}/)
    await answer
    expect(capacity.figures().octets.memory.used).toBeLessThanOrEqual(256 * 1024)
  })
})

test("20,000 pipelined commands don't block the event loop", async () => {
  const { ports } = await open()
  const speech = {
    port: ports.trusted,
    before: '',
    piece: 'EHLO client.example\r\n',
    times: 20_000,
    after: 'QUIT\r\n',
  }
  const longest = await longestTurn(async () => {
    expect(await speak({ ...speech, dialog: ['NOOP'] }, /221 [^\n]*\n$/)).toMatch(/^250-/)
  })
  expect(longest).toBeLessThan(50)
})

test.each([
  ['an endless line', 'a'],
  ['bytes that are not a command', '\u00ff\u0000'],
])('finding 14: a client that sends %s gets a 500 without blocking the event loop', async (_name, piece) => {
  const { ports } = await open()
  const speech = { port: ports.starttls, before: 'EHLO ', piece, times: 20 * MB, after: '' }
  const longest = await longestTurn(async () => {
    const heard = await speak({ ...speech, dialog: ['NOOP'] }, /never said/)
    expect(heard).toMatch(/^500 5\.5\.2 A command must be a single line/)
  })
  expect(longest).toBeLessThan(50)
})

test("opening, using and closing 300 concurrent sessions doesn't block the event loop", async () => {
  const { ports, capacity } = await open()
  const longest = await longestTurn(async () => {
    const sockets = Array.from({ length: 300 }, () =>
      connectPlain({ port: ports.trusted, host: '127.0.0.1' }).on('error', () => undefined),
    )
    await Promise.all(sockets.map((socket) => once(socket, 'data')))
    const answered = sockets.map(async (socket) => {
      socket.write('EHLO a\r\nMAIL FROM:<app@acme.example>\r\nRSET\r\n')
      await once(socket, 'data')
    })
    await Promise.all(answered)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => capacity.figures().connections.smtp.open).toBe(0)
  })
  expect(longest).toBeLessThan(50)
})

test('finding 14: commands without effect count against the budget of the address, and end with a 421', async () => {
  const { ports, capacity } = await open()
  const speech = { port: ports.starttls, before: '', piece: 'NOOP\r\n', times: 20_000, after: '' }
  const heard = await speak({ ...speech, dialog: ['EHLO client.example'] }, /^421 [^\n]*\n/m)
  expect(heard).toMatch(/^(250 2\.0\.0 Ok\r\n){500,}421 4\.7\.0 Too many requests[^\n]*\n/)
  expect(heard.length).toBeLessThan(100_000)
  expect(capacity.figures().budgets.refused).toBe(1)
})

test('a client that disconnects during the TLS handshake leaves no socket open', async () => {
  const { ports, capacity } = await open()
  const { smtp } = capacity.figures().connections
  expect(smtp.open).toBe(0)
  const socket = connectPlain({ port: ports.implicit, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]))
  await expect.poll(() => capacity.figures().connections.smtp.open).toBe(1)
  socket.end()
  // Without waiting for the handshake timeout: the clock is stopped.
  await expect.poll(() => capacity.figures().connections.smtp.open).toBe(0)
})

describe('incomplete messages', () => {
  test("finding 5: incomplete messages from one key don't stop other senders, and end with a 421 when they stall", async () => {
    const { ports, keys, capacity, clock } = await open()
    const plain = Buffer.from(`\0posthaste\0${keys.sending}`).toString('base64')
    const slow = await Promise.all(
      Array.from({ length: 14 }, async () => {
        const socket = connect({ port: ports.implicit, host: '127.0.0.1', rejectUnauthorized: false })
        socket.on('error', () => undefined)
        await once(socket, 'data')
        for (const said of ['EHLO a', `AUTH PLAIN ${plain}`, ...until('DATA').slice(1)]) {
          socket.write(`${said}\r\n`)
          await once(socket, 'data')
        }
        socket.write(`${HEAD}\r\n${`${'x'.repeat(70)}\r\n`.repeat(30_000)}`)
        return socket
      }),
    )
    await expect.poll(() => capacity.figures().octets.disk.used).toBeGreaterThan(14 * 1.5 * MB)
    expect(capacity.figures().octets.memory.used).toBeLessThan(5 * MB)
    const file = { filename: 'a.bin', content: Buffer.alloc(1.5 * MB) }
    const sent = await sendWithNodemailer(door!, { attachments: [file] })
    expect(sent).toMatchObject({ ok: true })

    const heard = slow.map(async (socket) => String((await once(socket, 'data'))[0]))
    for (let second = 0; second < 65; second++) await clock.advance(1000)
    for (const answer of await Promise.all(heard))
      expect(answer).toMatch(/^421 4\.4\.2 The request arrived too slowly/)
    await expect
      .poll(() => capacity.figures().octets)
      .toMatchObject({ memory: { used: 0 }, disk: { used: 0 } })
    for (const socket of slow) socket.destroy()
  })
})

test('finding 6: revoking a key ends its open session at the next MAIL', async () => {
  const { ports, keys, senders, teamId } = await open()
  const socket = connect({ port: ports.implicit, host: '127.0.0.1', rejectUnauthorized: false })
  const say = async (what: string): Promise<string> => {
    socket.write(`${what}\r\n`)
    return String((await once(socket, 'data'))[0])
  }
  await once(socket, 'data')
  await say('EHLO a')
  const plain = Buffer.from(`\0posthaste\0${keys.sending}`).toString('base64')
  expect(await say(`AUTH PLAIN ${plain}`)).toMatch(/^235 /)
  expect(await say('MAIL FROM:<app@acme.example>')).toMatch(/^250 /)
  await say('RSET')
  for (const key of await senders.listKeys({ teamId })) await senders.revokeKey({ teamId, id: key.id })
  expect(await say('MAIL FROM:<app@acme.example>')).toMatch(
    /^421 4\.7\.0 The API key used for this session was deleted\./,
  )
  await once(socket.resume(), 'close')
})

test('finding 10: TLS 1.2 renegotiation is refused', async () => {
  const { ports } = await open()
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${ports.implicit}`, '-tls1_2'])
  try {
    let said = ''
    for (const stream of [client.stdout, client.stderr])
      stream.on('data', (chunk: Buffer) => void (said += chunk.toString()))
    await expect.poll(() => said).toMatch(/^220 /m)
    client.stdin.write('R\n')
    await expect.poll(() => said).toMatch(/no renegotiation/)
  } finally {
    client.kill()
  }
})

/** Signs in from an address of this machine. Resolves with the last reply. */
async function signIn(port: number, localAddress: string, token: string): Promise<string> {
  const plainSocket = connectPlain({ port, host: '127.0.0.1', localAddress })
  const socket = connect({ socket: plainSocket, rejectUnauthorized: false })
  socket.on('error', () => undefined)
  await once(socket, 'data')
  socket.write('EHLO a\r\n')
  await once(socket, 'data')
  const plain = Buffer.from(`\0posthaste\0${token}`).toString('base64')
  let reply = ''
  const answered = once(socket, 'data').then(([data]) => (reply = String(data)))
  socket.write(`AUTH PLAIN ${plain}\r\n`)
  await expect
    .poll(async () => {
      await door!.clock.advance(1000)
      return reply
    })
    .not.toBe('')
  await answered
  socket.destroy()
  return reply
}

test("finding 11: failed sign-ins with the prefix of a key don't lock the key out", async () => {
  const { ports, keys } = await open()
  const wrong = keys.sending.slice(0, 12) + 'x'.repeat(keys.sending.length - 12)
  for (let host = 10; host < 22; host++)
    expect(await signIn(ports.implicit, `127.0.0.${host}`, wrong)).toMatch(/^535 /)
  expect(await signIn(ports.implicit, '127.0.0.99', keys.sending)).toMatch(/^235 /)
})

test.each([
  'a(<b@other.example>)@acme.example',
  'app(b)@acme.example',
  'app@(x)acme.example',
  'Ada <app(<b@other.example>)@acme.example>',
  'Ada <app@acme.example(b@other.example)>',
])('info row: SMTP rejects comments in the From address: %s', async (from) => {
  const { ports } = await open()
  const speech = { port: ports.trusted, before: `From: ${from}\r\nSubject: x\r\n`, piece: '', times: 0 }
  const answer = await speak({ ...speech, dialog: until('DATA'), after: '\r\nHello\r\n.\r\n' }, /\r\n$/)
  expect(answer).toMatch(/^55\d 5\.\d\.\d .*From/)
})

test("500 incomplete messages from strangers leave memory and capacity for another server's message", async () => {
  // The default configuration.
  const smtp = { total: 4000, perAddress: 1000, perStranger: 50 }
  door = await startDoor({ config: { messageBytes: 40 * MB }, capacity: { smtp } })
  const { ports, capacity, senders, teamId } = door
  const acme = await senders.findDomain({ teamId, name: 'acme.example' })
  await senders.updateDomain({ teamId, id: acme!.id, settings: { receiving: true } })
  const dialog = ['EHLO x', 'MAIL FROM:<a@far.example>', 'RCPT TO:<a@acme.example>', 'DATA']
  /** Resolves with the reply to each line. */
  const say = async (socket: Socket, lines: readonly string[]): Promise<string[]> => {
    const heard: string[] = []
    for (const line of lines) {
      socket.write(`${line}\r\n`)
      heard.push(String((await once(socket, 'data'))[0]).slice(0, 3))
    }
    return heard
  }
  const from = async (localAddress: string): Promise<Socket> => {
    const socket = connectPlain({ port: ports.relay, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    await once(socket, 'data')
    return socket
  }
  const half = Buffer.from(`${HEAD}\r\n${`${'x'.repeat(70)}\r\n`.repeat(4000)}`)
  const hostile = await Promise.all(
    Array.from({ length: 500 }, async (_, place) => {
      const socket = await from(`127.0.1.${1 + (place % 50)}`)
      expect(await say(socket, dialog)).toEqual(['250', '250', '250', '354'])
      // Those beyond the limit get 452 and are closed.
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve())
        socket.write(half, () => resolve())
      })
      return socket
    }),
  )
  const { memory } = capacity.figures().octets
  // The share of all unauthenticated clients together. Anything beyond it is stored on disk.
  expect(memory.used).toBeLessThanOrEqual(memory.limit / 4)
  const honest = await from('127.0.2.1')
  expect(await say(honest, [...dialog, `${HEAD}\r\nHello\r\n.`])).toEqual(['250', '250', '250', '354', '250'])
  honest.destroy()
  for (const socket of hostile) socket.destroy()
  await expect.poll(() => capacity.figures().octets).toMatchObject({ memory: { used: 0 }, disk: { used: 0 } })
})

test('strangers at their connection limit leave connections for servers that delivered wanted mail before', async () => {
  door = await startDoor({ capacity: { smtp: { total: 20, perAddress: 20, perStranger: 20 } } })
  const { ports, capacity, senders, teamId } = door
  const acme = await senders.findDomain({ teamId, name: 'acme.example' })
  await senders.updateDomain({ teamId, id: acme!.id, settings: { receiving: true } })
  expect((await sendWithNodemailer(door, {})).ok).toBe(true)
  const [sent] = await door.emails()
  const sockets: Socket[] = []
  /** Connects and resolves with the greeting. */
  const from = async (localAddress: string): Promise<string> => {
    const socket = connectPlain({ port: ports.relay, host: '127.0.0.1', localAddress })
    sockets.push(socket.on('error', () => undefined))
    return String((await once(socket, 'data'))[0]).slice(0, 3)
  }
  const deliver = async (localAddress: string, mail: string, recipient: string): Promise<void> => {
    expect(await from(localAddress)).toBe('220')
    const socket = sockets.at(-1)!
    const envelope = ['EHLO x', `MAIL FROM:<${mail}>`, `RCPT TO:<${recipient}>`, 'DATA']
    for (const line of [...envelope, 'From: a@far.example\r\n\r\nHello\r\n.']) {
      socket.write(`${line}\r\n`)
      expect(String((await once(socket, 'data'))[0])).toMatch(/^[23]/)
    }
    socket.destroy()
  }
  await deliver('127.0.2.1', '', sent!.returnPath)
  // Its sender isn't authenticated.
  await deliver('127.0.3.1', 'a@far.example', 'a@acme.example')
  await expect.poll(() => capacity.smtp.figures().open).toBe(0)
  try {
    for (let count = 0; count < 12; count++) expect(await from('127.0.1.1')).toBe('220')
    expect(await from('127.0.1.2')).toBe('421')
    expect(await from('127.0.3.1')).toBe('421')
    // Another server of the same network.
    for (let count = 0; count < 3; count++) expect(await from('127.0.2.9')).toBe('220')
    // The rest is for clients that sign in.
    expect(await from('127.0.2.9')).toBe('421')
    expect(capacity.smtp.figures()).toMatchObject({ open: 15, strangers: 12, senders: 3 })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  await expect.poll(() => capacity.smtp.figures()).toMatchObject({ open: 0, strangers: 0, senders: 0 })
})
