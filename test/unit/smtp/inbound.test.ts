import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { play, readDialogs } from '../../dialogs/runner.ts'
import { probePublicMx, probePostmaster, evaluatePublicMx } from '../../../appliance/insights/public-mx.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { sendWithNodemailer } from './clients.ts'
import { change, leaseArgs, newEmail, putArgs } from '../../contract/fixtures.ts'
import { data, dsn, HELLO, NULL, RECEIVED, report, to } from './inbound-lines.ts'
import { startDoor, type Door, type DoorOptions } from './harness.ts'

let door: Door
/** Shared by the tests that need no server of their own. */
let shared: Door
beforeAll(async () => void (shared = await startDoor()))
afterAll(() => shared.close())
afterEach(async () => {
  if (door !== shared) await door.close()
})

/** Starts a server for one test, and sends an email. Returns the email's return path and ID. */
async function open(options: DoorOptions = {}): Promise<{ path: string; id: string }> {
  door = await startDoor(options)
  return send()
}

/** Does the same on the shared server. */
async function openShared(): Promise<{ path: string; id: string }> {
  door = shared
  return send()
}

async function send(): Promise<{ path: string; id: string }> {
  expect((await sendWithNodemailer(door, {})).ok).toBe(true)
  const [email] = await door.emails()
  return { path: email!.returnPath, id: email!.id }
}

/** Runs a conversation on the public port. */
async function talk(...lines: string[]): Promise<void> {
  const [dialog] = readDialogs(['=== a conversation @relay', '< 220 …', ...lines].join('\n'))
  expect(await play(dialog!, door)).toBeNull()
}

const listed = (emailId: string) =>
  door.storage.listReturned({ teamId: door.teamId, emailId }, door.clock.now())

