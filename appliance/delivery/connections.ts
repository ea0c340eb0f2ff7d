import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock/clock.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import { createHostMemory, type HostMemory } from './host-cache.ts'
import { type IdleConnection, LaneSockets } from './lane-sockets.ts'
import type { Failure, Outcome } from './outcome.ts'
import { connectWithFallback, type ConnectRequest } from './open-connection.ts'
import type { Recorder } from './recorder.ts'
import { meetsDemand, type Session } from './session.ts'
import type { TlsResult } from './tls.ts'
import { runTransaction, type TransactionResult } from './transaction.ts'

/** A message for one IP, and the limits of its lane. */
export interface ConversationRequest extends ConnectRequest {
  /** The lane that owns the connections, and how many it may have open now, including idle ones. */
  lane: { readonly key: string; readonly connections: number }
  /**
   * Called right before MAIL. 0 means that MAIL may be sent now, and counts a message. A positive number is the
   * milliseconds to wait before calling again. Null means that the message must be admitted again; its recipients get
   * no result.
   */
  mailTurn: () => number | null
  /** Messages per connection before it is closed. */
  messagesPerConnection: number
  /** How long a connection is kept idle, in milliseconds; 0 closes it at once. */
  idleMs: number
}

/** The result of one conversation. */
export interface ConversationResult {
  outcome: Outcome
  /** TLS of the last connection; null for plaintext. */
  tls: TlsInfo | null
  /**
   * TLS result of the session, for reports to the receiver. Null when it failed before EHLO, and for further messages
   * to the same domain on the same connection, because reports count sessions (RFC 8460 §4.1).
   */
  tlsResult: TlsResult | null
}

/** All outgoing SMTP connections. */
export interface Connections {
  /** Sends a message to one IP, over a kept connection if there is one. Never throws because of the network. */
  converse(call: ConversationRequest, recorder: Recorder): Promise<ConversationResult>
  /** What previous connections revealed about hosts; `memory.order` returns the order in which to try IPs. */
  readonly memory: HostMemory
  /** Sends QUIT on idle connections from all source IPs or from one. */
  closeIdle(source?: string): void
  /**
   * Closes idle connections and keeps no new ones. Resolves when the idle ones are closed; conversations in progress
   * continue to their end.
   */
  close(): Promise<void>
  /** Destroys every socket and opens no new ones. Conversations in progress fail with `stopped`. */
  destroy(): void
  /** Destroys every socket, so that conversations in progress end. New connections can still be opened. */
  cut(): void
  /** Returns the number of open sockets, and of idle ones among them, over all lanes. */
  count(): { open: number; idle: number }
}

export interface ConnectionsDeps {
  clock: Clock
  /** Default: an empty memory. */
  memory?: HostMemory
  /** Maximum idle connections of all lanes; above it, the one idle for longest is closed. Default 200. */
  mostIdle?: number
  /** Whether other nodes may take over deliveries in progress, so that no message is sent anymore. Default: never. */
  mayBeTakenOver?: (() => boolean) | undefined
}

/** Creates the connections. */
export function createConnections(deps: ConnectionsDeps): Connections {
  return new Pool(deps)
}

class Pool implements Connections {
  readonly memory: HostMemory
  readonly #clock: Clock
  readonly #mostIdle: number
  readonly #mayBeTakenOver: () => boolean
  readonly #lanes = new Map<string, LaneSockets>()
  #stopping = new AbortController()
  #stopped = false

  constructor({ clock, memory, mostIdle, mayBeTakenOver }: ConnectionsDeps) {
    this.#clock = clock
    this.memory = memory ?? createHostMemory()
    this.#mostIdle = mostIdle ?? 200
    this.#mayBeTakenOver = mayBeTakenOver ?? (() => false)
    this.#expectMany()
  }

  /** Disables the limit on abort listeners: every socket adds one, and there may be thousands of sockets. */
  #expectMany(): void {
    setMaxListeners(0, this.#stopping.signal)
  }

