import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { createPostClient, type PostClient, type PostClientDeps } from '../../../appliance/wire/post.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { startReceiver, type Receiver } from '../../world/receiver.ts'

let receiver: Receiver
let poster: PostClient
const open = (change: Partial<PostClientDeps> = {}): PostClient =>
  (poster = createPostClient({
    lookup: () => Promise.resolve([]),
    clock: systemClock,
    allowNetworks: parseNetworks(['127.0.0.0/8']),
    ownAddresses: () => [],
    deadlineMs: 10_000,
    readBytes: 65_536,
    keepBytes: 4096,
    ...change,
  }))
const post = (url = receiver.url, change: Partial<PostClientDeps> = {}) =>
  open(change).post({ url, owner: 'a', headers: { 'x-a': 'b' }, body: '{"ü":1}' })

beforeAll(async () => void (receiver = await startReceiver()))
afterAll(() => receiver.close())
afterEach(() => {
  poster.close()
  receiver.behave()
  receiver.received.length = 0
})

describe('an outgoing POST request', () => {
  test('a request has the given header fields and exactly the given body', async () => {
    expect(await post()).toMatchObject({ status: 200, error: null, ip: '127.0.0.1', response: 'ok' })
    expect(receiver.received).toMatchObject([
      { body: '{"ü":1}', headers: { 'x-a': 'b', 'content-length': '8' } },
    ])
  })

  test('a request reuses a connection of the same owner', async () => {
    const ports: (number | undefined)[] = []
    receiver.behave((_, response, raw) => {
      ports.push(raw.socket.remotePort)
      response.end()
    })
    open()
    for (const owner of ['a', 'a', 'b'])
      await poster.post({ url: receiver.url, owner, headers: {}, body: '' })
    expect(ports[1]).toBe(ports[0])
    expect(ports[2]).not.toBe(ports[0])
  })

  test('a request is repeated on a new connection if the reused one was closed', async () => {
    let count = 0
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        count += 1
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        // The next request on this connection fails.
        socket.once('data', () => socket.resetAndDestroy())
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(await post(url)).toMatchObject({ status: 200 })
    expect(await poster.post({ url, owner: 'a', headers: {}, body: 'x' })).toMatchObject({ status: 200 })
    expect(count).toBe(2)
    poster.close()
    server.close()
  })
})

describe('an endpoint', () => {
  test('an endpoint that returns status 500 is reported with its response', async () => {
    receiver.behave((_, response) => response.writeHead(500, { 'x-why': 'broken' }).end('no\0pe'))
    expect(await post()).toMatchObject({
      status: 500,
      error: 'The endpoint returned status 500.',
      response: 'no\u{fffd}pe',
      responseHeaders: { 'x-why': 'broken' },
    })
  })

  test('a request to an endpoint that hangs is ended at the deadline', async () => {
    receiver.behave(() => undefined)
    expect(await post(receiver.url, { deadlineMs: 200 })).toMatchObject({
      status: null,
      error: 'The endpoint did not respond within 0 seconds.',
    })
  })

  test('a request with a response that does not end is ended at the deadline', async () => {
    receiver.behave((_, response) => void response.writeHead(200).write('part'))
    const posted = await post(receiver.url, { deadlineMs: 300 })
    expect(posted).toMatchObject({ status: 200, response: 'part' })
    expect(posted.error).toMatch(/^The endpoint did not respond within/)
  })

  test('a redirect of an endpoint is not followed', async () => {
    receiver.behave((_, response) => response.writeHead(302, { location: receiver.url }).end())
    expect(await post()).toMatchObject({
      status: 302,
      error: 'The endpoint redirects (status 302); redirects are not followed. Change its URL.',
    })
    expect(receiver.received).toHaveLength(1)
  })

  test('a response of one gigabyte succeeds, and is read only in part', async () => {
    let sent = 0
    receiver.behave((_, response) => {
      const more = (): void => {
        while (sent < 2 ** 30 && !response.destroyed) {
          sent += 65_536
          if (!response.write('x'.repeat(65_536))) return void response.once('drain', more)
        }
      }
      response.on('error', () => undefined).writeHead(200)
      more()
    })
    const posted = await post()
    expect(posted).toMatchObject({ status: 200, error: null })
    expect(posted.response).toHaveLength(4096)
    expect(sent).toBeLessThan(2 ** 26)
  })

  test('an endpoint that closes without a response is reported', async () => {
    receiver.behave((_, _response, raw) => void raw.socket.destroy())
    expect(await post()).toMatchObject({
      status: null,
      error: 'The endpoint closed the connection without a response.',
    })
  })

  test('an endpoint that ends its response early is reported', async () => {
    receiver.behave((_, response, raw) => {
      response.writeHead(200, { 'content-length': '100' }).write('part')
      setTimeout(() => raw.socket.destroy(), 50)
    })
    expect(await post()).toMatchObject({
      status: 200,
      error: 'The endpoint ended its response early.',
      response: 'part',
    })
  })

  test('an endpoint that refuses the connection is reported', async () => {
    expect(await post('http://127.0.0.1:9999/')).toMatchObject({
      status: null,
      error: 'The endpoint refused the connection.',
    })
  })
})

describe('an endpoint address', () => {
  const refused = 'The endpoint must be on a host with a public address, or in webhooks.allow_networks.'

  test.each([
    ['http://10.0.0.1/', []],
    ['https://[::1]/', []],
    ['https://localhost:8443/', []],
    ['https://2130706433/', []],
    ['https://inside.test/', ['169.254.169.254', '::ffff:10.0.0.1']],
    ['https://nowhere.test/', []],
  ])('rejects an endpoint address that is not public: %s', async (url, addresses) => {
    const deps = { allowNetworks: [], lookup: () => Promise.resolve(addresses) }
    expect(await post(url, deps)).toMatchObject({ status: null, ip: null, error: refused })
  })

  test('resolves the host once, and connects to that address even if DNS changes', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    const { port } = new URL(receiver.url)
    const lookup = () => Promise.resolve(answers.shift() ?? [])
    expect(await post(`http://app.test:${port}/`, { lookup })).toMatchObject({ status: 200 })
    expect(
      await poster.post({ url: `http://app.test:${port}/`, owner: 'b', headers: {}, body: '' }),
    ).toMatchObject({ error: refused })
  })

  test('a public endpoint requires https', async () => {
    expect(await post('http://app.test/', { lookup: () => Promise.resolve(['8.8.8.8']) })).toMatchObject({
      error: 'The endpoint must use https:// (http:// only for networks in webhooks.allow_networks).',
    })
  })
})
