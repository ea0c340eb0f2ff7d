import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { testCapacity } from '../world/capacity.ts'
import { longestTurn, speak } from '../world/loop.ts'
import { makeTeam } from '../contract/fixtures.ts'
import { ask, startApi, type Api } from '../unit/http/harness.ts'

const MB = 1024 * 1024
const LIMIT = 40 * MB

let api: Api
const sockets: Socket[] = []
beforeEach(async () => {
  api = await startApi({ messageBytes: LIMIT })
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await api.close()
})

/** Opens a client that never closes its side. */
async function open(said = ''): Promise<Socket> {
  const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  if (said !== '') socket.write(said)
  return socket
}

const post = (path: string, key: string | null, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: mail.acme.example',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    '',
    '',
  ].join('\r\n')

const email = (more: object) => ({
  from: 'hello@acme.example',
  to: 'ada@customer.example',
  subject: 'Hello',
  text: 'Hello',
  ...more,
})

describe("connections that the client doesn't close", () => {
  test('finding 1: the server closes the socket after a malformed request', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => open('NONSENSE\r\n\r\n')))
    await Promise.all(all.map((socket) => once(socket.resume(), 'end')))
    await expect.poll(() => api.capacity.figures().connections.http.open).toBe(0)
  })

  test('a client that half-closes its connection without sending anything leaves no socket open', async () => {
    const socket = await open()
    socket.resume().end()
    await once(socket, 'end')
    await expect.poll(() => api.capacity.figures().connections.http.open).toBe(0)
  })

  test('clients that disconnect at once leave no sockets open', async () => {
    for (let count = 0; count < 40; count++) (await open()).destroy()
    await expect.poll(() => api.capacity.figures().connections.http.open, { timeout: 2000 }).toBe(0)
    // Half of them disconnect before the server reads their data.
    for (let count = 0; count < 40; count++) {
      const socket = await open()
      socket.write('GET / HTTP/1.1\r\n')
      if (count % 2 === 0) socket.destroy()
      else socket.end()
    }
    await expect.poll(() => api.capacity.figures().connections.http.open, { timeout: 2000 }).toBe(0)
  })

  test('finding 8: an unknown address gets 429 over its limit, and a higher limit after using a key', async () => {
    await api.close()
    const limits = { total: 10, perAddress: 10, perStranger: 4 }
    api = await startApi({ messageBytes: LIMIT, capacity: { http: limits } })
    for (let count = 0; count < 4; count++) await open()
    const refused = await open()
    expect(String((await once(refused, 'data'))[0])).toMatch(
      /^HTTP\/1\.1 429 Refused\r\n[^]*Too many connections from your address\./,
    )
    await once(refused, 'end')
    for (const socket of sockets.splice(0)) socket.destroy()
    await expect.poll(() => api.capacity.figures().connections.http.open).toBe(0)
    // A valid key from this address raises its limits from now on.
    expect((await api.call('GET', '/domains')).status).toBe(200)
    for (let count = 0; count < 6; count++) await open()
    expect((await api.call('GET', '/domains')).status).toBe(200)
  })
})

describe('pipelined requests', () => {
  const request = 'GET /openapi.json HTTP/1.1\r\nHost: mail.acme.example\r\n\r\n'

  test('pipelined requests are answered in order', async () => {
    const last = 'GET /domains HTTP/1.1\r\nHost: mail.acme.example\r\nConnection: close\r\n\r\n'
    const socket = await open(request.repeat(20) + last)
    let heard = ''
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
    await once(socket, 'end')
    const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
    expect(statuses).toEqual([...Array<string>(20).fill('200'), '401'])
  })

  test('too many pipelined requests close the connection', async () => {
    const socket = await open(request.repeat(500))
    await Promise.race([once(socket.resume(), 'end'), once(socket, 'close')])
    await expect.poll(() => api.capacity.figures().connections.http.open).toBe(0)
  })
})

