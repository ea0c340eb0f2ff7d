import { createServer as createTlsServer } from 'node:https'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createNetServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createGuardedFetch, type FetchDeps } from '../../../appliance/wire/fetch.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { createTestClock } from '../../world/clock.ts'
import { tlsFile, tlsOptions } from '../../world/tls.ts'

/** Represents the public internet. The rest of loopback must not be reachable. */
const PUBLIC = '127.0.0.77'
const PRIVATE = '127.0.0.1'
const notPublic = { kind: 'failed', note: 'must be on a host with a public address' }

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function listen(server: Server, address: string): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  return (server.address() as AddressInfo).port
}

/** Starts a web server. Returns its port, and counts its requests. */
async function serve(answer: RequestListener, address = PUBLIC) {
  const seen = { requests: 0, connections: 0 }
  const server = createServer((request, response) => {
    seen.requests++
    answer(request, response)
  })
  server.on('connection', () => seen.connections++)
  return { port: await listen(server, address), seen }
}

const clock = createTestClock()
const fetchWith = (more: Partial<FetchDeps> = {}) =>
  createGuardedFetch({
    lookup: async (name) => (name === 'files.example' ? [PUBLIC] : []),
    clock,
    allowNetworks: parseNetworks([`${PUBLIC}/32`]),
    ownAddresses: () => [],
    deadlineMs: 10_000,
    agent: 'Posthaste/test',
    ...more,
  })
const free = () => undefined
const get = (url: string, more?: Partial<FetchDeps>, count: (bytes: number) => void = free) =>
  fetchWith(more)(new URL(url), count)