describe('the return path of an email', () => {
  test('the return path accepts a report from the null sender and stores it byte for byte', async () => {
    const { path, id } = await openShared()
    await talk(...HELLO, ...NULL, ...to(path.toUpperCase()), ...data(['A: b', '', '..dot', ''], RECEIVED))
    const [message] = await listed(id)
    expect(message).toMatchObject({
      mailFrom: '',
      ip: '127.0.0.1',
      helo: 'mx.customer.example',
      tls: null,
      size: 16,
      receivedAt: expect.any(Number) as number,
      hasContent: true,
    })
    const args = { teamId: door.teamId, emailId: id, id: message!.id }
    const bytes = (await door.storage.getReturned(args, door.clock.now()))!
    expect(Buffer.from(bytes).toString()).toBe('A: b\r\n\r\n.dot\r\n\r\n')
  })

  test('a message that is not a delivery report changes nothing about the email', async () => {
    const { path, id } = await openShared()
    const history = () => door.storage.getHistory({ teamId: door.teamId, id }, door.clock.now())
    const before = await history()
    await talk(...HELLO, ...NULL, ...to(path), ...data(report('550 5.1.1 ada@customer.example'), RECEIVED))
    expect(await history()).toEqual(before)
    expect((await door.emails()).find((one) => one.id === id)).toMatchObject({ lastEvent: 'queued' })
    const page = { teamId: door.teamId, limit: 10 }
    expect((await door.storage.listSuppressions(page, door.clock.now())).items).toEqual([])
  })

  test('the return path answers callback verification, but accepts messages from the null sender only', async () => {
    const { path, id } = await openShared()
    await talk(
      ...HELLO,
      '> MAIL FROM:<double-bounce@mx.customer.example>',
      '< 250 …',
      ...to(path),
      '> RSET',
      '< 250 …',
      '> MAIL FROM:<postmaster@customer.example>',
      '< 250 …',
      ...to(path),
      '> DATA',
      '< 550 5.7.1 Return paths accept only delivery reports…',
      '> RSET',
      '< 250 …',
      '> MAIL FROM:<ada@customer.example>',
      '< 250 …',
      ...to(path),
      '! "BDAT 4 LAST\\r\\na\\r\\n\\n"',
      '< 550 5.7.1 …',
      '> QUIT',
      '< 221 …',
      '= closed',
    )
    expect(await listed(id)).toEqual([])
  })

  test('the return path accepts only one recipient per message, so that reports and other mail are not mixed', async () => {
    const { path } = await openShared()
    await talk(
      ...HELLO,
      ...NULL,
      ...to(path),
      '> RCPT TO:<postmaster>',
      '< 452 4.5.3 …',
      '> RCPT TO:<ada@customer.example>',
      '< 554 5.7.1 …',
      ...data(report(), RECEIVED),
    )
  })

  test('rejects a return path with another host or an unknown email', async () => {
    const { path } = await openShared()
    const [local] = path.split('@')
    const [start, proof] = local!.split('-') as [string, string]
    const change = (text: string) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
    await talk(
      ...HELLO,
      ...NULL,
      `> RCPT TO:<${change(start)}-${proof}@send.acme.example>`,
      '< 550 5.1.1 …',
      `> RCPT TO:<${start}-${change(proof)}@send.acme.example>`,
      '< 550 5.1.1 …',
      `> RCPT TO:<${start}@send.acme.example>`,
      '< 550 5.1.1 …',
      `> RCPT TO:<${local}@send.second.example>`,
      '< 550 5.1.1 …',
      `> RCPT TO:<${local}@mail.acme.example>`,
      '< 550 5.1.1 …',
      `> RCPT TO:<${local}@customer.example>`,
      '< 554 5.7.1 …',
    )
  })

  test('answers mail to a return path with 451 while the storage fails', async () => {
    const { path } = await open({ deaf: true })
    await talk(...HELLO, ...NULL, `> RCPT TO:<${path}>`, '< 451 4.3.0 …', '> DATA', '< 554 5.5.1 …')
  })

  test('the return path accepts ten messages per email, then rejects further ones with 552', async () => {
    const { path, id } = await openShared()
    const one = (answer: string) => [...NULL, ...to(path), ...data(report(), answer)]
    await talk(...HELLO, ...Array.from({ length: 10 }, () => one(RECEIVED)).flat(), ...one('552 5.2.2 …'))
    expect(await listed(id)).toHaveLength(10)
  })

  test('the return path rejects a message with too many Received fields as a loop', async () => {
    const { path } = await openShared()
    const trace = Array.from({ length: 51 }, () => 'Received: from a by b; now')
    await talk(...HELLO, ...NULL, ...to(path), ...data([...trace.slice(1), '', 'Received: x'], RECEIVED))
    await talk(...HELLO, ...NULL, ...to(path), ...data([...trace, '', 'x'], '554 5.4.6 …'))
  })

  test('the return path accepts up to 1 MiB, regardless of the limit for authenticated clients', async () => {
    const { path } = await open({ config: { messageBytes: 2_000_000 } })
    await talk(
      ...HELLO,
      '> MAIL FROM:<> SIZE=1048577',
      '< 250 …',
      `> RCPT TO:<${path}>`,
      '< 552 5.3.4 … larger than 1048576 bytes.',
      '> RSET',
      '< 250 …',
      ...NULL,
      ...to(path),
      '! "BDAT 1048577 LAST\\r\\n"',
      `> ${'x'.repeat(1_048_575)}`,
      '< 552 5.3.4 …',
    )
  })
})

/** Lets the recipients' servers accept all mail. */
async function deliver(): Promise<void> {
  const now = door.clock.now()
  const leased = await door.storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const changes = leased.map(({ id }) => change(id, 'delivered', 'email.delivered'))
  await door.storage.settle({ owner: 'one', attempt: null, changes }, now)
}

const effects = async (emailId: string) =>
  (await listed(emailId)).map(({ report }) => report?.entries.map(({ effect }) => effect))