describe('requests without a valid key', () => {
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: mail.acme.example\r\n${more}\r\n`
  /** Uses up this address's budget without a key, twice over. */
  const spend = () => api.capacity.budgets.charge('127.0.0.1', 1000 * MB)
  /** Returns what is received until the server closes the connection, while time passes. */
  const end = async (socket: Socket): Promise<string> => {
    let [heard, over] = ['', false]
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
    const ended = once(socket, 'end').then(() => (over = true))
    while (!over) {
      await api.clock.advance(100)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5))])
    }
    return heard
  }

  test.each([
    ['requests without a key', get('/emails').repeat(20)],
    ['requests with a wrong key', get('/emails', 'Authorization: Bearer re_wrong\r\n').repeat(20)],
    ['requests for an unknown path', get('/nothing').repeat(20)],
    ['requests for a static file', get('/openapi.json').repeat(20)],
    ['sign-in requests', `${post('/session', null, 2)}{}`.repeat(20)],
  ])('finding 14: %s over the budget get one 429, and the connection is closed', async (_what, requests) => {
    spend()
    const heard = await end(await open(requests))
    expect(heard).toMatch(/^HTTP\/1\.1 429 [^]*\r\nconnection: close\r\nretry-after: \d+\r\n/i)
    expect(heard).toMatch(/"statusCode":429,.*without a valid API key.*"name":"rate_limit_exceeded"\}$/)
    // Only one response, not one for each pipelined request.
    expect(heard.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(api.capacity.figures().budgets.refused).toBe(1)
  })

  test.each([
    ['an oversized header', `GET / HTTP/1.1\r\nX-A: ${'b'.repeat(100_000)}`, 431],
    ['data that is not HTTP', 'NONSENSE\r\n\r\n'.repeat(5000), 400],
  ])('finding 14: %s counts against the budget of the address', async (_what, said, status) => {
    expect(String((await once(await open(said), 'data'))[0])).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    spend()
    expect(await end(await open(said))).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(api.capacity.figures().budgets.refused).toBe(1)
  })

  test("finding 14: a used-up budget doesn't block requests with a key, or health checks", async () => {
    spend()
    const answered = async (said: string) => String((await once(await open(said), 'data'))[0])
    expect(await answered(get('/healthz'))).toMatch(/^HTTP\/1\.1 200 /)
    for (let count = 0; count < 3; count++) expect((await api.call('GET', '/domains')).status).toBe(200)
    // A valid key was used from here, so the address may make more requests.
    expect(await answered(get('/emails'))).toMatch(/^HTTP\/1\.1 401 /)
  })

  test("finding 14: behind a proxy, one client over budget doesn't close the connection of the others", async () => {
    await api.close()
    api = await startApi({ messageBytes: LIMIT, trustProxy: ['127.0.0.1'] })
    api.capacity.budgets.charge('192.0.2.7', 1000 * MB)
    const of = (ip: string) => get('/emails', `X-Forwarded-For: ${ip}\r\n`)
    const socket = await open(of('192.0.2.7') + of('192.0.2.8'))
    let heard = ''
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')))
    await expect
      .poll(() => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, s]) => s))
      .toEqual(['429', '401'])
  })

  test("finding 15: generating /openapi.json doesn't block the event loop", async () => {
    const longest = await longestTurn(async () => {
      expect((await api.call('GET', '/openapi.json')).status).toBe(200)
    })
    expect(longest).toBeLessThan(50)
  })

  test("finding 15: large responses that clients don't read don't block the event loop", async () => {
    const longest = await longestTurn(async () => {
      const deaf = []
      for (let count = 0; count < 200; count++) deaf.push((await open()).pause())
      for (const socket of deaf) socket.write(get('/openapi.json').repeat(5))
      const { refused } = api.capacity.figures().budgets
      await expect.poll(() => api.capacity.figures().budgets.refused).toBeGreaterThanOrEqual(refused + 100)
      await api.clock.advance(2000)
      for (const socket of deaf) socket.destroy()
      await expect.poll(() => api.capacity.figures().connections.http.open).toBe(0)
    })
    expect(longest).toBeLessThan(50)
  })
})

test('finding 16: 60 concurrent audit exports complete without blocking the event loop', async () => {
  const now = (): number => api.clock.now()
  const who = { actor: 'x', actorKind: 'user', actorName: null, ip: null } as const
  const what = { action: 'domain.update', target: 'domain 1', targetName: null } as const
  const about = { ...who, ...what, teamId: api.teamId, at: now(), before: null, after: null, details: {} }
  const entries = Array.from({ length: 1000 }, () => ({ ...about, id: newId(now()) }))
  await Promise.all(entries.map((entry) => api.storage.appendAudit({ entry }, now())))
  const longest = await longestTurn(async () => {
    const rows = Array.from({ length: 60 }, async () => {
      const socket = await open(
        `GET /audit/export HTTP/1.1\r\nHost: mail.acme.example\r\nAuthorization: Bearer ${api.full}\r\n\r\n`,
      )
      let [count, end] = [0, '']
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        count += chunk.toString('latin1').split('domain.update').length - 1
        end = (end + chunk.toString('latin1')).slice(-5)
        if (end === '0\r\n\r\n') break
      }
      return count
    })
    for (const count of await Promise.all(rows)) expect(count).toBeGreaterThan(990)
  })
  expect(longest).toBeLessThan(50)
})

describe('unfinished request bodies', () => {
  test("finding 2: unfinished bodies from strangers or one key don't keep others from sending and signing in", async () => {
    const strangers = Array.from({ length: 200 }, () => open(`${post('/session', null, 16_000)}{"email":"`))
    const greedy = Array.from({ length: 5 }, () => open(`${post('/emails', api.sending, LIMIT)}{"html":"`))
    const unfinished = await Promise.all([...strangers, ...greedy])
    for (const socket of unfinished.slice(200)) socket.write(Buffer.alloc(2 * MB, 'x'))
    await expect.poll(() => api.capacity.figures().octets.disk.used).toBeGreaterThan(5 * MB)

    const file = { filename: 'a.bin', content: Buffer.alloc(1.5 * MB).toString('base64') }
    const sent = await api.call('POST', '/emails', email({ attachments: [file] }))
    expect(sent.status).toBe(200)
    const signIn = { email: 'nobody@acme.example', password: 'wrong' }
    const browser = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
    expect((await ask(`${api.url}/session`, 'POST', signIn, browser)).text).toMatch(/password/)

    // All of them are closed, and their memory is freed.
    const heard = unfinished.map(async (socket) => String((await once(socket, 'data'))[0]))
    for (let second = 0; second < 40; second++) await api.clock.advance(1000)
    // The budget of an address without a key doesn't allow so many sign-ins.
    for (const answer of await Promise.all(heard)) expect(answer).toMatch(/^HTTP\/1\.1 4(08|29) /)
    await expect
      .poll(() => api.capacity.figures().octets)
      .toMatchObject({
        memory: { used: 0 },
        disk: { used: 0 },
        reading: { used: 0 },
      })
    await expect.poll(() => api.capacity.figures().connections.http.open).toBeLessThan(3)
  })

  test('finding 2: unfinished bodies from a team over its share are rejected with 429', async () => {
    const small = { messageBytes: MB }
    await api.close()
    api = await startApi({ messageBytes: LIMIT, capacity: small })
    const greedy = await Promise.all(
      Array.from({ length: 20 }, () => open(`${post('/emails', api.sending, LIMIT)}{"html":"`)),
    )
    for (const socket of greedy) socket.write(Buffer.alloc(MB, 'x'))
    const answers = await Promise.race(greedy.map(async (socket) => String((await once(socket, 'data'))[0])))
    expect(answers).toMatch(/^HTTP\/1\.1 429 [^]*You are sending too many large messages at once\./)
    const { disk } = api.capacity.figures().octets
    expect(disk.used).toBeLessThanOrEqual(16 * MB)
  })
})

