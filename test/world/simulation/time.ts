/**
 * Simulated time, shared by the daemon's thread and the receivers' thread: real time plus an offset that only grows.
 * Work runs at its real speed; waiting is skipped.
 */

/** Milliseconds, as bigint because the offset may exceed 2^31. */
const OFFSET = 0
const RECEIVERS_DUE = 1
const NEVER = 2n ** 62n

/**
 * State shared between threads: the offset, when a receiver acts next, how many receivers are waiting, and an event
 * counter.
 */
export class SharedTime {
  readonly buffer: SharedArrayBuffer
  readonly #instants: BigInt64Array
  readonly #events: Int32Array

  /** @param buffer of another thread's `SharedTime`, to share its state */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(24)) {
    this.buffer = buffer
    this.#instants = new BigInt64Array(buffer, 0, 2)
    this.#events = new Int32Array(buffer, 16, 2)
  }

  /** Unix milliseconds of the simulation. */
  now(): number {
    return Date.now() + Number(Atomics.load(this.#instants, OFFSET))
  }

  /** Skips ahead by whole milliseconds. */
  skip(ms: number): void {
    Atomics.add(this.#instants, OFFSET, BigInt(Math.max(0, Math.ceil(ms))))
  }

  /** When a receiver next acts by itself; Infinity if none waits for time to pass. */
  get receiversDue(): number {
    const due = Atomics.load(this.#instants, RECEIVERS_DUE)
    return due === 0n || due === NEVER ? Infinity : Number(due)
  }

  set receiversDue(due: number) {
    Atomics.store(this.#instants, RECEIVERS_DUE, due === Infinity ? NEVER : BigInt(Math.ceil(due)))
  }

  /** Number of conversations whose receiver waits for time to pass or never replies again. */
  get patient(): number {
    return Atomics.load(this.#events, 1)
  }

  /** Changes the number of such conversations. */
  addPatient(by: 1 | -1): void {
    Atomics.add(this.#events, 1, by)
  }

  /** Records that something happened on a socket. */
  note(): void {
    Atomics.add(this.#events, 0, 1)
  }

  /** Grows with each `note()`. */
  get events(): number {
    return Atomics.load(this.#events, 0)
  }
}

interface Timer {
  due: number
  /** Keeps timers for the same instant in the order in which they were set. */
  order: number
  callback: (() => void) | null
}

/**
 * Timers on a clock that can skip ahead. A binary heap, because each delivery sets a dozen timers and cancels most of
 * them.
 */
export class Timers {
  readonly #now: () => number
  readonly #heap: Timer[] = []
  #order = 0
  #real: NodeJS.Timeout | undefined
  #realDue = Infinity
  readonly #tell: (nextDue: number) => void
  /** Number of timers that have fired. */
  fired = 0

  /** @param tell called when the time of the next timer may have changed */
  constructor(now: () => number, tell: (nextDue: number) => void = () => undefined) {
    this.#now = now
    this.#tell = tell
  }

  /** Calls `callback` once, in `ms` milliseconds. The returned function cancels it. */
  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { due: this.#now() + Math.max(0, ms), order: this.#order++, callback }
    this.#push(timer)
    if (timer.due < this.#realDue) this.#arm(timer.due)
    return () => (timer.callback = null)
  }

  /** When the next timer is due; Infinity if there is none. */
  get nextDue(): number {
    while (this.#heap[0]?.callback === null) this.#pop()
    return this.#heap[0]?.due ?? Infinity
  }

  /** Calls all due timers in order. Must be called after the clock skips ahead. */
  fire(): void {
    for (let due = this.nextDue; due <= this.#now(); due = this.nextDue) {
      const { callback } = this.#pop()
      this.fired++
      callback?.()
    }
    this.#arm(this.nextDue)
  }

  /** Sets one real timer for the earliest timer, because real time passes too. */
  #arm(due: number): void {
    clearTimeout(this.#real)
    this.#realDue = due
    this.#tell(due)
    if (due === Infinity) return
    const wait = Math.min(Math.max(0, due - this.#now()), 2_147_483_647)
    this.#real = setTimeout(() => {
      this.#realDue = Infinity
      this.fire()
    }, wait)
    this.#real.unref()
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!earlier(timer, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = timer
  }

  #pop(): Timer {
    const heap = this.#heap
    const first = heap[0]!
    const last = heap.pop()!
    if (heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below + 1 < heap.length && earlier(heap[below + 1]!, heap[below]!)) below++
      if (below >= heap.length || !earlier(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}

const earlier = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.order < b.order)
