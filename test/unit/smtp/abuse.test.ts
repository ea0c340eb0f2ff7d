import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { createNetworkBans } from '../../../appliance/smtp/gate.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { createTestClock } from '../../world/clock.ts'
import { sendWithNodemailer } from './clients.ts'
import { startDoor, type Door, type DoorOptions } from './harness.ts'

let door: Door | undefined
afterEach(async () => {
  await door?.close()
  door = undefined
})
const open = async (options: DoorOptions = {}) => (door = await startDoor(options))

/** Sends something. Returns everything received until the connection ends. */
async function say(port: number, what: string | Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  socket.end(what)
  return text(socket)
}

describe('failed SMTP sign-ins', () => {
  const gate = () => {
    const clock = createTestClock()
    return { clock, gate: createNetworkBans(clock) }
  }

  test('failed sign-ins are answered with growing delays, and ten within the window ban the address for 15 minutes', async () => {
    const { clock, gate: one } = gate()
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(() => one.failed('192.0.2.1', ''))).toEqual([
      250, 500, 1000, 2000, 4000, 8000, 8000, 8000,
    ])
    expect(one.mayTry('192.0.2.1', '')).toBeNull()
    one.failed('192.0.2.1', '')
    one.failed('192.0.2.1', '')
    expect(one.mayTry('192.0.2.1', 're_12345678')?.smtp).toBe('421 4.7.0')
    expect(one.banned('192.0.2.1')?.message).toMatch(/^Too many attempts\. Try again in (899|900) seconds\.$/)
    expect(one.banned('192.0.2.2')).toBeNull()
    await clock.advance(15 * 60_000)
    expect(one.banned('192.0.2.1')).toBeNull()
  })

  test('a node bans an address after its share of the failures', () => {
    let nodes = 1
    const one = createNetworkBans(createTestClock(), (limit) => Math.ceil(limit / nodes))
    for (let times = 0; times < 4; times++) one.failed('192.0.2.1', '')
    expect(one.banned('192.0.2.1')).toBeNull()
    nodes = 3
    expect(one.banned('192.0.2.1')?.smtp).toBe('421 4.7.0')
    for (let times = 0; times < 166; times++) one.fault('192.0.2.2')
    expect(one.banned('192.0.2.2')).toBeNull()
    one.fault('192.0.2.2')
    expect(one.banned('192.0.2.2')?.smtp).toBe('421 4.7.0')
  })

  test('ten failures with one key prefix delay the next failure, but do not block a valid key', () => {
    const { gate: one } = gate()
    for (let host = 1; host <= 10; host++) one.failed(`192.0.2.${host}`, 're_12345678')
    expect(one.mayTry('192.0.2.99', 're_12345678')).toBeNull()
    expect(one.failed('192.0.2.99', 're_12345678')).toBe(8000)
    expect(one.failed('192.0.2.98', 're_abcdefgh')).toBe(250)
  })

  test('failures of another client do not block a working app behind the same address', () => {
    const { gate: one } = gate()
    one.succeeded('192.0.2.1', 're_12345678')
    for (let times = 0; times < 20; times++) one.failed('192.0.2.1', 're_abcdefgh')
    expect(one.banned('192.0.2.1')).toBeNull()
    expect(one.mayTry('192.0.2.1', 're_12345678')).toBeNull()
    expect(one.mayTry('192.0.2.1', 're_abcdefgh')?.key).toBe('too_many_attempts')
  })

  test('failed sign-ins are counted per IPv6 /64', () => {
    const { gate: one } = gate()
    for (let host = 1; host <= 10; host++) one.failed(`2001:db8:0:1::${host}`, '')
    expect(one.banned('2001:db8:0:1:ffff::1')?.key).toBe('too_many_attempts')
    expect(one.banned('2001:db8:0:2::1')).toBeNull()
  })
})

