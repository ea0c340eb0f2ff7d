import { once } from 'node:events'
import { connect } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { speak, watchLoop } from '../world/loop.ts'
import { sendWithNodemailer } from '../unit/submission/clients.ts'
import { startDoor, type Door } from '../unit/submission/harness.ts'

const MB = 1024 * 1024

let door: Door | undefined
afterEach(async () => {
  await door?.close()
  door = undefined
})
const open = async (config = {}) => (door = await startDoor({ config: { messageBytes: 40 * MB, ...config } }))

const HEAD = 'From: app@acme.example\r\nSubject: x\r\n'

/** What is said before a message, on the listener that needs no sign-in. */
const until = (last: string): string[] => [
  'EHLO client.example',
  'MAIL FROM:<app@acme.example>',
  'RCPT TO:<ada@customer.example>',
  last,
]

describe('messages made to cost more than their size', () => {
  test.each([
    ['38 MB of lines with a dot', `${HEAD}\r\n`, '..\r\n', 9.5 * MB, /^250 /],
    ['36 MB of header', HEAD, 'X-A: b\r\n', 4.5 * MB, /^554 5\.6\.0 .*header is larger than 262144 bytes/],
    ['a header line of 36 MB', HEAD, ' folded on and on\r\n', 2 * MB, /^554 5\.6\.0 .*header is larger/],
    ['60,000 header fields', HEAD, 'a:\r\n', 60_000, /^554 5\.6\.0 .*more than 1000 header fields/],
    [
      '32 MB of messages within messages',
      `${HEAD}Content-Type: message/rfc822\r\n\r\n`,
      'Content-Type: message/rfc822\r\n\r\n',
      MB,
      /^(250|554) /,
    ],
    [
      'a million parts',
      `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n`,
      '--a\r\n\r\n',
      MB,
      /^(250|554) /,
    ],
    ['200,000 recipients in a header field', `${HEAD}To: a@b.example`, ',\r\n a@b.example', 15_000, /^250 /],
  ])('%s do not stop the event loop', async (_name, before, piece, times, expected) => {
    const { ports } = await open()
    using loop = watchLoop()
    const speech = { port: ports.trusted, before, piece, times: Math.floor(times), dialog: until('DATA') }
    const answer = await speak({ ...speech, after: '\r\n\r\nHello\r\n.\r\n' }, /\r\n$/)
    expect(answer).toMatch(expected)
    expect(loop.longest()).toBeLessThan(50)
  })

  test('chunks of one octet keep no more than the message', async () => {
    const { ports, capacity } = await open()
    const speech = { port: ports.trusted, before: '', piece: 'BDAT 1\r\nx', times: 60_000, after: '' }
    const answer = speak({ ...speech, dialog: until('NOOP') }, /(250 2\.0\.0 1 octets received\r\n){60000}/)
    await answer
    expect(capacity.figures().octets.memory.used).toBeLessThanOrEqual(256 * 1024)
  })
})

describe('half-sent messages', () => {
  test('of one key leave room for those of other teams, and are ended when nothing more comes', async () => {
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

test('a revoked key does not go on sending on an open session', async () => {
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
    /^421 4\.7\.0 The API key of this session was deleted\./,
  )
  await once(socket.resume(), 'close')
})
