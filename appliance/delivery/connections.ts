import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock/clock.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import { createHostMemory, type HostMemory } from './host-memory.ts'
import { type Kept, LaneSockets } from './lane-sockets.ts'
import type { Failure, Outcome } from './outcome.ts'
import { reach, type Visit } from './reach.ts'
import type { Recorder } from './recorder.ts'
import { satisfies, type Session } from './session.ts'
import type { TlsResult } from './tls.ts'
import { transact, type Transacted } from './transaction.ts'

/** A message for one address, and what the lane grants. */
export interface Call extends Visit {
  /** Whose connections these are, and how many of them may be open now, those that wait idle included. */
  lane: { readonly key: string; readonly connections: number }
  /**
   * Asked right before MAIL: 0 counts it, more are milliseconds after which to ask again. Null: the message has to be admitted
   * again, and its recipients get no fate.
   */
  mailTurn: () => number | null
  /** Messages after which a connection is closed. */
  messagesPerConnection: number
  /** Milliseconds for which a connection waits for its next message; 0 closes it at once. */
  idleMs: number
}

/** What came of it. */
export interface Said {
  outcome: Outcome
  /** TLS of the connection that was used last; null in plain text. */
  tls: TlsInfo | null
  /**
   * How the session began, for reports to the receiver; null where it came to nothing before EHLO, and for later messages to the
   * same domain over the same connection: reports count sessions (RFC 8460 §4.1).
   */
  tlsResult: TlsResult | null
}

/** The connections of the delivery side. */
export interface Connections {
  /** Talks to one address, over a connection that is kept where there is one. Never throws for what the internet does. */
  converse(call: Call, recorder: Recorder): Promise<Said>
  /** What is known of hosts: `memory.order` is the order in which to try addresses. */
  readonly memory: HostMemory
  /** Says QUIT on idle connections, of all our addresses or of one. */
  closeIdle(source?: string): void
  /** The same, and keeps none from now on. Resolves when the idle ones are gone; conversations go on to their end. */
  close(): Promise<void>
  /** Destroys every socket, and lets none be opened any more. Whoever waits for a server fails with `stopped`. */
  destroy(): void
  /** Sockets open now, idle ones among them, of all lanes. */
  count(): { open: number; idle: number }
}

export interface ConnectionsDeps {
  clock: Clock
  /** Default: a new one. */
  memory?: HostMemory
  /** Idle connections of all lanes together; beyond, the one that has waited longest is closed. Default 200. */
  mostIdle?: number
}

/** Makes the place where connections are opened, kept and closed. */
export function createConnections({ clock, memory, mostIdle }: ConnectionsDeps): Connections {
  return new Pool(clock, memory ?? createHostMemory(), mostIdle ?? 200)
}

class Pool implements Connections {
  readonly memory: HostMemory
  readonly #clock: Clock
  readonly #mostIdle: number
  readonly #lanes = new Map<string, LaneSockets>()
  readonly #stopping = new AbortController()
  #stopped = false

