/**
 * An authoritative DNS server for the zones that are delegated to this server, over UDP and TCP (RFC 1035, 7766). Answers
 * from memory; anyone may ask, so every response is small, limited and never depends on the database.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6, type Server } from 'node:net'
import type { Connections } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { bindServer, CannotStart, formatHostPort, whyNotBound, type HostPort } from '../wire/listeners.ts'
import { sourceNetwork } from '../wire/networks.ts'
import { answerQuery } from './answer.ts'
import { createCookies, type Cookies } from './cookies.ts'
import { parseQuery, RCODE, type Query } from './query.ts'
import { createResponseLimit, type ResponseLimit } from './rate-limit.ts'
import { encodeRefusal, encodeResponse, encodeTruncated } from './response.ts'
import { serveConnection } from './tcp.ts'
import type { Zones } from './zone.ts'

export { buildZone, type ZoneData, type ZoneRecord } from './zone.ts'
export { createZoneBook, type ZoneBook } from './zone-book.ts'

/** What became of a query: the name of the response code, or why there was no full response. */
export type QueryResult = keyof typeof RCODE | 'truncated' | 'limited' | 'ignored'

export interface NameserverDeps {
  /** Returns the current zones. */
  zones: () => Zones
  clock: Clock
  connections: Connections
  /** At least 16 random octets, the same on all nodes. */
  secret: Uint8Array
  /** UDP responses to one network per second. Default 20. */
  perSecond?: number
  /** Counts queries. */
  count: (transport: 'udp' | 'tcp', result: QueryResult) => void
}

export interface Nameserver {
  /** Listens on UDP and TCP and returns the addresses with actual ports. Rejects with a `CannotStart`. */
  listen(addresses: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** UDP responses that wait for the network card; more queries are ignored meanwhile. */
const MOST_SENDING = 1000

/** Response codes by number. */
const names = new Map<number, QueryResult>(
  Object.entries(RCODE).map(([name, code]) => [code, name as keyof typeof RCODE]),
)
const nameOf = (rcode: number): QueryResult => names.get(rcode) ?? 'FORMERR'

export function createNameserver(deps: NameserverDeps): Nameserver {
  const answering = new Answering(deps)
  const sockets: UdpSocket[] = []
  const servers: { server: Server; destroy: () => void }[] = []
  return {
    async listen(addresses) {
      const bound: string[] = []
      for (const address of addresses) {
        const tcp = listenTcp(deps, answering)
        servers.push(tcp)
        const place = await bindServer(tcp.server, address, 'nameserver.listen')
        // The same port for both, also when the system has chosen it.
        sockets.push(await bindUdp(place, answering))
        bound.push(formatHostPort(place))
      }
      return bound
    },
    async close() {
      const closed = servers
        .filter(({ server }) => server.listening)
        .map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve())))
      for (const { destroy } of servers) destroy()
      for (const socket of sockets) socket.close()
      await Promise.all(closed)
    },
  }
}

/** Answers packets. Synchronous: a query costs some microseconds. */
class Answering {
  readonly #deps: NameserverDeps
  readonly #cookies: Cookies
  readonly #limit: ResponseLimit

  constructor(deps: NameserverDeps) {
    this.#deps = deps
    this.#cookies = createCookies(deps.secret)
    this.#limit = createResponseLimit(deps.perSecond)
  }

  ignored(): void {
    this.#deps.count('udp', 'ignored')
  }

  /** Returns the response to a UDP packet; undefined when there is none. */
  udp(bytes: Buffer, ip: string): Buffer | undefined {
    const parsed = parseQuery(bytes)
    if (parsed.kind === 'drop') return this.#none('ignored')
    const query = parsed.kind === 'query' ? parsed.query : undefined
    const { cookie, proven } = this.#cookie(query, ip)
    const permission = proven ? 'send' : this.#limit.permit(networkOf(ip), performance.now())
    if (permission === 'drop' || (permission === 'truncate' && !query)) return this.#none('limited')
    if (permission === 'truncate' && query) {
      this.#deps.count('udp', 'limited')
      return encodeTruncated(query, { tcp: false, cookie: undefined })
    }
    if (parsed.kind === 'refused') return this.#refusal('udp', parsed)
    return this.#response('udp', parsed.query, cookie)
  }

