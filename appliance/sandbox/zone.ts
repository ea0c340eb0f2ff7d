import { once } from 'node:events'
import { isIPv6, type Socket } from 'node:net'
import { createTCPServer, createUDPServer, type Packet } from 'dns2'
import {
  answerFrom,
  failedAnswer,
  findEntry,
  type Zone,
  type ZoneEntry,
  type ZoneFunction,
} from './zone-answer.ts'
import { typeName, writeResponse } from './zone-wire.ts'

export type { Zone, ZoneEntry, ZoneFailure, ZoneFunction, ZoneRecords } from './zone-answer.ts'

/**
 * A DNS server for a zone that is written as data: the internet of the sandbox and of the tests.
 *
 * dns2 serves: sockets, framing, reading of queries. The responses are written with dns-packet, because dns2 3.1.1 has no
 * TLSA records and would cut a long answer in the middle. It is at once recursive (RA, follows aliases) and
 * authoritative (AA), as the one server of a small world.
 */

/** One question that was asked; `type` is `TYPE` and a number if not one of ours. */
export interface ZoneQuery {
  name: string
  type: string
  transport: 'udp' | 'tcp'
}

export interface ZoneServerOptions {
  /** The names, or a function that answers for any name. */
  zone: Zone | ZoneFunction
  /** Default 127.0.0.1. */
  address?: string
  /** For UDP and TCP alike; 0, the default, takes a free one. */
  port?: number
  /** SOA minimum of absent names, in seconds. Default 60. */
  negativeTtl?: number
  /** Follow aliases, as recursive servers do; authoritative ones leave that to the client. Default true. */
  chase?: boolean
  /**
   * Makes each name that exists and is no alias the apex of a zone of its own, served by this host, so that a walk
   * up to the authoritative servers ends here. NS records in the zone itself come first.
   */
  nameServer?: { host: string; address: string }
}

export interface ZoneServer {
  readonly address: string
  readonly port: number
  /** What was asked, oldest first; the last 10,000. */
  readonly queries: readonly ZoneQuery[]
  /** Changes or, with undefined, removes one name. Throws for a zone that is a function. */
  set(name: string, entry: ZoneEntry | undefined): void
  /** Puts another zone in the place of the present one. */
  replace(zone: Zone | ZoneFunction): void
  /** May be called again. */
  close(): Promise<void>
}

const MAX_QUERIES = 10_000
const MAX_PORT_TRIES = 20

/** Starts the server. Rejects with the system's error when the address or port cannot be had. */
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

/** The zone and what was asked of it. */
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
    // What can't be looked up is a SERVFAIL (RFC 1035 §4.1.1): the storage behind a zone may be closing.
    const answer = await answerFrom((name, type) => this.#find(name, type), asked, {
      negativeTtl,
      chase,
    }).catch(() => failedAnswer(asked.name))
    const bytes = writeResponse(request, answer, transport)
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

/** Opens UDP, then TCP on the same port; another port when that one is taken and any would do. */
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

/** A client that went away, or a server that was closed before it answered: nobody is left to be told. */
function ignore(): void {
  return undefined
}