const bouncesOf = async (emailId: string) => {
  const { events } = await door.storage.getHistory({ teamId: door.teamId, id: emailId }, door.clock.now())
  return events.filter(({ type }) => type === 'email.bounced')
}
const suppressed = async () =>
  (await door.storage.listSuppressions({ teamId: door.teamId, limit: 10 }, door.clock.now())).items

describe('a delivery report at a signed return path', () => {
  test('a delivery report bounces the delivery and suppresses the address once', async () => {
    const { path, id } = await open()
    await deliver()
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(), RECEIVED))
    await expect.poll(() => effects(id)).toEqual([['suppressed']])
    await talk(...HELLO, ...NULL, ...to(path.toUpperCase()), ...data(dsn(), RECEIVED))
    await expect.poll(() => effects(id)).toEqual([['unchanged'], ['suppressed']])
    expect(await bouncesOf(id)).toMatchObject([
      {
        data: { recipient: 'ada@customer.example', cause: { phase: 'report', host: 'mx.customer.example' } },
      },
    ])
    expect(await suppressed()).toMatchObject([
      { email: 'ada@customer.example', origin: 'bounce', sourceId: id },
    ])
  })

  test('a delivery report larger than 256 KB is parsed in a worker thread', async () => {
    const { path, id } = await open()
    await deliver()
    const filler = Array.from({ length: 400 }, () => 'x'.repeat(900))
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(filler), RECEIVED))
    await expect.poll(() => effects(id)).toEqual([['suppressed']])
  })

  test('a delivery report is applied only after the result of a running attempt', async () => {
    const { path, id } = await open()
    const now = door.clock.now()
    const [leased] = await door.storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(), RECEIVED))
    await expect
      .poll(async () => ((await door.storage.nextReturned({}, now)) ?? 0) - now)
      .toBeGreaterThanOrEqual(5000)
    const changes = [change(leased!.id, 'delivered', 'email.delivered')]
    await door.storage.settle({ owner: 'one', attempt: null, changes }, now)
    await door.clock.advance(5000)
    await expect.poll(() => effects(id)).toEqual([['suppressed']])
  })

  test('a delivery report is applied after the next attempt if a crash lost the result of the last one', async () => {
    const { path, id } = await open()
    const now = door.clock.now()
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(), RECEIVED))
    await expect
      .poll(async () => ((await door.storage.nextReturned({}, now)) ?? 0) - now)
      .toBeGreaterThanOrEqual(5000)
    await deliver()
    await door.clock.advance(5000)
    await expect.poll(() => effects(id)).toEqual([['suppressed']])
  })

  test('a delivery report is applied only after a held delivery is released and attempted', async () => {
    const { path, id } = await open()
    const now = door.clock.now()
    await door.storage.holdQueue({ domain: 'customer.example' }, now)
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(), RECEIVED))
    await expect
      .poll(async () => ((await door.storage.nextReturned({}, now)) ?? 0) - now)
      .toBeGreaterThanOrEqual(5000)
    await door.storage.releaseQueue({ domain: 'customer.example' }, now)
    await deliver()
    await door.clock.advance(5000)
    await expect.poll(() => effects(id)).toEqual([['suppressed']])
  })

  test('a delivery report is stored without effect if the return path has no MAC', async () => {
    await open()
    const now = door.clock.now()
    const email = newEmail(door.teamId, ['ada@customer.example'], now)
    const path = `bounce+${email.id.replaceAll('-', '')}@send.acme.example`
    await door.storage.put(putArgs({ ...email, returnPath: path }), now)
    await deliver()
    await talk(...HELLO, ...NULL, ...to(path), ...data(dsn(), RECEIVED))
    expect(await effects(email.id)).toEqual([undefined])
    expect(await door.storage.nextReturned({}, now)).toBeUndefined()
    expect([await bouncesOf(email.id), await suppressed()]).toEqual([[], []])
  })
})

