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
  /** Told when a socket is idle or gone. */
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
    this.#wake()
  }

  /**
   * A way for one message: an idle connection that suits, else the leave to open one more socket, which is counted from now on. Where
   * all are at work it waits for the first that is idle again or gone; idle ones that do not suit are closed for it. `none` when there
   * is no way until `until` (milliseconds of the steady clock).
   * @param lane its `connections` is read each time: a lane may be given more or fewer meanwhile
   */
  async way(
    suits: (kept: Kept) => boolean,
    lane: { readonly connections: number },
    until: number,
  ): Promise<Kept | 'new' | 'none'> {
    for (;;) {
      const kept = this.#take(suits)
      const most = Math.max(1, lane.connections)
      this.#trim(most)
      if (kept) return kept
      if (this.open < most) break
      if (steady(this.#clock) >= until) return 'none'
      await this.#change(most, until)
    }
    this.open += 1
    return 'new'
  }

  /** A socket is gone that was counted. */
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

  /** Takes the idle connection that was used last among those that suit, so that the others run out of time. */
  #take(suits: (kept: Kept) => boolean): Kept | undefined {
    const kept = this.idle.findLast((one) => one.session.conversation.wire.quiet && suits(one))
    if (kept) this.#remove(kept)
    return kept
  }

  /** Says QUIT on idle connections beyond a limit that has become lower, as far as there are any. */
  #trim(most: number): void {
    while (this.open - this.#closing > most && this.#idle.size > 0) this.closeOldest()
  }

  /** Waits until a socket is idle or gone, at most to `until`. */
  async #change(most: number, until: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    while (this.#closing < this.open - most + this.#waiting.size && this.#idle.size > 0) this.closeOldest()
    const cancel = this.#clock.after(until - steady(this.#clock), resolve)
    await promise
    cancel()
    this.#waiting.delete(resolve)
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