describe('request bodies that are expensive to parse', () => {
  const port = () => Number(new URL(api.url).port)
  const say = (piece: string, times: number, [head, tail]: [string, string] = ['', '']) => {
    const length = head.length + piece.length * times + tail.length
    const before = post('/emails', api.sending, length) + head
    return speak({ port: port(), before, piece, times, after: tail }, /\r\n\r\n[^]*\}$/)
  }

  test('finding 3: a body in one-byte chunks is rejected before it ends, and the connection is closed', async () => {
    const socket = await open()
    let said = ''
    socket.on('error', () => undefined).on('data', (octets) => (said += String(octets)))
    socket.once('end', () => socket.destroy())
    socket.write(
      [
        'POST /emails HTTP/1.1\r\nHost: mail.acme.example\r\nContent-Type: application/json',
        `Authorization: Bearer ${api.full}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      ].join('\r\n'),
    )
    const block = '1;a=b\r\n \r\n'.repeat(1100)
    socket.write(block)
    await expect.poll(() => said).toMatch(/^HTTP\/1\.1 422 [^]*chunks of at least 16 bytes on average/)
    socket.write(block)
    await expect.poll(() => api.clock.advance(100).then(() => socket.closed)).toBe(true)
  })

  test("finding 3: ten concurrent bodies in one-byte chunks don't block the event loop", async () => {
    const chunked = `POST /emails HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.full}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const longest = await longestTurn(async () => {
      const said = Array.from({ length: 10 }, () =>
        speak(
          // White space, which no other rule refuses, however much of it the first packet brings.
          { port: port(), before: chunked, piece: '1;a=b\r\n \r\n', times: MB, after: '' },
          /\r\n\r\n[^]*\}$/,
        ),
      )
      for (const heard of await Promise.all(said))
        expect(heard).toMatch(/^HTTP\/1\.1 422 [^]*chunks of at least/)
    })
    expect(longest).toBeLessThan(50)
  })

  test.each([
    ['40 MB of brackets', '[', LIMIT, ['', '']],
    ['14 million objects', '{},', 13 * MB, ['[', '{}]']],
    ['30 MB of header names', '"x-a":"b",', 3 * MB, ['{"headers":{', '"z":""}}']],
  ] as const)(
    'finding 3: %s are rejected as too complex without blocking the event loop',
    async (_name, piece, times, ends) => {
      const longest = await longestTurn(async () => {
        const answers = await Promise.all([1, 2, 3].map(() => say(piece, times, [...ends])))
        for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 422 [^]*body is too complex/)
      })
      expect(longest).toBeLessThan(50)
    },
  )

  test.each([
    ['a 30 MB file in base64', 'AAAA', 7 * MB, ['"attachments":[{"filename":"a","content":"', '"}]']],
    ['a file as an array of numbers', '1,', 19 * MB, ['"attachments":[{"filename":"a","content":[', '1]}]']],
    ['invalid base64', '~AAA', 9 * MB, ['"attachments":[{"filename":"a","content":"', '"}]']],
    ['39 MB of text', 'Hello Ada ', 3.9 * MB, ['"text":"', '"']],
    ['39 MB of HTML', '<p>Hello</p>', 3 * MB, ['"html":"', '"']],
    ['39 MB of Unicode escapes', String.raw`\u00e9`, 6 * MB, ['"text":"', '"']],
  ] as const)("finding 4: %s doesn't block the event loop", async (_name, piece, times, [head, tail]) => {
    const start = `{"from":"hello@acme.example","to":"ada@customer.example","subject":"x",${head}`
    const longest = await longestTurn(async () => {
      const answer = await say(piece, Math.floor(times), [start, `${tail}}`])
      expect(answer).toMatch(/^HTTP\/1\.1 (200|422) /)
    })
    expect(longest).toBeLessThan(50)
  })
})