describe('fetching a file', () => {
  test('fetching returns content, type and disposition, and sends only the expected headers', async () => {
    let asked: Record<string, unknown> = {}
    const { port } = await serve(({ headers, url, method }, response) => {
      asked = { ...headers, url, method }
      response.writeHead(200, { 'content-type': 'application/pdf', 'content-disposition': 'inline' })
      response.end('%PDF')
    })
    const fetched = await get(`http://files.example:${port}/a/b.pdf?x=1#y`)
    expect(fetched).toEqual({
      kind: 'fetched',
      content: Buffer.from('%PDF'),
      contentType: 'application/pdf',
      disposition: 'inline',
    })
    expect(asked).toEqual({
      method: 'GET',
      url: '/a/b.pdf?x=1',
      host: `files.example:${port}`,
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'Posthaste/test',
      connection: 'close',
    })
  })

  test('fetching follows up to three redirects, including relative ones', async () => {
    const { port } = await serve(({ url }, response) => {
      const left = Number(url!.slice(1))
      if (left === 0) response.end('there')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    expect(await get(`http://files.example:${port}/3`)).toMatchObject({ content: Buffer.from('there') })
    expect(await get(`http://files.example:${port}/4`)).toEqual({
      kind: 'failed',
      note: 'redirects more than 3 times',
    })
  })

  test('fetching tries the next address when one refuses the connection', async () => {
    const { port } = await serve((_, response) => response.end('there'))
    const fetched = await get(`http://two.example:${port}/`, {
      lookup: async () => ['127.0.0.78', PUBLIC],
      allowNetworks: parseNetworks([`${PUBLIC}/32`, '127.0.0.78/32']),
    })
    expect(fetched).toMatchObject({ kind: 'fetched' })
  })

  test('fetching verifies the TLS certificate for the host name', async () => {
    const server = createTlsServer(tlsOptions('trusted'), (_, response) => response.end('safe'))
    const port = await listen(server, PUBLIC)
    const lookup = async () => [PUBLIC]
    const ca = tlsFile('ca.pem')
    expect(await get(`https://files.trusted.test:${port}/`, { lookup, ca })).toMatchObject({
      content: Buffer.from('safe'),
    })
    const note = 'is on a host whose TLS certificate cannot be verified'
    const unverified = { kind: 'failed', note, certificate: true }
    expect(await get(`https://files.other.test:${port}/`, { lookup, ca })).toEqual(unverified)
    expect(await get(`https://files.trusted.test:${port}/`, { lookup })).toEqual(unverified)
    expect(await get(`https://${PUBLIC}:${port}/`, { ca })).toEqual(unverified)
  })
})

describe('internal hosts', () => {
  test.each([
    '127.0.0.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fc00::1]',
    '10.0.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '100.64.0.1',
    '①②⑦.⓪.⓪.①',
    '127.0.0.1.',
  ])('does not fetch an internal address in the URL: %s', async (host) => {
    const { port, seen } = await serve((_, response) => response.end('secret'), PRIVATE)
    const lookup = async () => {
      throw new Error('nothing is to be looked up')
    }
    expect(await get(`http://${host}:${port}/`, { lookup })).toEqual(notPublic)
    expect(seen.connections).toBe(0)
  })

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['10.1.2.3', 'fd00::1', '169.254.169.254']],
    [[]],
  ])(
    'does not fetch from a name that resolves to %j, and reports it like an unknown host',
    async (addresses) => {
      const { port, seen } = await serve((_, response) => response.end('secret'), PRIVATE)
      expect(await get(`http://inside.example:${port}/`, { lookup: async () => addresses })).toEqual(
        notPublic,
      )
      expect(seen.connections).toBe(0)
    },
  )

  test('for a name with a public and an internal address, tries only the public one', async () => {
    const inside = await serve((_, response) => response.end('secret'), PRIVATE)
    const lookup = async () => [PRIVATE, PUBLIC]
    expect(await get(`http://both.example:${inside.port}/`, { lookup })).toEqual({
      kind: 'failed',
      note: 'is on a host that refuses connections',
    })
    expect(inside.seen.connections).toBe(0)
  })

  test('DNS rebinding has no effect: the address of a single lookup is used', async () => {
    const { port, seen } = await serve((_, response) => response.end('public'))
    const inside = await serve((_, response) => response.end('secret'), PRIVATE)
    let looks = 0
    const lookup = async () => [looks++ === 0 ? PUBLIC : PRIVATE]
    expect(await get(`http://rebind.example:${port}/`, { lookup })).toMatchObject({
      content: Buffer.from('public'),
    })
    expect([looks, seen.connections, inside.seen.connections]).toEqual([1, 1, 0])
  })

  test.each(['http://127.0.0.1', 'http://0x7f.1', 'http://inside.example', '//[::1]'])(
    'does not follow a redirect to the internal URL %s',
    async (target) => {
      const inside = await serve((_, response) => response.end('secret'), PRIVATE)
      const location = `${target}:${inside.port}/`
      const { port } = await serve((_, response) => response.writeHead(301, { location }).end())
      const lookup = async (name: string) => [name === 'files.example' ? PUBLIC : PRIVATE]
      expect(await get(`http://files.example:${port}/`, { lookup })).toEqual(notPublic)
      expect(inside.seen.connections).toBe(0)
    },
  )

  test('does not follow a redirect to the same name that now resolves to an internal address', async () => {
    const { port } = await serve((_, response) => response.writeHead(307, { location: '/again' }).end())
    let looks = 0
    const lookup = async () => [looks++ === 0 ? PUBLIC : PRIVATE]
    expect(await get(`http://rebind.example:${port}/`, { lookup })).toEqual(notPublic)
    expect(looks).toBe(2)
  })

  test.each([
    ['file:///etc/passwd', 'must be an http:// or https:// URL'],
    ['ftp://files.example/', 'must be an http:// or https:// URL'],
    ['http://me:secret@files.example/', 'must not contain a user name or a password'],
    ['http://files.example:25/', 'must use port 80, 443 or one above 1023'],
  ])('does not follow a redirect to the disallowed URL %s', async (location, note) => {
    const { port } = await serve((_, response) => response.writeHead(302, { location }).end())
    expect(await get(`http://files.example:${port}/`)).toEqual({ kind: 'failed', note })
  })
})