describe('SMTP connections', () => {
  test('connections beyond the per-address limit are rejected with 421 and the reason', async () => {
    const { ports } = await open({ capacity: { smtp: { total: 10, perAddress: 1, perStranger: 1 } } })
    const first = connect({ port: ports.starttls, host: '127.0.0.1' })
    await once(first, 'data')
    expect(await say(ports.starttls, '')).toBe(
      '421 4.7.0 Too many connections from your address. Close some, or try again in a minute.\r\n',
    )
    first.destroy()
    await expect.poll(() => say(ports.starttls, 'QUIT\r\n')).toMatch(/^220 /)
  })

  test('connections to the trusted listener from outside its networks are rejected with 554', async () => {
    const { ports } = await open({ config: { proxyProtocolFrom: parseNetworks(['127.0.0.1/32']) } })
    expect(await say(ports.trusted, 'PROXY TCP4 192.0.2.1 127.0.0.1 1234 25\r\nEHLO a\r\n')).toMatch(
      /^554 5\.7\.1 This listener accepts connections only from configured networks/,
    )
  })
})

describe('the PROXY protocol', () => {
  const v2 = (address: number[]) =>
    Buffer.from([
      ...Buffer.from('0d0a0d0a000d0a515549540a', 'hex'),
      0x21,
      0x11,
      0,
      12,
      ...address,
      127,
      0,
      0,
      1,
      4,
      210,
      0,
      25,
    ])

  test('reads PROXY v1 and v2 headers and treats the remaining bytes as the SMTP session', async () => {
    const { ports } = await open({ config: { proxyProtocolFrom: parseNetworks(['127.0.0.0/8']) } })
    const quit = Buffer.from('NOOP\r\nQUIT\r\n')
    const expected = /^220 .+\r\n250 2\.0\.0 Ok\r\n221 2\.0\.0 Goodbye\r\n$/
    expect(await say(ports.starttls, `PROXY TCP4 192.0.2.1 127.0.0.1 1234 25\r\n${quit.toString()}`)).toMatch(
      expected,
    )
    expect(await say(ports.starttls, `PROXY UNKNOWN\r\n${quit.toString()}`)).toMatch(expected)
    expect(await say(ports.starttls, Buffer.concat([v2([192, 0, 2, 1]), quit]))).toMatch(expected)
  })

  test('drops connections with a missing or malformed PROXY header without a reply', async () => {
    const { ports } = await open({ config: { proxyProtocolFrom: parseNetworks(['127.0.0.0/8']) } })
    expect(await say(ports.starttls, 'EHLO a\r\n')).toBe('')
    expect(await say(ports.starttls, 'PROXY TCP4 999.0.2.1 127.0.0.1 1 2\r\n')).toBe('')
    expect(await say(ports.starttls, 'PROXY TCP6 192.0.2.1 127.0.0.1 1 2\r\n')).toBe('')
    expect(await say(ports.starttls, `PROXY ${'x'.repeat(200)}`)).toBe('')
  })

  test('rejects a PROXY header from an unlisted address as an unknown command', async () => {
    const { ports } = await open()
    expect(await say(ports.starttls, 'PROXY TCP4 192.0.2.1 127.0.0.1 1234 25\r\nQUIT\r\n')).toMatch(
      /^220 .+\r\n500 5\.5\.1 .+\r\n221 /,
    )
  })
})

describe('SMTP sending limits', () => {
  test("exceeding the team's rate limit is answered with 450", async () => {
    const running = await open({ perSecond: 1 })
    expect((await sendWithNodemailer(running, {})).ok).toBe(true)
    expect((await sendWithNodemailer(running, {})).text).toMatch(/^450[ -]4\.7\.1 Too many requests/)
  })

  test("exceeding the team's quota is answered with 452", async () => {
    const running = await open({ plans: new Map([['unlimited', { daily: 1, monthly: null }]]) })
    expect((await sendWithNodemailer(running, {})).ok).toBe(true)
    expect((await sendWithNodemailer(running, {})).text).toMatch(
      /^452[ -]4\.7\.1 You have reached your daily email sending quota\./,
    )
  })

  test('an email to a suppressed recipient is accepted but not sent', async () => {
    const running = await open()
    const entry = {
      id: newId(0),
      teamId: running.teamId,
      email: 'ada@customer.example',
      origin: 'manual' as const,
    }
    await running.storage.addSuppressions(
      { teamId: running.teamId, suppressions: [{ ...entry, sourceId: null, createdAt: 0 }] },
      running.clock.now(),
    )
    expect((await sendWithNodemailer(running, {})).ok).toBe(true)
    expect((await running.emails()).map(({ lastEvent }) => lastEvent)).toEqual(['suppressed'])
  })
})