  /** Returns the response to a message on a connection; undefined when the connection isn't worth keeping. */
  tcp(bytes: Buffer, ip: string): Buffer | undefined {
    const parsed = parseQuery(bytes)
    if (parsed.kind === 'drop') {
      this.#deps.count('tcp', 'ignored')
      return undefined
    }
    if (parsed.kind === 'refused') return this.#refusal('tcp', parsed)
    return this.#response('tcp', parsed.query, this.#cookie(parsed.query, ip).cookie)
  }

  #none(result: QueryResult): undefined {
    this.#deps.count('udp', result)
    return undefined
  }

  #cookie(query: Query | undefined, ip: string): { cookie: Buffer | undefined; proven: boolean } {
    if (!query?.edns?.cookie) return { cookie: undefined, proven: false }
    const { option, proven } = this.#cookies.answer(query.edns.cookie, ip, this.#deps.clock.now())
    return { cookie: option, proven }
  }

  #refusal(
    transport: 'udp' | 'tcp',
    { header, rcode }: { header: Parameters<typeof encodeRefusal>[0]; rcode: number },
  ): Buffer {
    this.#deps.count(transport, nameOf(rcode))
    return encodeRefusal(header, rcode)
  }

  #response(transport: 'udp' | 'tcp', query: Query, cookie: Buffer | undefined): Buffer {
    const reply = answerQuery(query, this.#deps.zones())
    const bytes = encodeResponse(query, reply, { tcp: transport === 'tcp', cookie })
    this.#deps.count(transport, (bytes[2]! & 2) === 0 ? nameOf(reply.rcode) : 'truncated')
    return bytes
  }
}

/** What one customer's addresses have in common: an IPv4 /24 or an IPv6 /48. */
const networkOf = (ip: string): string => sourceNetwork(ip, 48).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1')

function listenTcp(
  { connections }: NameserverDeps,
  answering: Answering,
): { server: Server; destroy: () => void } {
  const open = new Set<() => void>()
  const server = createServer({ noDelay: true }, (socket) => {
    const ip = socket.remoteAddress ?? ''
    const entered = connections.enter(ip)
    if (typeof entered === 'string') {
      socket.destroy()
      return
    }
    const end = (): void => void socket.destroy()
    open.add(end)
    socket.on('close', () => {
      open.delete(end)
      entered.leave()
    })
    serveConnection(socket, (bytes) => answering.tcp(bytes, ip))
  })
  return { server, destroy: () => open.forEach((end) => end()) }
}

async function bindUdp(place: HostPort, answering: Answering): Promise<UdpSocket> {
  const socket = createSocket(isIPv6(place.host) ? { type: 'udp6', ipv6Only: false } : { type: 'udp4' })
  let sending = 0
  socket.on('message', (bytes: Buffer, from: RemoteInfo) => {
    // No service sends from port 0, and a response to it can't be sent.
    if (from.port === 0) return
    if (sending >= MOST_SENDING) return answering.ignored()
    const response = answering.udp(bytes, from.address)
    if (!response) return
    sending++
    // An unreachable client is its own problem.
    socket.send(response, from.port, from.address, () => void sending--)
  })
  try {
    socket.bind({ port: place.port, address: place.host })
    await once(socket, 'listening')
  } catch (error) {
    socket.close()
    const why = whyNotBound(error as NodeJS.ErrnoException, formatHostPort(place), 'nameserver.listen')
    throw new CannotStart(why, { cause: error })
  }
  // Errors after this concern single packets.
  socket.on('error', () => undefined)
  return socket
}