describe('failures to fetch', () => {
  test.each([404, 500, 206, 304])('reports status %i', async (status) => {
    const { port } = await serve((_, response) => response.writeHead(status).end())
    expect(await get(`http://files.example:${port}/`)).toEqual({
      kind: 'failed',
      note: `returned status ${status} instead of 200`,
    })
  })

  test.each([`${'x'.repeat(64)}.example`, `${'a.'.repeat(126)}example`, 'files..example'])(
    'reports an invalid host name, without looking it up: %s',
    async (name) => {
      const asked: string[] = []
      const lookup = async (host: string) => {
        asked.push(host)
        throw new Error('no such name can be asked for')
      }
      expect(await get(`http://${name}/`, { lookup })).toEqual(notPublic)
      expect(asked).toEqual([])
    },
  )

  test('reports a failed DNS lookup, without naming the resolver', async () => {
    const lookup = async () => {
      throw new Error('10.0.0.53 does not answer')
    }
    expect(await get('http://files.example/', { lookup })).toEqual({
      kind: 'failed',
      note: 'is on a host that cannot be resolved right now',
    })
  })

  test('reports compressed content, without counting it', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    const { port } = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    let counted = 0
    const fetched = await get(`http://files.example:${port}/`, {}, (bytes) => (counted += bytes))
    expect(fetched).toEqual({
      kind: 'failed',
      note: 'returned compressed content that was not requested',
    })
    expect(counted).toBe(0)
  })

  test('reports the error of the byte counter for an endless body, and closes the connection', async () => {
    let open = 0
    const { port } = await serve((_, response) => {
      open++
      const pour = () => {
        while (response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', pour).on('close', () => open--)
      pour()
    })
    let counted = 0
    const stop = new Error('enough')
    const count = (bytes: number) => {
      counted += bytes
      if (counted > 1_000_000) throw stop
    }
    await expect(get(`http://files.example:${port}/`, {}, count)).rejects.toBe(stop)
    expect(counted).toBeLessThan(1_200_000)
    await expect.poll(() => open).toBe(0)
  })

  test('reports a body shorter than its Content-Length', async () => {
    const { port } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('half')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await get(`http://files.example:${port}/`)).toEqual({
      kind: 'failed',
      note: 'ended before all data was received',
    })
  })

  /** Starts a raw TCP server that counts its connections. */
  async function raw(talk: (socket: Socket) => void) {
    const open = new Set<Socket>()
    const server = createNetServer((socket) => {
      open.add(socket.resume())
      socket.on('close', () => open.delete(socket)).on('error', free)
      talk(socket)
    })
    return { port: await listen(server, PUBLIC), open }
  }
  const silent: [string, (socket: Socket) => void][] = [
    ['an answer', free],
    ['the end of the head', (socket) => socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')],
    ['the end of the body', (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')],
    ['anything after 100 Continue', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')],
  ]
  test.each(silent)('reports a timeout when the server does not send %s', async (_what, talk) => {
    const { port, open } = await raw(talk)
    const fetched = get(`http://files.example:${port}/`)
    await expect.poll(() => open.size).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await clock.advance(10_000)
    expect(await fetched).toEqual({ kind: 'failed', note: 'did not arrive within 10 seconds' })
    await expect.poll(() => open.size).toBe(0)
  })

  test('reports a timeout when the DNS lookup takes too long', async () => {
    const fetched = get('http://files.example/', { lookup: () => new Promise(free) })
    await clock.advance(10_000)
    expect(await fetched).toEqual({ kind: 'failed', note: 'did not arrive within 10 seconds' })
  })

  test.each([
    '220 mail.example ESMTP\r\n',
    'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  ])('reports an invalid HTTP response: %j', async (bytes) => {
    const { port } = await raw((socket) => socket.end(bytes))
    expect(await get(`http://files.example:${port}/`)).toEqual({
      kind: 'failed',
      note: 'did not return a valid HTTP response',
    })
  })
})
