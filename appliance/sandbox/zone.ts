import { once } from 'node:events'
import { isIPv6, type Socket } from 'node:net'
import { createTCPServer, createUDPServer, type Packet } from 'dns2'
import {
  answerFromZone,
  createServfailAnswer,
  findEntry,
  type Zone,
  type ZoneEntry,
  type ZoneFunction,
} from './zone-answer.ts'
import { typeName, encodeResponse } from './zone-wire.ts'

export type { Zone, ZoneEntry, ZoneFailure, ZoneFunction, ZoneRecords } from './zone-answer.ts'

/**
 * A DNS server for a declarative zone, used by the sandbox and the tests.
 *
 * dns2 handles sockets, framing and query parsing. Responses are encoded with dns-packet, because dns2 3.1.1 has no
 * TLSA records and would cut a long answer in the middle. The server is both recursive (RA, follows aliases) and
 * authoritative (AA).
 */

/** A received query; `type` is `TYPE` and a number if it isn't supported. */
export interface ZoneQuery {
  name: string
  type: string
  transport: 'udp' | 'tcp'
}

export interface ZoneServerOptions {
  /** The zone: a table of names, or a function that answers for any name. */
  zone: Zone | ZoneFunction
  /** IP to listen on. Default: 127.0.0.1. */
  address?: string
  /** Port for UDP and TCP. Default: 0, for a free port. */
  port?: number
  /** SOA minimum for negative answers, in seconds. Default: 60. */
  negativeTtl?: number
  /**
   * Whether to follow aliases as recursive servers do; authoritative servers leave that to the client. Default: true.
   */
  chase?: boolean
  /**
   * Makes every existing name that isn't an alias the apex of its own zone, served by this host, so that a search for
   * the authoritative servers ends here. NS records in the zone take precedence.
   */
  nameServer?: { host: string; address: string }
}

export interface ZoneServer {
  readonly address: string
  readonly port: number
  /** The last 10,000 received queries, oldest first. */
  readonly queries: readonly ZoneQuery[]
  /** Changes one name or, if `entry` is undefined, removes it. Throws if the zone is a function. */
  set(name: string, entry: ZoneEntry | undefined): void
  /** Replaces the zone. */
  replace(zone: Zone | ZoneFunction): void
  /** Closes the server. May be called more than once. */
  close(): Promise<void>
}

const MAX_QUERIES = 10_000
const MAX_PORT_TRIES = 20

/** Starts the server. Rejects with the system's error if the address or port can't be bound. */
export async function startZoneServer(options: ZoneServerOptions): Promise<ZoneServer> {
  const address = options.address ?? '127.0.0.1'
  const state = new ZoneState(options)
  const listeners = await listen(address, options.port ?? 0, state)
  let closed: Promise<void> | undefined
  return {
    address,
    port: listeners.port,
    queries: state.queries,
    set: (name, entry) => state.set(name, entry),
    replace: (zone) => state.replace(zone),
    close() {
      state.close()
      return (closed ??= listeners.close())
    },
  }
}

type Send = (bytes: Buffer) => unknown

/** The zone and its received queries. */
class ZoneState {
  readonly queries: ZoneQuery[] = []
  readonly #options: ZoneServerOptions
  readonly #delays = new Set<NodeJS.Timeout>()
  #zone: Map<string, ZoneEntry> | ZoneFunction

  constructor(options: ZoneServerOptions) {
    this.#options = options
    this.#zone = read(options.zone)
  }

  replace(zone: Zone | ZoneFunction): void {
    this.#zone = read(zone)
  }

  set(name: string, entry: ZoneEntry | undefined): void {
    if (typeof this.#zone === 'function') throw new Error('this zone is a function: use replace()')
    if (entry === undefined) this.#zone.delete(canonical(name))
    else this.#zone.set(canonical(name), entry)
  }

  close(): void {
    for (const timer of this.#delays) clearTimeout(timer)
  }

  async handle(request: Packet, transport: ZoneQuery['transport'], send: Send): Promise<void> {
    const question = request.questions[0]
    if (!question) return
    const asked = { name: canonical(question.name), type: typeName(question.type) }
    this.queries.push({ ...asked, transport })
    if (this.queries.length > MAX_QUERIES) this.queries.shift()
    const { negativeTtl = 60, chase = true } = this.#options
    // Answer a failed lookup with SERVFAIL (RFC 1035 §4.1.1), because the storage behind a zone may be closing.
    const answer = await answerFromZone((name, type) => this.#find(name, type), asked, {
      negativeTtl,
      chase,
    }).catch(() => createServfailAnswer(asked.name))
    const bytes = encodeResponse(request, answer, transport)
    if (!bytes) return
    if (answer.delayMs === 0) return void send(bytes)
    const timer = setTimeout(() => {
      this.#delays.delete(timer)
      send(bytes)
    }, answer.delayMs)
    this.#delays.add(timer)
  }

  async #find(name: string, type: string): Promise<ZoneEntry | undefined> {
    const entry =
      typeof this.#zone === 'function' ? await this.#zone(name, type) : findEntry(this.#zone, name)
    const { nameServer } = this.#options
    if (!nameServer || typeof entry === 'string') return entry
    if (name === nameServer.host) {
      const family = isIPv6(nameServer.address) ? 'AAAA' : 'A'
      return { [family]: nameServer.address, ...entry }
    }
    return entry && entry.CNAME === undefined ? { NS: nameServer.host, ...entry } : entry
  }
}

function read(zone: Zone | ZoneFunction): Map<string, ZoneEntry> | ZoneFunction {
  if (typeof zone === 'function') return zone
  return new Map(Object.entries(zone).map(([name, entry]) => [canonical(name), entry]))
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Binds UDP, then TCP on the same port. If that port is taken and any port is allowed, tries another port. */
async function listen(
  address: string,
  port: number,
  state: ZoneState,
): Promise<{ port: number; close(): Promise<void> }> {
  for (let attempt = 1; ; attempt++) {
    const udp = createUDPServer({ type: isIPv6(address) ? 'udp6' : 'udp4' })
    udp.on(
      'request',
      (request, send) => void state.handle(request, 'udp', (bytes) => send(bytes).catch(ignore)),
    )
    udp.bind(port, address)
    await once(udp, 'listening')
    udp.on('error', ignore)
    const chosen = udp.address().port
    const tcp = createTCPServer((request, send) => void state.handle(request, 'tcp', send))
    const connections = new Set<Socket>()
    tcp.on('connection', (socket: Socket) => {
      connections.add(socket)
      socket.on('error', ignore).on('close', () => connections.delete(socket))
    })
    const closeUdp = () => new Promise<void>((resolve) => udp.close(() => resolve()))
    try {
      tcp.listen(chosen, address)
      await once(tcp, 'listening')
    } catch (error) {
      await closeUdp()
      if (port === 0 && attempt < MAX_PORT_TRIES) continue
      throw error
    }
    return {
      port: chosen,
      async close() {
        for (const socket of connections) socket.destroy()
        await Promise.all([closeUdp(), new Promise((resolve) => tcp.close(resolve))])
      },
    }
  }
}

/**
 * Ignores an error of a client that disconnected, or of a server that was closed before it answered, because there is
 * no one to report it to.
 */
function ignore(): void {
  return undefined
}
