/**
 * Decides whether a client may open another connection, with limits in total, for strangers, per network and per team.
 * A stranger is a client that hasn't signed in. Only counts; no I/O.
 */
import type { Clock } from '../clock/clock.ts'
import { getSourceNetwork } from '../wire/networks.ts'

/** Limits of one listener group, in concurrent connections. */
export interface ConnectionLimits {
  total: number
  /** Limit for one network where someone has signed in: an IPv4 address or an IPv6 /48. */
  perAddress: number
  /** Limit for one network where no one has signed in. */
  perStranger: number
}

/**
 * The reason why a connection is refused, which is the limit that was reached: in total, for strangers, for the
 * network, or for the team.
 */
export type ConnectionRefusalReason = 'total' | 'strangers' | 'address' | 'team'

/** A connection that counts towards the limits. */
export interface Connection {
  /** Whether no one has signed in on this connection, nor recently from its network. */
  readonly stranger: boolean
  /** The client's address. */
  readonly ip: string
  /** Whether the connection comes from a proxy and carries requests of many clients. */
  readonly shared: boolean
  /** Records that a stranger delivered wanted mail, so that its network is known as a sender. */
  vouch(): void
  /** Records which team signed in. Returns false when the team has reached its limit of connections. */
  identify(teamId: string): boolean
  /** Releases the connection. Further calls do nothing. */
  leave(): void
}

export interface ConnectionFigures {
  open: number
  strangers: number
  /** Number of connections of strangers from networks of known senders. These connections are counted only here. */
  senders: number
  limit: number
  refused: Record<ConnectionRefusalReason, number>
}

export interface Connections {
  /**
   * Counts a new connection, or returns why it is refused.
   * @param exempt a proxy that many clients share: only the total limit applies
   */
  enter(ip: string, exempt?: boolean): Connection | ConnectionRefusalReason
  /** Whether few connections for strangers are left, so that strangers get less time to authenticate. */
  readonly crowded: boolean
  figures(): ConnectionFigures
}

/** Networks where someone signed in. Shared by all listeners. */
export interface KnownNetworks {
  add(network: string): void
  has(network: string): boolean
}

/** How long a network stays known after its last sign-in, in milliseconds. */
const KNOWN_MS = 24 * 3_600_000
/** How long a network stays known as a sender after its last wanted message, in milliseconds. */
const SENDER_MS = 30 * 24 * 3_600_000
/** Maximum number of networks to remember; the least recently used is dropped first. */
const REMEMBERED = 20_000

/** Share of all connections that strangers may use. The rest is reserved for known networks. */
const STRANGERS = 0.6
/**
 * Share of all connections that strangers and known senders may use together. Only known senders may use the part above
 * `STRANGERS`.
 */
const SENDERS = 0.75
/** Share of all connections that one team may use. */
const TEAM = 0.25
/** Share of the strangers' connections in use above which strangers get less time. */
const CROWDED = 0.8

/** Creates the memory of networks that delivered wanted mail. It is empty at each start. */
export const createKnownSenders = (clock: Clock): KnownNetworks => createKnownNetworks(clock, SENDER_MS)

export function createKnownNetworks(clock: Clock, keepMs = KNOWN_MS): KnownNetworks {
  const until = new Map<string, number>()
  return {
    add(network) {
      // Delete first, so that the map stays in order of use.
      until.delete(network)
      until.set(network, clock.now() + keepMs)
      if (until.size > REMEMBERED) until.delete(until.keys().next().value!)
    },
    has: (network) => (until.get(network) ?? 0) > clock.now(),
  }
}

/**
 * Creates the connection counter.
 * @param senders networks that delivered wanted mail; default: none, for listeners that receive no mail
 */
export function createConnections(
  limits: ConnectionLimits,
  known: KnownNetworks,
  senders: KnownNetworks = { add: () => undefined, has: () => false },
): Connections {
  return new Counted(limits, known, senders)
}

/** The servers of one sender are usually in one IPv4 /24 or IPv6 /48. */
const senderNetwork = (network: string): string => network.replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1')

