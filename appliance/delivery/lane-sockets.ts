import { steady, type Clock } from '../clock/clock.ts'
import { DEADLINES } from './deadlines.ts'
import type { Session } from './session.ts'

/** A connection that waits for its next message. */
export interface Kept {
  readonly session: Session
  /** Where it leads, from where, and under which name of ours. */
  readonly way: { ip: string; port: number; localAddress: string | undefined; hostname: string }
  /** Since when it waits, Unix milliseconds. */
  readonly since: number
}

/** The sockets of one lane: how many are open, and which of them are idle. */
export class LaneSockets {
  /** Sockets that are open or about to be, with those that say goodbye. */
  open = 0
  readonly #clock: Clock
  readonly #empty: () => void
  /** Each with what takes its timer back; the one that has waited longest first. */
  readonly #idle = new Map<Kept, () => void>()
  /** Told when a socket is gone. */
  readonly #waiting = new Set<() => void>()
  /** Sockets on which QUIT was said by us to get rid of them. */
  #closing = 0

  /** @param empty told when nothing is left to be remembered here */
  constructor(clock: Clock, empty: () => void) {
    this.#clock = clock
    this.#empty = empty
  }

  /** The idle ones, the one that has waited longest first. */
  get idle(): Kept[] {
    return [...this.#idle.keys()]
  }

  /** Keeps a connection for `idleMs` milliseconds, or until the server stirs: it has nothing to say now but goodbye. */
  keep({ session, way }: Omit<Kept, 'since'>, idleMs: number): void {
    const kept: Kept = { session, way, since: this.#clock.now() }
    const cancel = this.#clock.after(idleMs, () => void this.#quit(kept))
    this.#idle.set(kept, cancel)
    session.conversation.wire.rest(() => {
      if (this.#remove(kept)) session.conversation.wire.destroy()
    })
  }

  /** Takes the idle connection that was used last among those that suit, so that the others run out of time. */
  take(suits: (kept: Kept) => boolean): Kept | undefined {
    const kept = this.idle.findLast((one) => one.session.conversation.wire.quiet && suits(one))
    if (kept) this.#remove(kept)
    return kept
  }

  /** Says QUIT on idle connections beyond a limit that has become lower, as far as there are any. */
  trim(limit: number): void {
    while (this.open - this.#closing > Math.max(1, limit) && this.#idle.size > 0) this.closeOldest()
  }

  /**
   * Makes room for one more socket and counts it: idle ones are closed first, and whoever says goodbye is waited for. False when
   * there is none until `until` (milliseconds of the steady clock), because all are at work.
   */
  async reserve(limit: number, until: number): Promise<boolean> {
    const most = Math.max(1, limit)
    while (this.open >= most) {
      if (steady(this.#clock) >= until) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.add(resolve)
      while (this.#closing < this.open - most + this.#waiting.size && this.#idle.size > 0) this.closeOldest()
      const cancel = this.#clock.after(until - steady(this.#clock), resolve)
      await promise
      cancel()
      this.#waiting.delete(resolve)
    }
    this.open += 1
    return true
  }

  /** A reserved socket is gone. */
  release(): void {
    this.open -= 1
    this.#wake()
    if (this.open === 0 && this.#waiting.size === 0) this.#empty()
  }

  /** Says QUIT on the connection that has waited longest. */
  closeOldest(): void {
    const [oldest] = this.#idle.keys()
    if (oldest) void this.#quit(oldest)
  }

  /** Says QUIT on the idle connections that are meant; resolves when their sockets are gone. */
  async closeIdle(meant: (kept: Kept) => boolean): Promise<void> {
    await Promise.all(this.idle.filter(meant).map((kept) => this.#quit(kept)))
  }

  async #quit(kept: Kept): Promise<void> {
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

  #remove(kept: Kept): boolean {
    this.#idle.get(kept)?.()
    return this.#idle.delete(kept)
  }
}