describe('SMTP probing and flooding', () => {
  test('a connection can look up 100 recipients, and is then closed', async () => {
    const { path } = await open()
    const ask = [...NULL, ...to(path), '> RSET', '< 250 …']
    const over = [...NULL, `> RCPT TO:<${path}>`, '< 421 4.7.0 …', '= closed']
    await talk(...HELLO, ...Array.from({ length: 100 }, () => ask).flat(), ...over)
  })

  test('a client that probes unknown return paths is disconnected, and banned after 500', async () => {
    await open()
    const wrong = (at: number) => [
      `> RCPT TO:<bounce+0198f2a45a717000800000000000${String(at).padStart(4, '0')}@send.acme.example>`,
      '< 550 5.1.1 …',
    ]
    for (let round = 0; round < 50; round++)
      await talk(
        ...HELLO,
        ...NULL,
        ...Array.from({ length: 10 }, (_, at) => wrong(round * 10 + at)).flat(),
        '< 421 4.7.0 Too many errors on this connection.',
        '= closed',
      )
    const [dialog] = readDialogs('=== shut out @relay\n< 421 4.7.0 Too many attempts. …\n= closed')
    expect(await play(dialog!, door)).toBeNull()
  })

  test('protocol errors on the relay port do not ban apps that submit from the same address', async () => {
    await open()
    for (let round = 0; round < 50; round++)
      await talk(
        ...HELLO,
        ...Array.from({ length: 10 }, () => ['> BOO', '< 500 …']).flat(),
        '< 421 …',
        '= closed',
      )
    const [dialog] = readDialogs('=== shut out @relay\n< 421 4.7.0 Too many attempts. …\n= closed')
    expect(await play(dialog!, door)).toBeNull()
    expect((await sendWithNodemailer(door, {})).ok).toBe(true)
  })

  test('postmaster accepts ten messages an hour from one network', async () => {
    await open()
    const one = (answer: string[]) => [...NULL, ...to('postmaster@mail.acme.example'), ...answer]
    const taken = Array.from({ length: 10 }, () => one(data(report(), RECEIVED))).flat()
    await talk(...HELLO, ...taken, ...one(['> DATA', '< 450 4.7.1 Too many unauthenticated messages. …']))
    await door.clock.advance(60 * 60_000)
    await talk(...HELLO, ...one(data(report(), RECEIVED)))
  })

  test('unauthenticated messages cannot exhaust the memory for authenticated ones', async () => {
    const { path } = await open({ config: { messageBytes: 2_000_000 } })
    const sockets: Socket[] = []
    const answers: string[] = []
    // 40 unfinished messages of 1 MB: one address has a small share of memory and disk.
    for (let count = 0; count < 40; count++) {
      const socket = connect({ port: door.ports.relay, host: '127.0.0.1' })
      sockets.push(socket)
      socket.on('data', (chunk: Buffer) => answers.push(...chunk.toString().split('\r\n').filter(Boolean)))
      const body = `\r\n${`${'x'.repeat(900)}\r\n`.repeat(1150)}`
      socket.write(`HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<${path}>\r\nBDAT ${body.length}\r\n${body}`)
    }
    const said = (start: string) => answers.filter((line) => line.startsWith(start)).length
    await expect
      .poll(() => said('250 2.0.0 1037302 octets') + said('452 4.3.1'), { timeout: 30_000 })
      .toBe(40)
    expect(said('452 4.3.1')).toBeGreaterThan(0)
    expect((await sendWithNodemailer(door, { text: 'x'.repeat(500) })).ok).toBe(true)
    for (const socket of sockets) socket.destroy()
  })
})