  constructor(clock: Clock, memory: HostMemory, mostIdle: number) {
    this.#clock = clock
    this.memory = memory
    this.#mostIdle = mostIdle
    // Every socket listens, and there may be thousands.
    setMaxListeners(0, this.#stopping.signal)
  }

  async converse(call: Call, recorder: Recorder): Promise<Said> {
    const lane = this.#laneOf(call.lane.key)
    const suits = (kept: Kept) => serves(kept, call, this.#clock.now())
    let way = await lane.way(suits, call.lane, call.until)
    if (typeof way === 'object') {
      const said = await this.#again(way, call, recorder, lane)
      // Nobody has heard of the message, let alone taken it; on a new connection that can happen no more.
      if (said) return said
      way = await lane.way(() => false, call.lane, call.until)
    }
    return way === 'new' ? this.#anew(call, recorder, lane) : failed(call, noRoom(call), null)
  }

  closeIdle(source?: string): void {
    for (const lane of this.#lanes.values())
      void lane.closeIdle(({ way }) => source === undefined || way.localAddress === source)
  }

  async close(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#lanes.values()].map((lane) => lane.closeIdle(() => true)))
  }

  destroy(): void {
    this.#stopped = true
    this.#stopping.abort()
  }

  count(): { open: number; idle: number } {
    const lanes = [...this.#lanes.values()]
    const sum = (of: (lane: LaneSockets) => number) => lanes.reduce((total, lane) => total + of(lane), 0)
    return { open: sum(({ open }) => open), idle: sum(({ idle }) => idle.length) }
  }

  #laneOf(key: string): LaneSockets {
    let lane = this.#lanes.get(key)
    if (!lane) {
      lane = new LaneSockets(this.#clock, () => this.#lanes.delete(key))
      this.#lanes.set(key, lane)
    }
    return lane
  }

  /** Over a connection that was kept; undefined when the server had given it up. */
  async #again(
    { session }: Kept,
    call: Call,
    recorder: Recorder,
    lane: LaneSockets,
  ): Promise<Said | undefined> {
    const { host, ip } = call
    const opened = new Date(session.openedAt).toISOString()
    recorder.begin('connect', { host, ip }, null).end({
      note: `Reused the connection opened at ${opened} (message ${session.messages + 1} on it).`,
    })
    session.conversation.handTo({ ...call, recorder })
    return this.#transact(session, call, lane)
  }

  /** Over a new connection, whose socket is counted already. */
  async #anew(call: Call, recorder: Recorder, lane: LaneSockets): Promise<Said> {
    const deps = { clock: this.#clock, memory: this.memory, stopping: this.#stopping.signal }
    const reached = await reach(call, recorder, deps).catch((error: unknown) => {
      lane.release() // a fault of ours must not take a place from the lane for good
      throw error
    })
    void reached.closed.then(() => lane.release())
    if (reached.kind === 'failed') return failed(call, reached.failure, reached.result)
    return (await this.#transact(reached.session, call, lane))!
  }

  /** Undefined when the session, which was kept, turned out to be over: a new one never does. */
  async #transact(session: Session, call: Call, lane: LaneSockets): Promise<Said | undefined> {
    const pipelines = this.memory.pipelines(call, this.#clock.now())
    const transacted = (await this.#turn(call)) ? await transact(session, call, pipelines) : NOT_ITS_TURN
    const { outcome, connection, stale, tookOnly } = transacted
    const { conversation, messages } = session
    const now = this.#clock.now()
    if (tookOnly !== null) this.memory.tookOnly(call, tookOnly, now)
    if (transacted.brokePipelining) this.memory.brokePipelining(call, now)
    // It wants TLS after all: the next one begins with all of it again, whatever was remembered.
    if ([...outcome.values()].some((fate) => fate.kind === 'failed' && fate.failure.kind === 'tls'))
      this.memory.forget(call)
    // A host that hangs up after so many recipients may count those of the whole connection.
    const most = this.memory.mostRecipients([call], now) < Infinity ? 1 : call.messagesPerConnection
    const keep = !this.#stopped && call.idleMs > 0 && messages < most
    if (connection === 'broken') conversation.wire.destroy()
    else if (connection === 'over' || !keep || !conversation.wire.quiet) conversation.goodbye()
    else this.#keep({ session, way: wayOf(call) }, call.idleMs, lane)
    if (stale) return undefined
    return { outcome, tls: session.tls?.info ?? null, tlsResult: tellOnce(session, call) }
  }

  /** Waits for the turn to say MAIL. False when the message has to be admitted again, or when Posthaste stops. */
  async #turn({ mailTurn }: Call): Promise<boolean> {
    for (let wait = mailTurn(); wait !== 0; wait = mailTurn()) {
      if (wait === null || this.#stopping.signal.aborted) return false
      await this.#pause(wait)
    }
    return true
  }

  /** Waits so many milliseconds, or until Posthaste stops. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(ms, resolve)
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    await promise
    cancel()
    signal.removeEventListener('abort', stop)
  }

  #keep(kept: Omit<Kept, 'since'>, idleMs: number, lane: LaneSockets): void {
    lane.keep(kept, idleMs)
    if (this.count().idle <= this.#mostIdle) return
    const oldest = [...this.#lanes.values()]
      .filter(({ idle }) => idle.length > 0)
      .reduce((a, b) => (a.idle[0]!.since <= b.idle[0]!.since ? a : b))
    oldest.closeOldest()
  }
}

const NOT_ITS_TURN: Transacted = {
  outcome: new Map(),
  connection: 'open',
  stale: false,
  tookOnly: null,
  brokePipelining: false,
}

function wayOf({ ip, port, localAddress, hostname }: Visit): Kept['way'] {
  return { ip, port, localAddress, hostname }
}

/** Whether a kept connection leads to the same place in the same way, and is as safe as it has to be. */
function serves({ session, way }: Kept, call: Call, now: number): boolean {
  const { ip, port, localAddress, hostname } = wayOf(call)
  const same = way.ip === ip && way.port === port && way.localAddress === localAddress
  return same && way.hostname === hostname && satisfies(session, call.demand, call, now)
}

/** Each domain hears once of a session, and again when its demand is another. */
function tellOnce(session: Session, { recipients, demand }: Call): TlsResult | null {
  const first = recipients[0] ?? ''
  const domain = `${demand.kind} ${first.slice(first.lastIndexOf('@') + 1).toLowerCase()}`
  if (session.told.has(domain)) return null
  session.told.add(domain)
  return session.result
}

function noRoom({ host, ip, lane }: Call): Failure {
  const note = `${host} was not contacted: all ${lane.connections} connections of ${lane.key} were in use until the attempt ended.`
  return { kind: 'internal', phase: 'connect', host, ip, reply: null, note }
}

function failed({ recipients }: Call, failure: Failure, tlsResult: TlsResult | null): Said {
  const outcome: Outcome = new Map(recipients.map((one) => [one, { kind: 'failed', failure }]))
  return { outcome, tls: null, tlsResult }
}
