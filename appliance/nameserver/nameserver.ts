/**
 * An authoritative DNS server for the zones that are delegated to this server, over UDP and TCP (RFC 1035, 7766).
 * Answers from memory. Anyone may send queries, so every response is small, rate-limited, and never depends on the
 * database.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6, type Server } from 'node:net'
import type { Connections } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import {
  bindServer,
  StartupError,
  formatHostPort,
  explainBindError,
  type HostPort,
} from '../wire/listeners.ts'
import { getSourceNetwork } from '../wire/networks.ts'
import { answerQuery } from './answer.ts'
import { createCookies, type Cookies } from './cookies.ts'
import { parseQuery, RCODE, type Query } from './query.ts'
import { createResponseLimiter, type ResponseLimiter } from './rate-limit.ts'
import { encodeRefusal, encodeResponse, encodeTruncated } from './response.ts'
import { serveConnection } from './tcp.ts'
import type { Zones } from './zone.ts'

export { buildZone, type ZoneData, type ZoneRecord } from './zone.ts'
export { createZoneCache, type ZoneCache } from './zone-cache.ts'

/** The result of a query: the name of the response code, or why there was no full response. */
export type QueryResult = keyof typeof RCODE | 'truncated' | 'limited' | 'ignored'

export interface NameserverDeps {
  /** Returns the current zones. */
  zones: () => Zones
  clock: Clock
  connections: Connections
  /** At least 16 random octets, the same ones on all nodes. */
  secret: Uint8Array
  /** Maximum number of UDP responses to one network per second. Default: 20. */
  perSecond?: number
  /** Counts queries. */
  count: (transport: 'udp' | 'tcp', result: QueryResult) => void
}

export interface Nameserver {
  /** Listens on UDP and TCP; returns the addresses with the actual ports. Rejects with a `StartupError`. */
  listen(addresses: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** Maximum number of UDP responses waiting to be sent; beyond it, queries are ignored. */
const MOST_SENDING = 1000

/** Names of response codes by number. */
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
        // Use the same port for UDP and TCP, even if the system has chosen it.
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

/** Answers packets. Synchronous, because a query takes only a few microseconds. */
class Answering {
  readonly #deps: NameserverDeps
  readonly #cookies: Cookies
  readonly #limit: ResponseLimiter

  constructor(deps: NameserverDeps) {
    this.#deps = deps
    this.#cookies = createCookies(deps.secret)
    this.#limit = createResponseLimiter(deps.perSecond)
  }

  ignored(): void {
    this.#deps.count('udp', 'ignored')
  }

  /** Returns the response to a UDP packet; undefined if there is none. */
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

  /** Returns the response to a message on a TCP connection; undefined if the connection should be closed. */
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

/** Returns the network that the addresses of one customer share: an IPv4 /24 or an IPv6 /48. */
const networkOf = (ip: string): string => getSourceNetwork(ip, 48).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1')

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
    // Errors are ignored: an unreachable client is not our problem.
    socket.send(response, from.port, from.address, () => void sending--)
  })
  try {
    socket.bind({ port: place.port, address: place.host })
    await once(socket, 'listening')
  } catch (error) {
    socket.close()
    const why = explainBindError(error as NodeJS.ErrnoException, formatHostPort(place), 'nameserver.listen')
    throw new StartupError(why, { cause: error })
  }
  // Later errors concern single packets.
  socket.on('error', () => undefined)
  return socket
}
