import { getSteadyTime, type Clock } from '../clock/clock.ts'
import { DEADLINES } from './deadlines.ts'
import type { Session } from './session.ts'

/** A connection that waits for its next message. */
export interface IdleConnection {
  readonly session: Session
  /** The connection's destination, source IP and our EHLO name. */
  readonly way: { ip: string; port: number; localAddress: string | undefined; hostname: string }
  /** When it became idle, Unix milliseconds. */
  readonly since: number
}

/** The sockets of one lane: how many are open, and which are idle. */
export class LaneSockets {
  /** Sockets that are open, opening or closing. */
  open = 0
  readonly #clock: Clock
  readonly #empty: () => void
  /** Idle connections with a function that cancels their timer, longest idle first. */
  readonly #idle = new Map<IdleConnection, () => void>()
  /** Called when a socket becomes idle or is closed. */
  readonly #waiting = new Set<() => void>()
  /** Sockets on which we sent QUIT to close them. */
  #closing = 0

  /**
   * Creates the set of sockets of a lane.
   * @param empty called when the lane has no sockets left
   */
  constructor(clock: Clock, empty: () => void) {
    this.#clock = clock
    this.#empty = empty
  }

  /** Idle connections, longest idle first. */
  get idle(): IdleConnection[] {
    return [...this.#idle.keys()]
  }

  /**
   * Keeps a connection for `idleMs` milliseconds, or until the server sends anything, because that can only mean that
   * it is closing the connection.
   */
  keep({ session, way }: Omit<IdleConnection, 'since'>, idleMs: number): void {
    const kept: IdleConnection = { session, way, since: this.#clock.now() }
    const cancel = this.#clock.after(idleMs, () => void this.#quit(kept))
    this.#idle.set(kept, cancel)
    session.conversation.wire.rest(() => {
      if (this.#remove(kept)) session.conversation.wire.destroy()
    })
    this.#wake()
  }

  /**
   * Returns a matching idle connection, or permission to open a socket, which counts from now on. When all are in use,
   * waits until one is idle or closed; closes idle ones that don't match. Returns `none` when none becomes available by
   * `until` (steady-clock milliseconds).
   * @param lane its `connections` is read each time, because the lane's limit may change
   */
  async way(
    suits: (kept: IdleConnection) => boolean,
    lane: { readonly connections: number },
    until: number,
  ): Promise<IdleConnection | 'new' | 'none'> {
    for (;;) {
      const kept = this.#take(suits)
      const most = Math.max(1, lane.connections)
      this.#trim(most)
      if (kept) return kept
      if (this.open < most) break
      if (getSteadyTime(this.#clock) >= until) return 'none'
      await this.#change(most, until)
    }
    this.open += 1
    return 'new'
  }

  /** Uncounts a closed socket. */
  release(): void {
    this.open -= 1
    this.#wake()
    if (this.open === 0 && this.#waiting.size === 0) this.#empty()
  }

  /** Sends QUIT on the connection that has been idle longest. */
  closeOldest(): void {
    const [oldest] = this.#idle.keys()
    if (oldest) void this.#quit(oldest)
  }

  /** Sends QUIT on selected idle connections; resolves when their sockets are closed. */
  async closeIdle(meant: (kept: IdleConnection) => boolean): Promise<void> {
    await Promise.all(this.idle.filter(meant).map((kept) => this.#quit(kept)))
  }

  /** Takes the most recently used matching connection, so that the others time out. */
  #take(suits: (kept: IdleConnection) => boolean): IdleConnection | undefined {
    const kept = this.idle.findLast((one) => one.session.conversation.wire.quiet && suits(one))
    if (kept) this.#remove(kept)
    return kept
  }

  /** Sends QUIT on idle connections above a lowered limit. */
  #trim(most: number): void {
    while (this.open - this.#closing > most && this.#idle.size > 0) this.closeOldest()
  }

  /** Waits until a socket is idle or closed, at most until `until`. */
  async #change(most: number, until: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    while (this.#closing < this.open - most + this.#waiting.size && this.#idle.size > 0) this.closeOldest()
    const cancel = this.#clock.after(until - getSteadyTime(this.#clock), resolve)
    await promise
    cancel()
    this.#waiting.delete(resolve)
  }

  async #quit(kept: IdleConnection): Promise<void> {
    if (!this.#remove(kept)) return
    const { wire } = kept.session.conversation
    this.#closing += 1
    wire.quit(DEADLINES.quit)
    await wire.closed
    this.#closing -= 1
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  #remove(kept: IdleConnection): boolean {
    this.#idle.get(kept)?.()
    return this.#idle.delete(kept)
  }
}
