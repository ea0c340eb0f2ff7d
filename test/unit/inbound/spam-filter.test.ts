import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createSpamFilter } from '../../../appliance/inbound/spam-filter.ts'
import { pingSpamFilter, evaluateSpamFilter } from '../../../appliance/insights/spam-filter.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

/** What the fake rspamd answers: a body with its status; null: nothing. */
let answer: { status: number; body: string } | null
let asked: { url: string; headers: IncomingHttpHeaders; body: string }[] = []
let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url = '', headers } = request
      asked.push({ url, headers, body: Buffer.concat(chunks).toString('latin1') })
      if (answer) response.writeHead(answer.status).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  asked = []
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function open(change: { unavailable?: 'accept' | 'defer'; url?: string } = {}) {
  const counted: string[] = []
  const clock = createTestClock()
  const count = (result: string) => void counted.push(result)
  const resolver = {
    resolve: (name: string, type: string) => {
      const found = DNS[`${name} ${type}`]
      const records = { kind: 'found', records: found, ttl: 60, authentic: false }
      const none = { kind: 'absent', why: 'nxdomain', ttl: 60, authentic: false }
      return Promise.resolve((found ? records : none) as never)
    },
  }
  const deps = {
    resolver,
    url,
    unavailable: 'accept' as const,
    clock,
    log: createSilentLogger(),
    count,
    ...change,
  }
  return { counted, clock, filter: createSpamFilter(deps) }
}

/** Reverse DNS of the clients: the second has a name that doesn't resolve to it. */
const DNS: Record<string, string[]> = {
  '7.2.0.192.in-addr.arpa PTR': ['mx.x.example'],
  'mx.x.example A': ['192.0.2.7'],
  '8.2.0.192.in-addr.arpa PTR': ['mx.x.example'],
}

const MESSAGE = {
  bytes: Buffer.from('Subject: x\r\n\r\n\xe4\r\n', 'latin1'),
  mailFrom: 'jörg@x.example',
  ip: '192.0.2.7',
  helo: 'mx.x.example',
  recipients: [{ address: 'a@in.example' }, { address: 'b@in.example' }],
}
const says = (action: string, more: object = {}) => ({
  status: 200,
  body: JSON.stringify({ action, score: 7.5, required_score: 15, ...more }),
})

test('rspamd receives the message unchanged, with its envelope', async () => {
  answer = says('no action')
  await open().filter.judge(MESSAGE)
  expect(asked).toHaveLength(1)
  const [{ url: path, headers, body }] = asked as [(typeof asked)[0]]
  expect([path, body]).toEqual(['/checkv2', 'Subject: x\r\n\r\n\xe4\r\n'])
  expect(headers).toMatchObject({ ip: '192.0.2.7', helo: 'mx.x.example', rcpt: 'a@in.example, b@in.example' })
  expect(headers.hostname).toBe('mx.x.example')
  expect(Buffer.from(headers.from!, 'latin1').toString()).toBe('jörg@x.example')
  await open().filter.judge({ ...MESSAGE, ip: '192.0.2.8' })
  expect(asked[1]!.headers.hostname).toBe('unknown')
})

test.each([
  ['no action', false, 'clear'],
  ['greylist', false, 'clear'],
  ['add header', true, 'flagged'],
  ['rewrite subject', true, 'flagged'],
])('accepts the message if rspamd answers "%s"', async (action, flagged, result) => {
  const symbols = { LIGHT: { score: 0.1 }, NOTE: { score: 0 }, HEAVY: { score: 8 }, GOOD: { score: -0.6 } }
  answer = says(action, { symbols })
  const { filter, counted } = open()
  expect(await filter.judge(MESSAGE)).toEqual({
    flagged,
    score: 7.5,
    rejectScore: 15,
    symbols: ['HEAVY', 'GOOD', 'LIGHT'],
  })
  expect(counted).toEqual([result])
})

test.each([
  ['reject', 'inbound_spam', 'rejected'],
  ['soft reject', 'inbound_later', 'deferred'],
])('rejects the message if rspamd answers "%s": %s', async (action, key, result) => {
  answer = says(action)
  const { filter, counted } = open()
  await expect(filter.judge(MESSAGE)).rejects.toMatchObject({ key })
  expect(counted).toEqual([result])
})

test.each([
  ['an error', { status: 500, body: '{}' }],
  ['a redirect', { status: 302, body: '' }],
  ['invalid JSON', { status: 200, body: 'pong' }],
  ['no action', { status: 200, body: '{"score":1,"required_score":2}' }],
  ['null', { status: 200, body: 'null' }],
  ['more than a megabyte', { status: 200, body: ' '.repeat(1024 * 1024 + 1) }],
])(
  'if rspamd answers with %s, mail is accepted without a verdict, or deferred if so configured',
  async (_, broken) => {
    answer = broken
    const { filter, counted } = open()
    expect(await filter.judge(MESSAGE)).toBeNull()
    expect(counted).toEqual(['failed'])
    await expect(open({ unavailable: 'defer' }).filter.judge(MESSAGE)).rejects.toMatchObject({
      key: 'inbound_unjudged',
    })
  },
)

test('a filter that does not answer times out after ten seconds', async () => {
  answer = null
  const { filter, clock, counted } = open()
  const judged = filter.judge(MESSAGE)
  await expect.poll(() => asked.length).toBe(1)
  await clock.advance(10_000)
  expect(await judged).toBeNull()
  expect(counted).toEqual(['failed'])
})

test('doctor reports whether rspamd answers, and how mail is handled if not', async () => {
  const judge = async (at: string, unavailable: 'accept' | 'defer') =>
    evaluateSpamFilter(await pingSpamFilter(at), { url: at, unavailable })
  answer = { status: 200, body: 'pong\r\n' }
  expect(await judge(url, 'accept')).toMatchObject({ status: 'ok', found: `rspamd at ${url} answers.` })
  answer = { status: 404, body: 'no' }
  expect(await judge(url, 'accept')).toMatchObject({
    status: 'warning',
    found: `rspamd at ${url} answers with status 404, so it is not rspamd. Received mail is accepted without a verdict.`,
  })
  const unused = createServer().listen(0, '127.0.0.1')
  await once(unused, 'listening')
  const closed = `http://127.0.0.1:${(unused.address() as AddressInfo).port}`
  unused.close()
  await once(unused, 'close')
  expect(await judge(closed, 'defer')).toMatchObject({
    status: 'failed',
    found: `rspamd at ${closed} can't be reached (ECONNREFUSED). Mail to receiving domains is refused temporarily.`,
  })
})