describe('the return path self-check', () => {
  const judge = async (hostname: string) => {
    const reply = await probePostmaster('127.0.0.1', shared.ports.relay, hostname)
    return evaluatePublicMx({ kind: 'replied', reply: reply! }, hostname)
  }

  test('the self-check passes if port 25 accepts the postmaster address', async () => {
    expect(await judge('mail.acme.example')).toMatchObject({ id: 'return-path', status: 'ok' })
    door = shared
  })

  test('the self-check reports the reason when it fails', async () => {
    expect(await judge('mail.elsewhere.example')).toMatchObject({
      status: 'failed',
      found: expect.stringMatching(/^Port 25 refuses mail to postmaster@\S+: "554 5\.7\.1 Relay/) as string,
    })
    expect(await probePublicMx({ starttls: ['127.0.0.1:587'] }, 'mail.acme.example')).toEqual({
      kind: 'none',
    })
    expect(await probePublicMx({ starttls: ['127.0.0.1:0'] }, 'mail.acme.example')).toEqual({
      kind: 'silent',
    })
    door = shared
  })
})

describe('mail to postmaster', () => {
  const box = async () => (await door.storage.listPostmaster({ limit: 100 }, door.clock.now())).items
  const MAIL = ['> MAIL FROM:<ada@customer.example>', '< 250 …', ...to('abuse@send.acme.example')]

  test('mail to postmaster is stored and not forwarded if no forwarding address is configured', async () => {
    await open()
    await talk(...HELLO, ...MAIL, ...data(report('On fire.'), RECEIVED))
    const [message] = await box()
    expect(message).toMatchObject({
      mailFrom: 'ada@customer.example',
      rcptTo: 'abuse@send.acme.example',
      forwarding: { state: 'off' },
    })
    const bytes = await door.storage.getPostmaster({ id: message!.id }, door.clock.now())
    expect(Buffer.from(bytes!).toString()).toContain('On fire.')
    expect(door.notices).toEqual([])
  })

  test('mail to postmaster is forwarded with the original attached', async () => {
    await open({ postmaster: 'ops@example.net' })
    await talk(...HELLO, ...MAIL, ...data(report('On fire.'), RECEIVED))
    await expect.poll(async () => (await box()).map(({ forwarding }) => forwarding.state)).toEqual(['done'])
    const [notice] = door.notices
    expect(notice).toMatchObject({
      kind: 'postmaster',
      to: 'ops@example.net',
      subject: 'Mail for abuse@send.acme.example',
      headers: [{ name: 'X-Posthaste-Postmaster', value: 'mail.acme.example' }],
      attachment: { contentType: 'message/rfc822' },
    })
    expect(Buffer.from(notice!.attachment!.content).toString()).toContain('On fire.')
  })

  test('mail to postmaster is not forwarded again if this server forwarded it before', async () => {
    await open({ postmaster: 'ops@example.net' })
    const own = ['Subject: Fwd', '', '> x-posthaste-postmaster: Mail.ACME.example', '', 'On fire.']
    await talk(...HELLO, ...MAIL, ...data(own, RECEIVED))
    await expect
      .poll(async () => (await box()).map(({ forwarding }) => forwarding))
      .toEqual([{ state: 'skipped', reason: 'this server already forwarded it, so this is a mail loop' }])
    expect(door.notices).toEqual([])
  })

  test('mail to postmaster is forwarded at most 20 times an hour', async () => {
    const config = { proxyProtocolFrom: parseNetworks(['127.0.0.0/8']) }
    door = await startDoor({ postmaster: 'ops@example.net', config })
    for (const host of [1, 2, 3]) {
      const ten = Array.from({ length: 10 }, () => [...MAIL, ...data(report(), RECEIVED)]).flat()
      const lines = [`> PROXY TCP4 192.0.2.${host} 127.0.0.1 1234 25`, '< 220 …', ...HELLO, ...ten]
      const [dialog] = readDialogs(['=== a conversation behind a balancer @relay', ...lines].join('\n'))
      expect(await play(dialog!, door)).toBeNull()
    }
    const states = async () => (await box()).map(({ forwarding }) => forwarding.state).toReversed()
    const expected = Array.from({ length: 30 }, (_, at) => (at < 20 ? 'done' : 'skipped'))
    await expect.poll(states).toEqual(expected)
    expect(door.notices).toHaveLength(20)
  })
})
