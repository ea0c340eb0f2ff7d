import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawChart, computeTicks } from '../../../appliance/simulation/chart.ts'
import { checkLimits, compareStories, mostInAMinute } from '../../world/simulation/check.ts'
import { PERSONALITIES } from '../../world/simulation/personalities.ts'
import { planCampaign } from '../../world/simulation/plan.ts'
import { startReceivers, type Receivers } from '../../world/simulation/receivers.ts'
import type { Answer, Connection } from '../../world/simulation/record.ts'
import { greylist, mostTransactions, rate } from '../../world/simulation/rules.ts'
import type { Moment } from '../../world/simulation/personality.ts'
import type { Outcome } from '../../world/simulation/simulation.ts'
import { SharedTime, Timers } from '../../world/simulation/time.ts'
import { PATIENCE } from '../../world/patience.ts'

const MINUTE = 60_000

describe('timers of an adjustable clock', () => {
  test('timers fire in order of their due times, and in the order they were set if due at the same time', () => {
    let now = 0
    const timers = new Timers(() => now)
    const fired: string[] = []
    for (const [name, ms] of [
      ['c', 3_000_000],
      ['a', 1_000_000],
      ['b1', 2_000_000],
      ['b2', 2_000_000],
      ['later', 9_000_000],
    ] as const)
      timers.after(ms, () => fired.push(name))
    timers.after(1_500_000, () => fired.push('taken back'))()
    expect(timers.nextDue).toBe(1_000_000)
    now = 3_000_000
    timers.fire()
    expect(fired).toEqual(['a', 'b1', 'b2', 'c'])
    expect(timers.nextDue).toBe(9_000_000)
  })

  test('a canceled timer does not count as due next', () => {
    const timers = new Timers(() => 0)
    timers.after(5, () => undefined)()
    expect(timers.nextDue).toBe(Infinity)
  })

  test('threads that share the buffer share the time', () => {
    const time = new SharedTime()
    const other = new SharedTime(time.buffer)
    time.skip(30 * 86_400_000)
    expect(other.now() - Date.now()).toBeGreaterThanOrEqual(30 * 86_400_000 - 5)
    other.receiversDue = 17.2
    expect(time.receiversDue).toBe(18)
    other.receiversDue = Infinity
    expect(time.receiversDue).toBe(Infinity)
  })
})

const moment = (change: Partial<Moment>): Moment => ({
  at: 'mail',
  now: 0,
  ip: '127.1.1.1',
  line: '',
  recipient: '',
  recipients: [],
  abreast: 1,
  transactions: 1,
  encrypted: false,
  signed: true,
  ...change,
})

describe('rules of simulated receivers', () => {
  test('a rate rule counts each source separately, and resets after a minute', () => {
    const rule = rate({ perMinute: 2, reply: '451 slow' })
    const acts = [0, 1, 2, 30_000, MINUTE].map((now) => rule(moment({ now })) !== undefined)
    expect(acts).toEqual([false, false, true, true, false])
    expect(rule(moment({ now: 2, ip: '127.1.1.2' }))).toBeUndefined()
  })

  test('a penalty lasts longer than the minute, and a growing rate doubles after a day', () => {
    const rule = rate({ perMinute: 1, growth: 2, penalty: 10 * MINUTE, reply: '451 slow' })
    const at = (now: number) => rule(moment({ now })) !== undefined
    expect([at(0), at(1), at(5 * MINUTE), at(10 * MINUTE + 1)]).toEqual([false, true, true, false])
    const tomorrow = 1441 * MINUTE
    expect([at(tomorrow), at(tomorrow + 1), at(tomorrow + 2)]).toEqual([false, false, true])
  })

  test('greylisting accepts a recipient that is retried after the wait', () => {
    const rule = greylist({ wait: MINUTE, reply: '450 later' })
    const at = (now: number, recipient = 'a@x.test') =>
      rule(moment({ at: 'rcpt', now, recipient })) !== undefined
    expect([at(0), at(59_999), at(MINUTE), at(MINUTE, 'b@x.test')]).toEqual([true, true, false, true])
  })

  test('rejects a transaction beyond the maximum', () => {
    const rule = mostTransactions(5, '421 enough')
    expect(rule(moment({ transactions: 5 }))).toBeUndefined()
    expect(rule(moment({ transactions: 6 }))).toEqual({ say: '421 enough', then: 'close' })
  })
})