class Counted implements Connections {
  readonly #limits: ConnectionLimits
  readonly #known: KnownNetworks
  readonly #knownSenders: KnownNetworks
  readonly #perNetwork = new Map<string, number>()
  readonly #perTeam = new Map<string, number>()
  readonly #refused = { total: 0, strangers: 0, address: 0, team: 0 }
  readonly #mostStrangers: number
  readonly #mostOutside: number
  readonly #mostOfTeam: number
  #open = 0
  #strangers = 0
  #senders = 0

  constructor(limits: ConnectionLimits, known: KnownNetworks, senders: KnownNetworks) {
    this.#limits = limits
    this.#known = known
    this.#knownSenders = senders
    this.#mostOutside = Math.max(1, Math.floor(limits.total * SENDERS))
    this.#mostStrangers = Math.max(1, Math.floor(limits.total * STRANGERS))
    this.#mostOfTeam = Math.max(1, Math.floor(limits.total * TEAM))
  }

  get crowded(): boolean {
    return this.#strangers >= this.#mostStrangers * CROWDED
  }

  figures(): ConnectionFigures {
    const { total: limit } = this.#limits
    const [open, strangers, senders] = [this.#open, this.#strangers, this.#senders]
    return { open, strangers, senders, limit, refused: { ...this.#refused } }
  }

  enter(ip: string, exempt = false): Connection | ConnectionRefusalReason {
    const network = exempt ? null : getSourceNetwork(ip, 48)
    const stranger = network !== null && !this.#known.has(network)
    const sender = stranger && this.#knownSenders.has(senderNetwork(network))
    const why = this.#whyNot(network, stranger, sender)
    if (why) {
      this.#refused[why]++
      return why
    }
    this.#open++
    if (sender) this.#senders++
    else if (stranger) this.#strangers++
    if (network !== null) add(this.#perNetwork, network, 1)
    return this.#connection(ip, network, { stranger, sender })
  }

  /**
   * Returns the limit that a connection would exceed; undefined if there is none.
   * @param network null when many clients share it, so that only the total limit applies
   */
  #whyNot(network: string | null, stranger: boolean, sender: boolean): ConnectionRefusalReason | undefined {
    if (this.#open >= this.#limits.total) return 'total'
    if (network === null) return undefined
    const here = this.#perNetwork.get(network) ?? 0
    if (here >= (stranger ? this.#limits.perStranger : this.#limits.perAddress)) return 'address'
    if (!stranger) return undefined
    const full = this.#strangers + this.#senders >= this.#mostOutside
    return full || (!sender && this.#strangers >= this.#mostStrangers) ? 'strangers' : undefined
  }

  #connection(
    ip: string,
    network: string | null,
    begunAs: { stranger: boolean; sender: boolean },
  ): Connection {
    let team: string | null = null
    let { stranger, sender } = begunAs
    let gone = false
    const forget = (): void => {
      if (sender) this.#senders--
      else if (stranger) this.#strangers--
      stranger = sender = false
    }
    return {
      get stranger() {
        return stranger
      },
      ip,
      shared: network === null,
      vouch: () => {
        if (network === null || gone || !stranger) return
        this.#knownSenders.add(senderNetwork(network))
        if (sender) return
        this.#strangers--
        this.#senders++
        sender = true
      },
      identify: (teamId) => {
        // A proxy carries requests of many teams over one connection.
        if (network === null || gone || team === teamId) return true
        if (!this.#admit(teamId)) return false
        if (team !== null) add(this.#perTeam, team, -1)
        team = teamId
        this.#known.add(network)
        forget()
        return true
      },
      leave: () => {
        if (gone) return
        gone = true
        this.#open--
        forget()
        if (network !== null) add(this.#perNetwork, network, -1)
        if (team !== null) add(this.#perTeam, team, -1)
      },
    }
  }

  #admit(teamId: string): boolean {
    if ((this.#perTeam.get(teamId) ?? 0) >= this.#mostOfTeam) {
      this.#refused.team++
      return false
    }
    add(this.#perTeam, teamId, 1)
    return true
  }
}

/** Adds to a count and removes counts that reach zero. */
function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const next = (counts.get(key) ?? 0) + change
  if (next > 0) counts.set(key, next)
  else counts.delete(key)
}
