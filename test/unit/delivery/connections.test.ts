import { describe, expect, test } from 'vitest'
import { createConnections } from '../../../appliance/delivery/connections.ts'
import { createTestClock } from '../../world/clock.ts'
import { dialog } from '../../world/scripted.ts'
import { minute, type Options, serve, talk } from './talk.ts'

/** Tests several messages over one connection, and what happens to it between them. */

const hello = 'S: 220 mx\n C: EHLO *\n S: 250 mx\n'
const mail = 'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 250 ok\n C: DATA\n S: 354 go\n C: <body>\n'
const message = `${mail} S: 250 queued\n`
const second = { from: 'second@sender.test' }

/** Creates a connection pool with a test clock. */
function place(options: { mostIdle?: number } = {}) {
  const clock = createTestClock()
  const connections = createConnections({ clock, ...options })
  const say = (server: { address: string; port: number }, more: Options = {}) =>
    talk(server, { clock, connections, ...more })
  return { clock, connections, say }
}

const fateOf = ({ fates }: { fates: Record<string, string> }): string => Object.values(fates)[0]!
const names = ({ lines }: { lines: string[] }): string[] => lines.map((line) => line.split(' ')[0]!)

describe('a kept connection', () => {
  test('a kept connection is reused for the next message, and the transcript notes the reuse', async () => {
    const { connections, say } = place()
    const server = await serve(hello + message + message + message)
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
    await say(server, second)
    const third = await say(server)
    expect(third.lines).toEqual([
      expect.stringMatching(/^connect \(Reused the connection opened at \S+Z \(message 3 on it\)\.\)$/),
      'mail MAIL FROM:<bounce@sender.test> > 250 ok',
      'rcpt RCPT TO:<bob@example.org> > 250 ok',
      'data DATA > 354 go',
      'body > 250 queued (21 bytes)',
    ])
    expect(server.connections).toHaveLength(1)
    expect(server.connections[0]).toMatchObject({ mismatch: null })
    expect(connections.count()).toEqual({ open: 1, idle: 1 })
  })

  test('pipelines RSET, MAIL, RCPT and DATA after a rejected envelope', async () => {
    const { say } = place()
    const group = 'C: MAIL *\n C: RCPT *\n C: DATA\n'
    const server = await serve(
      `S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 PIPELINING\n ${group} S: 250 ok\n S: 550 5.1.1 no\n S: 503 no
       C: RSET\n ${group} S: 250 reset\n S: 250 ok\n S: 250 ok\n S: 354 go\n C: <body>\n S: 250 queued\n
       ${group} S: 250 ok\n S: 250 ok\n S: 354 go\n C: <body>\n S: 554 spam\n C: RSET\n`,
    )
    expect(fateOf(await say(server))).toBe('reply rcpt 550 5.1.1 no')
    const then = await say(server)
    expect(fateOf(then)).toBe('accepted 250 queued')
    expect(names(then)).toEqual(['connect', 'rset', 'mail', 'rcpt', 'data', 'body'])
    expect(fateOf(await say(server))).toBe('reply body 554 spam')
    void say(server)
    await expect.poll(() => server.connections[0]).toMatchObject({ mismatch: null, complete: true })
  })

  test.each([
    ['the sender', 'C: MAIL *\n S: 550 no\n'],
    ['the recipient', 'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 450 later\n'],
    ['DATA', 'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 250 ok\n C: DATA\n S: 451 later\n'],
    ['the message', `${mail} S: 554 spam\n`],
  ])('sends RSET after a server without PIPELINING rejected %s', async (_, refusal) => {
    const { say } = place()
    const server = await serve(`${hello} ${refusal} C: RSET\n S: 250 ok\n ${message}`)
    expect(fateOf(await say(server))).toMatch(/^reply/)
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
    expect(server.connections).toHaveLength(1)
    expect(server.connections[0]!.mismatch).toBeNull()
  })

  test('closes a kept connection with QUIT after its maximum number of messages', async () => {
    const { say, connections } = place()
    const script = `${hello} ${message} ${message} C: QUIT\n S: 221 bye\n S: <close>`
    const server = await serve(script, hello + message)
    for (let sent = 0; sent < 3; sent++)
      expect(fateOf(await say(server, { messagesPerConnection: 2 }))).toBe('accepted 250 queued')
    await expect.poll(() => server.connections.map(({ complete }) => complete)).toEqual([true, true])
    await expect.poll(() => connections.count()).toEqual({ open: 1, idle: 1 })
  })

  test('closes a kept connection with QUIT when its idle time is over', async () => {
    const { say, connections, clock } = place()
    const server = await serve(`${hello} ${message} C: QUIT\n S: 221 bye\n S: <close>`)
    await say(server, { idleMs: 10_000 })
    await clock.advance(9_000)
    expect(connections.count()).toEqual({ open: 1, idle: 1 })
    await clock.advance(1_000)
    expect(connections.count().idle).toBe(0)
    await expect.poll(() => server.connections[0]).toMatchObject({ mismatch: null, complete: true })
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
  })

  test('a connection counts as open until the server closes it or the QUIT timeout is over', async () => {
    const { say, connections, clock } = place()
    const server = await serve(`${hello} ${message} C: QUIT\n S: 221 bye`)
    await say(server, { idleMs: 0 })
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
    expect(connections.count()).toEqual({ open: 1, idle: 0 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clock.advance(1_000)
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
  })

  test.each([
    ['local EHLO name', { hostname: 'other.sender.test' }],
    ['local address', { localAddress: '127.0.0.1' }],
    ['lane', { lane: { key: 'other', connections: 10 } }],
  ])('a kept connection is not reused for another %s', async (_, other) => {
    const { say } = place()
    const server = await serve(hello + message, hello + message)
    await say(server)
    expect(fateOf(await say(server, other))).toBe('accepted 250 queued')
    expect(server.connections).toHaveLength(2)
  })

  test('remembers the server’s SIZE limit: a larger message is not sent, and the connection stays usable', async () => {
    const { say } = place()
    const sized = 'S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 SIZE 30\n'
    const server = await serve(`${sized} ${message} ${message}`)
    await say(server)
    expect(fateOf(await say(server, { message: `Subject: ${'x'.repeat(50)}\r\n\r\n` }))).toBe(
      'unsupported mail',
    )
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
    expect(server.connections[0]!.mismatch).toBeNull()
  })
})

describe('a kept connection that breaks', () => {
  const again = hello + message

  test.each([
    ['closes it', 'S: <close>'],
    ['resets it', 'S: <reset>'],
    ['sends 421', 'S: 421 4.4.2 idle for too long'],
    ['sends an unexpected reply', 'S: 250 by the way'],
  ])('drops a kept connection before the next message if the server %s while idle', async (_, end) => {
    const { say, connections } = place()
    const server = await serve(`${hello} ${message} ${end}`, again)
    await say(server)
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
    const next = await say(server)
    expect(fateOf(next)).toBe('accepted 250 queued')
    expect(next.lines[0]).toMatch(/^connect \(Connected from/)
  })

  test('a connection that ends while its message waits for its turn leaves the lane with a correct count', async () => {
    const { say, connections, clock } = place()
    const server = await serve(hello + message, hello + message + message)
    const lane = { key: 'auto test', connections: 1 }
    await say(server, { lane })
    let turns = 0
    const mailTurn = (): number => {
      if (turns++ > 0) return 0
      server.cut()
      return 10 * minute
    }
    const waiting = say(server, { lane, mailTurn })
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
    await clock.advance(10 * minute)
    expect(fateOf(await waiting)).toBe('accepted 250 queued')
    expect(connections.count()).toEqual({ open: 1, idle: 1 })
    expect(fateOf(await say(server, { lane }))).toBe('accepted 250 queued')
    expect(server.connections).toHaveLength(2)
  })

  test('drops a kept connection if the server sends half a reply while idle', async () => {
    const { say, connections } = place()
    const server = await serve([...dialog(hello + message), { send: '42' }], again)
    await say(server)
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
  })

  test.each([
    ['421 to MAIL', 'C: MAIL *\n S: 421 4.7.0 closing\n S: <close>', ['connect', 'mail']],
    ['503 to MAIL', 'C: MAIL *\n S: 503 5.5.1 EHLO first\n C: QUIT', ['connect', 'mail', 'quit']],
    [
      'too many messages at MAIL',
      'C: MAIL *\n S: 452 4.5.3 Too many messages per connection\n C: QUIT',
      ['connect', 'mail', 'quit'],
    ],
    ['a bad connection at MAIL', 'C: MAIL *\n S: 451 4.4.2 sorry\n C: QUIT', ['connect', 'mail', 'quit']],
    ['a close at MAIL', 'C: MAIL *\n S: <close>', ['connect', 'mail']],
    ['a reset at MAIL', 'C: MAIL *\n S: <reset>', ['connect', 'mail']],
  ])('resends the message over a new connection after %s', async (_, end, before) => {
    const { say } = place()
    const server = await serve(`${hello} ${message} ${end}`, again)
    await say(server)
    const next = await say(server)
    expect(fateOf(next)).toBe('accepted 250 queued')
    expect(names(next)).toEqual([...before, 'connect', 'greeting', 'ehlo', 'mail', 'rcpt', 'data', 'body'])
    await expect.poll(() => server.connections[0]).toMatchObject({ mismatch: null, complete: true })
    expect(server.connections).toHaveLength(2)
  })

  test.each([
    ['refused', 'S: 500 5.5.2 what'],
    ['deferred', 'S: 451 4.3.0 later'],
    ['answered by a close', 'S: <close>'],
  ])('resends the message over a new connection when RSET is %s', async (_, end) => {
    const { say } = place()
    const server = await serve(`${hello} C: MAIL *\n S: 550 no\n C: RSET\n ${end}`, again)
    await say(server)
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
  })

  test('resends the message if a pipelined RSET is rejected, and sends no body over the old connection', async () => {
    const { say } = place()
    const group = 'C: MAIL *\n C: RCPT *\n C: DATA\n'
    const server = await serve(
      `S: 220 mx\n C: EHLO *\n S: 250-mx\n S: 250 PIPELINING\n ${group} S: 250 ok\n S: 550 no\n S: 503 no
       C: RSET\n ${group} S: 502 no\n S: 250 ok\n S: 250 ok\n S: 354 go\n`,
      again,
    )
    await say(server)
    expect(fateOf(await say(server))).toBe('accepted 250 queued')
    expect(server.connections[0]!.received.toString()).not.toContain('Hello')
  })

  test('resends the message over a new connection when MAIL times out', async () => {
    const { say, clock } = place()
    const server = await serve(`${hello} ${message} C: MAIL *`, again)
    await say(server)
    const next = say(server)
    await expect.poll(() => server.connections[0]!.complete).toBe(true)
    await clock.advance(5 * minute)
    expect(fateOf(await next)).toBe('accepted 250 queued')
  })

  test.each([
    [
      'about the message',
      'C: MAIL *\n S: 451 4.7.1 sender deferred\n',
      'reply mail 451 4.7.1 sender deferred',
    ],
    ['after MAIL was taken', 'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: <close>', 'network rcpt'],
    ['with 421 to RCPT', 'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 421 no\n S: <close>', 'reply rcpt 421 no'],
    ['after the final dot', `${mail} S: <close>`, 'network body'],
    ['after the final dot, with 421', `${mail} S: 421 closing\n S: <close>`, 'reply body 421 closing'],
  ])('does not resend after a failure %s, which becomes the outcome', async (_, end, fate) => {
    const { say } = place()
    const server = await serve(`${hello} ${message} ${end}`, again)
    await say(server)
    expect(fateOf(await say(server))).toBe(fate)
    expect(server.connections).toHaveLength(1)
  })

  test('a broken connection is replaced only once: a failure of the new connection is the outcome', async () => {
    const { say } = place()
    const busy = 'C: MAIL *\n S: 421 busy\n S: <close>'
    const server = await serve(`${hello} ${message} ${busy}`, `${hello} ${busy}`, again)
    await say(server)
    expect(fateOf(await say(server))).toBe('reply mail 421 busy')
    expect(server.connections).toHaveLength(2)
  })
})

describe('a message for a lane with all connections busy', () => {
  test('a message is sent over the first free connection if all connections of its lane are busy', async () => {
    const { say } = place()
    const server = await serve(`${hello} ${mail} S: 250 queued\n ${message}`)
    const lane = { key: 'lane', connections: 1 }
    const said = Promise.all([say(server, { lane }), say(server, { lane })])
    expect((await said).map(fateOf)).toEqual(['accepted 250 queued', 'accepted 250 queued'])
    expect(server.connections).toHaveLength(1)
  })
})

describe('idle connections', () => {
  test('limits idle connections over all lanes, and closes the one idle longest first', async () => {
    const { say, connections } = place({ mostIdle: 2 })
    const script = `${hello} ${message} C: QUIT\n S: 221 bye\n S: <close>`
    const servers = [await serve(script), await serve(script), await serve(script)]
    for (const [at, server] of servers.entries())
      await say(server, { lane: { key: `lane ${at}`, connections: 1 } })
    await expect.poll(() => connections.count()).toEqual({ open: 2, idle: 2 })
    expect(servers.map(({ connections }) => connections[0]!.complete)).toEqual([true, false, false])
  })

  test('closes idle connections per source address or all at once, and keeps none after close()', async () => {
    const { say, connections } = place()
    const script = `${hello} ${message} C: QUIT\n S: 221 bye\n S: <close>`
    const [one, other, last] = [await serve(script), await serve(script), await serve(script)]
    await say(one, { localAddress: '127.0.0.1' })
    await say(other)
    connections.closeIdle('127.0.0.1')
    await expect.poll(() => connections.count()).toEqual({ open: 1, idle: 1 })
    await connections.close()
    expect(connections.count()).toEqual({ open: 0, idle: 0 })
    await say(last)
    await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
    for (const server of [one, other, last])
      await expect.poll(() => server.connections[0]).toMatchObject({ mismatch: null, complete: true })
  })
})