describe('simulated receivers', () => {
  let receivers: Receivers
  beforeAll(async () => {
    receivers = await startReceivers(new SharedTime())
  })
  afterAll(() => receivers.close())

  const dial = (host: string): Promise<Client> => {
    const { A } = receivers.zone[host] as { A: string }
    const socket = connect({ host: A, port: receivers.port })
    return new Promise((resolve) => socket.once('connect', () => resolve(new Client(socket))))
  }

  test('a receiver accepts a pipelined message, and records it', async () => {
    const client = await dial('mx.plain.test')
    expect(await client.until('220 mx.plain.test ESMTP\r\n')).toBeTruthy()
    client.say('EHLO client.test')
    await client.until('250 ENHANCEDSTATUSCODES\r\n')
    client.say(
      'MAIL FROM:<a@b.test>',
      'RCPT TO:<r1-ok@plain.test>',
      'RCPT TO:<r2-unknown@plain.test>',
      'DATA',
    )
    await client.until('354 End data with <CR><LF>.<CR><LF>\r\n')
    expect(client.heard).toContain(
      '250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n550 5.1.1 <r2-unknown@plain.test>: Recipient address rejected: User unknown\r\n354',
    )
    client.say('Subject: x', '', 'text', '.', 'QUIT')
    await client.until('221 2.0.0 Bye\r\n')
    const { answers } = await receivers.records()
    expect(answers.map(({ recipient, verdict, code }) => [recipient, verdict, code])).toEqual([
      ['r2-unknown@plain.test', 'refused', 550],
      ['r1-ok@plain.test', 'said', 250],
    ])
  })

  test('a receiver counts concurrent connections, without those that sent QUIT', async () => {
    for (let n = 0; n < 3; n++) {
      const client = await dial('mx.one-at-a-time.test')
      await client.until('220 mx.one-at-a-time.test ESMTP\r\n')
      client.say('QUIT')
      await client.until('221 2.0.0 Bye\r\n')
    }
    const first = await dial('mx.one-at-a-time.test')
    await first.until('220 mx.one-at-a-time.test ESMTP\r\n')
    const second = await dial('mx.one-at-a-time.test')
    await second.until('421 4.7.0 Too many concurrent SMTP connections\r\n')
    first.end()
    const { connections } = await receivers.records()
    const seen = connections.filter(({ personality }) => personality === 'one-at-a-time')
    expect(seen.map(({ abreast }) => abreast)).toEqual([1, 1, 1, 1, 2])
  })

  test('a receiver distinguishes a large ClientHello from a small one', async () => {
    const handshake = async (groups: string): Promise<string> => {
      const client = await dial('mx.tls-small-hello.test')
      await client.until('220 mx.tls-small-hello.test ESMTP\r\n')
      client.say('STARTTLS')
      await client.until('220 2.0.0 Ready to start TLS\r\n')
      return client.secure(groups)
    }
    expect(await handshake('X25519')).toBe('TLSv1.3')
    expect(await handshake('X25519MLKEM768:X25519')).toBe('ECONNRESET')
  })
})

