/** Simulates outgoing SMTP connections: the same limits and order, with a model of the receiver at the other end. */
import type { Clock } from '../clock/clock.ts'
import {
  createHostMemory,
  type ConversationRequest,
  type Connections,
  type Failure,
  type ConversationResult,
} from '../delivery/delivery.ts'
import type { Phase } from '../mail/bounce.ts'
import { parseReply, type Reply } from '../mail/reply.ts'
import type { OpenConnection, Server } from './server.ts'

/**
 * Number of round trips before MAIL on a new connection: TCP, greeting and EHLO, STARTTLS, the TLS handshake, EHLO
 * again.
 */
const OPENING = 5

/** The reply to an accepted message. */
const ACCEPTED: Reply = { code: 250, enhanced: '2.0.0', text: 'Ok' }

interface Idle {
  server: Server
  opened: OpenConnection
  ip: string
  cancel: () => void
}

/** The connections of one lane. */
interface Pool {
  /** Number of connections that are open or opening, including idle ones. */
  open: number
  idle: Idle[]
  waiting: Set<() => void>
}

type Outcome = ConversationResult['outcome']

/** @param serverAt returns the receiver at an IP */
export function createSimulatedConnections(clock: Clock, serverAt: (ip: string) => Server): Connections {
  return new Simulated(clock, serverAt)
}

class Simulated implements Connections {
  readonly memory = createHostMemory()
  readonly #clock: Clock
  readonly #serverAt: (ip: string) => Server
  readonly #pools = new Map<string, Pool>()

  constructor(clock: Clock, serverAt: (ip: string) => Server) {
    this.#clock = clock
    this.#serverAt = serverAt
  }

  async converse(call: ConversationRequest): Promise<ConversationResult> {
    const server = this.#serverAt(call.ip)
    const pool = this.#poolOf(call.lane.key)
    const taken = await this.#take(pool, call)
    if (taken === 'none') return said(failAll(call, 'connect', null))
    let opened: OpenConnection | undefined = taken === 'new' ? undefined : taken
    if (!opened) {
      await this.#pause(OPENING * server.receiver.roundTripMs)
      const answer = server.connect(sourceOf(call), this.#clock.now())
      if ('reply' in answer) {
        this.#release(pool)
        return said(failAll(call, 'greeting', this.#read(answer.reply, call)))
      }
      opened = answer
    }
    const { outcome, ends } = await this.#transact(server, opened, call)
    if (ends || opened.messages >= call.messagesPerConnection || call.idleMs === 0) {
      server.close(opened)
      this.#release(pool)
    } else this.#keep(pool, { server, opened, ip: call.ip }, call.idleMs)
    return said(outcome)
  }

  closeIdle(): void {
    // No source is removed during a simulation.
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  destroy(): void {
    // There is no socket to close.
  }

  cut(): void {
    // There is no other node in a simulation.
  }

  count(): { open: number; idle: number } {
    const pools = [...this.#pools.values()]
    const sum = (of: (pool: Pool) => number): number => pools.reduce((total, pool) => total + of(pool), 0)
    return { open: sum(({ open }) => open), idle: sum(({ idle }) => idle.length) }
  }

  async #transact(
    server: Server,
    opened: OpenConnection,
    call: ConversationRequest,
  ): Promise<{ outcome: Outcome; ends: boolean }> {
    for (let wait = call.mailTurn(); wait !== 0; wait = call.mailTurn()) {
      if (wait === null) return { outcome: new Map(), ends: false }
      await this.#pause(wait)
    }
    const { roundTripMs, acceptMs } = server.receiver
    const refused = server.mail(opened, this.#clock.now())
    // MAIL, RCPT and DATA are sent together (RFC 2920).
    await this.#pause(roundTripMs)
    if (refused)
      return { outcome: failAll(call, 'mail', this.#read(refused.reply, call)), ends: refused.ends }
    const outcome: Outcome = new Map()
    const accepted: string[] = []
    for (const recipient of call.recipients) {
      const reply = server.rcpt(recipient, accepted.length, this.#clock.now())
      if (reply === undefined) accepted.push(recipient)
      else
        outcome.set(recipient, {
          kind: 'failed',
          failure: failure(call, 'rcpt', this.#read(reply, call, recipient)),
        })
    }
    if (accepted.length === 0) return { outcome, ends: false }
    await this.#pause(roundTripMs + acceptMs)
    const { host, ip } = call
    for (const recipient of accepted) outcome.set(recipient, { kind: 'accepted', host, ip, reply: ACCEPTED })
    return { outcome, ends: false }
  }

  #read(reply: string, call: ConversationRequest, recipient = ''): Reply {
    const text = reply.replaceAll('{ip}', sourceOf(call)).replaceAll('{recipient}', recipient)
    return parseReply(text) ?? { code: 451, enhanced: null, text }
  }

  /**
   * Returns an idle connection, or `new` if one may be opened. Waits while all are in use; returns `none` if the
   * attempt ends first.
   */
  async #take(pool: Pool, call: ConversationRequest): Promise<OpenConnection | 'new' | 'none'> {
    for (;;) {
      const at = pool.idle.findLastIndex(({ ip, opened }) => ip === call.ip && opened.ip === sourceOf(call))
      const [kept] = at < 0 ? [] : pool.idle.splice(at, 1)
      kept?.cancel()
      if (kept) return kept.opened
      if (pool.open < Math.max(1, call.lane.connections)) break
      const [oldest] = pool.idle.splice(0, 1)
      if (oldest) {
        oldest.cancel()
        oldest.server.close(oldest.opened)
        pool.open -= 1
        continue
      }
      if (this.#clock.now() >= call.until) return 'none'
      await this.#change(pool, call.until)
    }
    pool.open += 1
    return 'new'
  }

  /** Waits until a connection is idle or closed. */
  async #change({ waiting }: Pool, until: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.add(resolve)
    const cancel = this.#clock.after(until - this.#clock.now(), resolve)
    await promise
    cancel()
    waiting.delete(resolve)
  }

  #keep(pool: Pool, { server, opened, ip }: Omit<Idle, 'cancel'>, idleMs: number): void {
    const idle: Idle = {
      server,
      opened,
      ip,
      cancel: this.#clock.after(idleMs, () => {
        pool.idle.splice(pool.idle.indexOf(idle), 1)
        server.close(opened)
        this.#release(pool)
      }),
    }
    pool.idle.push(idle)
    wake(pool)
  }

  #release(pool: Pool): void {
    pool.open -= 1
    wake(pool)
  }

  #poolOf(key: string): Pool {
    let pool = this.#pools.get(key)
    if (!pool) {
      pool = { open: 0, idle: [], waiting: new Set() }
      this.#pools.set(key, pool)
    }
    return pool
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve))
  }
}

function wake({ waiting }: Pool): void {
  for (const resolve of waiting) resolve()
}

/** The source IP as the receiver sees it. */
const sourceOf = ({ localAddress }: ConversationRequest): string => localAddress ?? 'auto'

const said = (outcome: Outcome): ConversationResult => ({ outcome, tls: null, tlsResult: null })

function failAll(call: ConversationRequest, phase: Phase, reply: Reply | null): Outcome {
  return new Map(
    call.recipients.map((one) => [one, { kind: 'failed', failure: failure(call, phase, reply) }]),
  )
}

const failure = ({ host, ip }: ConversationRequest, phase: Phase, reply: Reply | null): Failure => ({
  kind: reply ? 'reply' : 'internal',
  phase,
  host,
  ip,
  reply,
  note: reply ? '' : `${host} was not contacted: all connections were in use until the attempt ended.`,
})