  async converse(call: ConversationRequest, recorder: Recorder): Promise<ConversationResult> {
    let lane = this.#laneOf(call.lane.key)
    const suits = (kept: IdleConnection) => serves(kept, call, this.#clock.now())
    let way = await lane.way(suits, call.lane, call.until)
    if (typeof way === 'object') {
      const said = await this.#again(way, call, recorder, lane)
      // No server has seen the message. On a new connection this can't happen again.
      if (said) return said
      // The lane was removed if this was its only connection.
      lane = this.#laneOf(call.lane.key)
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

  cut(): void {
    this.#stopping.abort()
    if (this.#stopped) return
    this.#stopping = new AbortController()
    this.#expectMany()
  }

  count(): { open: number; idle: number } {
    const lanes = [...this.#lanes.values()]
    const sum = (of: (lane: LaneSockets) => number) => lanes.reduce((total, lane) => total + of(lane), 0)
    return { open: sum(({ open }) => open), idle: sum(({ idle }) => idle.length) }
  }

  #laneOf(key: string): LaneSockets {
    const known = this.#lanes.get(key)
    if (known) return known
    const lane = new LaneSockets(this.#clock, () => {
      if (this.#lanes.get(key) === lane) this.#lanes.delete(key)
    })
    this.#lanes.set(key, lane)
    return lane
  }

  /** Sends over a kept connection. Returns undefined when the server had already closed it. */
  async #again(
    { session }: IdleConnection,
    call: ConversationRequest,
    recorder: Recorder,
    lane: LaneSockets,
  ): Promise<ConversationResult | undefined> {
    const { host, ip } = call
    const opened = new Date(session.openedAt).toISOString()
    recorder.begin('connect', { host, ip }, null).end({
      note: `Reused the connection opened at ${opened} (message ${session.messages + 1} on it).`,
    })
    session.conversation.handTo({ ...call, recorder })
    return this.#transact(session, call, lane)
  }

  /** Sends over a new connection, whose socket is already counted. */
  async #anew(call: ConversationRequest, recorder: Recorder, lane: LaneSockets): Promise<ConversationResult> {
    const deps = { clock: this.#clock, memory: this.memory, stopping: this.#stopping.signal }
    const reached = await connectWithFallback(call, recorder, deps).catch((error: unknown) => {
      lane.release() // a bug must not reduce the lane permanently
      throw error
    })
    void reached.closed.then(() => lane.release())
    if (reached.kind === 'failed') return failed(call, reached.failure, reached.result)
    return (await this.#transact(reached.session, call, lane))!
  }

  /** Runs a transaction. Returns undefined when a kept session turned out to be closed; never for a new session. */
  async #transact(
    session: Session,
    call: ConversationRequest,
    lane: LaneSockets,
  ): Promise<ConversationResult | undefined> {
    const mayPipeline = this.memory.pipelines(call, this.#clock.now())
    const transacted = (await this.#turn(call))
      ? await runTransaction(session, call, { mayPipeline, mayBeTakenOver: this.#mayBeTakenOver })
      : NOT_ITS_TURN
    const { outcome, connection, stale, tookOnly } = transacted
    const { conversation, messages } = session
    const now = this.#clock.now()
    if (tookOnly !== null) this.memory.tookOnly(call, tookOnly, now)
    if (transacted.brokePipelining) this.memory.brokePipelining(call, now)
    // The server requires TLS after all. The next session starts with full TLS, whatever was remembered.
    if ([...outcome.values()].some((fate) => fate.kind === 'failed' && fate.failure.kind === 'tls'))
      this.memory.forget(call)
    // A host that hangs up after a number of recipients may count the recipients of the whole connection.
    const most = this.memory.mostRecipients([call], now) < Infinity ? 1 : call.messagesPerConnection
    const keep = !this.#stopped && call.idleMs > 0 && messages < most
    if (connection === 'broken') conversation.wire.destroy()
    else if (connection === 'over' || !keep || !conversation.wire.quiet) conversation.goodbye()
    else this.#keep({ session, way: wayOf(call) }, call.idleMs, lane)
    if (stale) return undefined
    return { outcome, tls: session.tls?.info ?? null, tlsResult: tellOnce(session, call) }
  }

  /** Waits until MAIL may be sent. Returns false when the message must be admitted again, or when Posthaste stops. */
  async #turn({ mailTurn }: ConversationRequest): Promise<boolean> {
    for (let wait = mailTurn(); wait !== 0; wait = mailTurn()) {
      if (wait === null || this.#stopping.signal.aborted) return false
      await this.#pause(wait)
    }
    return true
  }

  /** Waits `ms` milliseconds, or until Posthaste stops. */
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

  #keep(kept: Omit<IdleConnection, 'since'>, idleMs: number, lane: LaneSockets): void {
    lane.keep(kept, idleMs)
    if (this.count().idle <= this.#mostIdle) return
    const oldest = [...this.#lanes.values()]
      .filter(({ idle }) => idle.length > 0)
      .reduce((a, b) => (a.idle[0]!.since <= b.idle[0]!.since ? a : b))
    oldest.closeOldest()
  }
}

const NOT_ITS_TURN: TransactionResult = {
  outcome: new Map(),
  connection: 'open',
  stale: false,
  tookOnly: null,
  brokePipelining: false,
}

function wayOf({ ip, port, localAddress, hostname }: ConnectRequest): IdleConnection['way'] {
  return { ip, port, localAddress, hostname }
}

/** Whether a kept connection has the same destination and source IP, and meets the TLS requirements. */
function serves({ session, way }: IdleConnection, call: ConversationRequest, now: number): boolean {
  const { ip, port, localAddress, hostname } = wayOf(call)
  const same = way.ip === ip && way.port === port && way.localAddress === localAddress
  return same && way.hostname === hostname && meetsDemand(session, call.demand, call, now)
}

/** Returns a session's TLS result once per domain, and again when the domain's requirements changed. */
function tellOnce(session: Session, { recipients, demand }: ConversationRequest): TlsResult | null {
  const first = recipients[0] ?? ''
  const domain = `${demand.kind} ${first.slice(first.lastIndexOf('@') + 1).toLowerCase()}`
  if (session.told.has(domain)) return null
  session.told.add(domain)
  return session.result
}

function noRoom({ host, ip, lane }: ConversationRequest): Failure {
  const note = `${host} was not contacted: all ${lane.connections} connections of ${lane.key} were in use until the attempt ended.`
  return { kind: 'internal', phase: 'connect', host, ip, reply: null, note }
}

function failed(
  { recipients }: ConversationRequest,
  failure: Failure,
  tlsResult: TlsResult | null,
): ConversationResult {
  const outcome: Outcome = new Map(recipients.map((one) => [one, { kind: 'failed', failure }]))
  return { outcome, tls: null, tlsResult }
}