/** A client that sends lines and waits for replies. */
class Client {
  readonly #socket: Socket
  heard = ''
  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => (this.heard += chunk.toString()))
    socket.on('error', () => undefined)
  }
  say(...lines: string[]): void {
    this.#socket.write(lines.map((line) => `${line}\r\n`).join(''))
  }
  end(): void {
    this.#socket.destroy()
  }
  async until(end: string): Promise<string> {
    const late = Date.now() + PATIENCE
    while (!this.heard.endsWith(end)) {
      if (Date.now() > late) throw new Error(`heard ${JSON.stringify(this.heard)}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return this.heard
  }
  secure(ecdhCurve: string): Promise<string> {
    this.#socket.removeAllListeners('data')
    return new Promise((resolve) => {
      const secure = connectTls({ socket: this.#socket, rejectUnauthorized: false, ecdhCurve })
      secure.once('secureConnect', () => {
        resolve(secure.getProtocol()!)
        secure.destroy()
      })
      secure.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    })
  }
}

describe('planned campaigns', () => {
  test('a plan is the same for the same seed, and has mail for every personality', () => {
    const plan = planCampaign(500, 7)
    expect(planCampaign(500, 7).emails).toEqual(plan.emails)
    expect(planCampaign(500, 8).emails).not.toEqual(plan.emails)
    expect(plan.deliveries.size).toBe(500)
    expect(plan.emails.reduce((sum, { to }) => sum + to.length, 0)).toBe(500)
    const names = new Set([...plan.deliveries.values()].map(({ personality }) => personality.name))
    expect(names.size).toBe(PERSONALITIES.length)
  })
})

describe('checks of a simulation', () => {
  const plan = planCampaign(100, 1)
  const [recipient] = [...plan.deliveries.values()]
    .filter(({ personality, mailbox }) => personality.name === 'plain' && mailbox === 'ok')
    .map((one) => one.recipient) as [string]
  const only = { emails: [], deliveries: new Map([[recipient, plan.deliveries.get(recipient)!]]) }
  const outcome = (state: string): Outcome => ({
    recipient,
    state,
    attempts: 1,
    createdAt: 0,
    updatedAt: 0,
    cause: '{}',
  })
  const answer = (verdict: Answer['verdict']): Answer => ({
    at: 0,
    personality: 'plain',
    connection: 0,
    recipient,
    verdict,
    code: 250,
  })
  const compare = (states: string[], verdicts: Answer['verdict'][]) =>
    compareStories(only, states.map(outcome), { answers: verdicts.map(answer), connections: [] })

  test('the checks pass if a message was accepted once and counts as delivered', () => {
    expect(compare(['delivered'], ['deferred', 'said'])).toEqual([])
  })

  test('the checks report lost, unreported, invented, duplicate and unfinished deliveries', () => {
    expect(compare([], [])).toEqual([`${recipient} is not in the spool`])
    expect(compare(['delivered'], [])).toEqual([
      `${recipient} counts as delivered, its receiver never said so`,
    ])
    expect(compare(['delivered'], ['said', 'said'])).toEqual([
      `${recipient} was taken 2 times, each time in words`,
    ])
    expect(compare(['waiting'], [])).toEqual([`${recipient} ended as waiting, not delivered`])
    expect(compare(['bounced'], ['said'])).toEqual([
      `${recipient} ended as bounced, not delivered`,
      `${recipient} was taken, and ended as bounced`,
    ])
    expect(compare(['delivered'], ['unsaid', 'said'])).toEqual([
      `${recipient} was taken without a word by plain`,
    ])
  })

  const connection = (change: Partial<Connection>): Connection => ({
    id: 0,
    personality: 'plain',
    host: 'mx.plain.test',
    ip: '127.1.1.1',
    openedAt: 0,
    closedAt: 0,
    abreast: 1,
    transactions: [],
    encrypted: false,
    ...change,
  })

  test('the maximum per minute is over any 60 seconds', () => {
    expect(
      mostInAMinute([
        connection({ transactions: [0, 50_000] }),
        connection({ transactions: [59_999, 60_000, 109_999] }),
      ]),
    ).toBe(4)
    expect(mostInAMinute([])).toBe(0)
  })

  test('the checks report a lane that exceeds its limits', () => {
    const limits = { connections: 2, messagesPerConnection: 3, messagesPerMinute: 4 }
    const connections = [
      connection({ abreast: 3 }),
      connection({ id: 1, transactions: [1, 2, 3, 4] }),
      connection({ id: 2, transactions: [5] }),
      connection({ id: 3, ip: '127.1.1.2', transactions: [6] }),
    ]
    expect(checkLimits({ answers: [], connections }, () => limits)).toEqual([
      '127.1.1.1 had 3 connections to plain, its lane has 2',
      'connection 1 to plain carried 4 messages, its lane allows 3',
      '127.1.1.1 sent 5 messages to plain within a minute, its lane allows 4',
    ])
    expect(checkLimits({ answers: [], connections }, () => undefined)).toEqual([])
  })
})

describe('charts', () => {
  test('the ticks of a chart are round numbers that cover all values', () => {
    expect(computeTicks(0, 47)).toEqual([0, 10, 20, 30, 40, 50])
    expect(computeTicks(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
    expect(computeTicks(3, 12)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  test('a chart is a single SVG with its names escaped', () => {
    const svg = drawChart({
      title: 'A < B',
      caption: 'counted',
      x: 'day',
      y: 'messages',
      series: [
        {
          name: '"plan"',
          style: 'dashed',
          points: [
            { x: 1, y: 50 },
            { x: 2, y: 100 },
          ],
        },
      ],
    })
    expect(svg).toMatch(/^<svg [^]*<\/svg>\n$/)
    expect(svg).toContain('A &lt; B')
    expect(svg).toContain('&quot;plan&quot;')
    expect(svg).not.toContain('NaN')
  })
})