test.each([
  ['8 MB of commas in one line', ','.repeat(8_000_000)],
  ['one quoted cell of 8 MB', `"${'a""\n'.repeat(2_000_000)}"`],
  ['90,000 lines without an address', 'nobody,at,all\n'.repeat(90_000)],
])("finding 4: importing suppressions from %s doesn't block the event loop", async (_name, csv) => {
  const body = JSON.stringify({ csv })
  const before = `${post('/suppressions/import', api.full, Buffer.byteLength(body))}${body}`
  const longest = await longestTurn(async () => {
    const speech = { port: Number(new URL(api.url).port), before, piece: '', times: 0, after: '' }
    expect(await speak(speech, /\r\n\r\n[^]*\}$/)).toMatch(/^HTTP\/1\.1 (200|422) /)
  })
  expect(longest).toBeLessThan(50)
})

test('finding 1: connection limits are derived from the file descriptor limit of the process', () => {
  const { http, smtp } = testCapacity(api.clock, api.dataDir, { descriptors: 1000 }).figures().connections
  expect([http.limit, smtp.limit]).toEqual([300, 300])
})

test('finding 12: a team is limited to 125 live streams, and other teams can still open one', async () => {
  const stop = new AbortController()
  const listen = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${api.url}/live`, { headers, signal: stop.signal })
    return status
  }
  const { team } = await makeTeam(api.storage)
  const other = { teamId: team.id, name: 'other', permission: 'full_access' } as const
  const { token } = await api.senders.createKey(other)
  try {
    const first = await Promise.all(Array.from({ length: 125 }, () => listen(api.full)))
    expect(new Set(first)).toEqual(new Set([200]))
    expect(await listen(api.full)).toBe(429)
    expect(await listen(token)).toBe(200)
  } finally {
    stop.abort()
  }
})

test.each([
  'a(<b@other.example>)@acme.example',
  'a(b)@acme.example',
  'a@(x)acme.example',
  'a@acme.example (<b@other.example>)',
])('info row: the API rejects comments in the From address: %s', async (from) => {
  const answer = await api.call('POST', '/emails', email({ from }))
  expect(answer.status).toBe(422)
  expect(answer.text).toContain('`from`')
})

describe('worst-case inputs', () => {
  const many = Array.from({ length: 50 }, (_, at) => `u${at}@customer.example`)

  test.each([
    ['8 MB of HTML links', { html: '<a href="https://x.example/?a=1&b=2">x</a>'.repeat(190_000) }],
    ['an HTML tag of 8 MB', { html: `<a ${'href="https://x.example" '.repeat(330_000)}>` }],
    ['8 MB of unclosed HTML tags', { html: '<a href="'.repeat(900_000) }],
    ['a list of 50 recipients with 64 kB names', { to: many.map((to) => `${'x'.repeat(65_000)} <${to}>`) }],
    [
      'a list of 50 recipients with 64 kB of separators',
      { to: many.map((to) => `${'@,;"<'.repeat(13_000)} <${to}>`) },
    ],
    [
      'a list of 50 recipients with 64 kB of quotes',
      { to: many.map((to) => `"${'\\"'.repeat(32_000)}" <${to}>`) },
    ],
  ])("finding 4: %s doesn't block the event loop", async (_name, more) => {
    const domain = (await api.senders.listDomains({ teamId: api.teamId })).find(
      ({ name }) => name === 'acme.example',
    )!
    const settings = { openTracking: true, clickTracking: true }
    await api.senders.updateDomain({ teamId: api.teamId, id: domain.id, settings })
    const body = JSON.stringify(email(more))
    const before = post('/emails', api.sending, Buffer.byteLength(body))
    const longest = await longestTurn(async () => {
      const speech = { port: Number(new URL(api.url).port), before, piece: body, times: 1, after: '' }
      expect(await speak(speech, /\r\n\r\n[^]*\}$/)).toMatch(/^HTTP\/1\.1 (200|422) /)
    })
    expect(longest).toBeLessThan(50)
  })

  test.each([
    ['quotes', '%22'.repeat(2600)],
    ['words', 'a%20'.repeat(2000)],
    ['operators', '*%28'.repeat(1900)],
    ['colons', 'to:'.repeat(2600)],
  ])("finding 4: a search for thousands of %s doesn't block the event loop", async (_what, value) => {
    const longest = await longestTurn(async () => {
      const answer = await api.call('GET', `/emails/search?subject=${value}`)
      expect([200, 400, 422]).toContain(answer.status)
    })
    expect(longest).toBeLessThan(50)
  })
})
