/** Chooses the next due deliveries. Decides on plain data, which it reads from `DueQueueReader` in batches. */
import {
  getQueueDestination,
  includesPool,
  MAX_RECIPIENTS_PER_MESSAGE,
  type PoolFilter,
} from '../../mail/queue.ts'
import type { Stream } from '../../mail/source.ts'
import {
  type Candidate,
  type DueQueue,
  type DueQueueReader,
  toDueQueues,
  type Siblings,
} from './due-queues.ts'
import { FairQueue } from './fairness.ts'

export interface LeaseArgs {
  /** Identifies the run of the process that leases. `settle` must pass the same value. */
  owner: string
  /** Maximum number of messages. The recipients of one email in the same domain and queue share a message. */
  limit: number
  /** Number of messages that each destination (`formatDestination`) can accept now; 0 if it is closed. */
  room: Record<string, number>
  /** The same number for each destination that isn't in `room`. */
  roomElse: number
  /** The pools to lease from; undefined for all. */
  pools?: PoolFilter | undefined
  /**
   * Maximum number of recipients per message, by default `MAX_RECIPIENTS_PER_MESSAGE`. Further recipients become
   * another message.
   */
  recipients?: number | undefined
  /** When the lease ends if the owner crashes (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds from each attempt to the next, in order; the last entry repeats. Set before any connection, so that a
   * process that crashes in every attempt still keeps the schedule.
   */
  retryDelays: readonly number[]
}

/**
 * Minimum number of rows to examine at the head of each stream before the queues are searched one by one. A larger `limit`
 * increases it.
 */
const LEAST_HEAD = 128

const HEAD_FACTOR = 4

/** Maximum number of destinations that compete for the slots of a lease at a time. A slot is one message. */
const MOST_DESTINATIONS = 128

/**
 * Minimum number of these destinations even with few slots: those at the heads of both streams, so that both streams have a
 * chance.
 */
const LEAST_DESTINATIONS = 4

/** Number of queues to examine for a destination and stream, in addition to the number of its slots. */
const SPARE_QUEUES = 8

/**
 * Maximum number of deliveries per lease, however many recipients its messages have. They take about 50 ms of the writer
 * thread.
 */
const MOST_DELIVERIES = 2000

/** A destination with capacity, and its queues with due mail. */
interface Open {
  name: string
  lines: DueQueue[]
}

/**
 * Creates the function that chooses which due deliveries to lease. It returns their row numbers in order (see
 * `Storage.lease` for the rules).
 *
 * Usually, the heads of both streams, by due time, include everything that is due, and it chooses among them. If more is
 * due, it searches each destination's queues instead: behind the head of the queue (a million emails of one team to one
 * provider, which accepts ten at a time), there may be another team or another destination.
 */
export function createDeliveryChooser(lines: DueQueueReader): (args: LeaseArgs, now: number) => number[] {
  const turns = new FairQueue()
  return (args, now) => {
    lines.begin()
    const choice = new Choice(args, lines, turns, now)
    const most = Math.max(LEAST_HEAD, args.limit * HEAD_FACTOR)
    const heads = lines.heads(now, most)
    const asked = heads.filter(({ rows }) => rows.length === most).map(({ stream }) => stream)
    const known = heads.filter(({ stream }) => !asked.includes(stream)).flatMap(toDueQueues)
    choice.meet(known)
    const view: View = { asked, known: Map.groupBy(known, ({ queue }) => getQueueDestination(queue)) }
    const names = inTurn(heads.map(({ rows }) => rows.map(({ queue }) => getQueueDestination(queue))))
    choice.serveAll(choice.openOf([...names], view))
    if (asked.length > 0) choice.serveAll(choice.openElsewhere(view), (name) => lines.stopAfter(name))
    return choice.taken
  }
}

/**
 * The known state of the queues: all queues of some streams by destination, and the streams that must still be read from
 * the spool.
 */
interface View {
  asked: Stream[]
  known: Map<string, DueQueue[]>
}

/** Merges lists by taking one value from each in turn. Each value occurs once in the result. */
function inTurn(lists: string[][]): Set<string> {
  const longest = Math.max(...lists.map((list) => list.length))
  const values = new Set<string>()
  for (let at = 0; at < longest; at++) for (const list of lists) if (at < list.length) values.add(list[at]!)
  return values
}

/** The limits of one lease in messages, and the deliveries chosen so far. */
class Choice {
  readonly #args: LeaseArgs
  readonly #lines: DueQueueReader
  readonly #turns: FairQueue
  readonly #now: number
  readonly #seen = new Set<string>()
  /** Number of messages chosen for each destination, and number of their recipients. */
  readonly #messages = new Map<string, number>()
  readonly #recipients = new Map<string, number>()
  readonly #taken = new Set<number>()
  /** For each delivery, the deliveries that can share a message with it, if any. */
  readonly #siblings = new Map<number, Siblings>()
  #left: number

  constructor(args: LeaseArgs, lines: DueQueueReader, turns: FairQueue, now: number) {
    this.#args = args
    this.#lines = lines
    this.#turns = turns
    this.#now = now
    this.#left = args.limit
  }

  get taken(): number[] {
    return [...this.#taken]
  }

  get room(): number {
    return this.#taken.size < MOST_DELIVERIES ? this.#left : 0
  }

  get #mostRecipients(): number {
    return this.#args.recipients ?? MAX_RECIPIENTS_PER_MESSAGE
  }

  roomIn(destination: string): number {
    const { room, roomElse, pools } = this.#args
    if (!includesPool(pools, destination)) return 0
    const allowed = Object.hasOwn(room, destination) ? room[destination]! : roomElse
    return Math.min(this.room, allowed - (this.#messages.get(destination) ?? 0))
  }

  /** Number of destinations that compete for the slots at a time. */
  get #portion(): number {
    return Math.min(MOST_DESTINATIONS, Math.max(LEAST_DESTINATIONS, this.room))
  }

  /**
   * Fills the slots from destinations in portions, while there are slots.
   * @param stopped called with the last destination served when no slots are left
   */
  serveAll(source: Iterable<Open[]>, stopped?: (destination: string) => void): void {
    const open: Open[] = []
    for (const found of source) {
      open.push(...found)
      while (open.length >= this.#portion) {
        const portion = open.splice(0, this.#portion)
        this.#serve(portion)
        if (this.room > 0) continue
        stopped?.(portion.at(-1)!.name)
        return
      }
    }
    this.#serve(open)
  }

  /** Yields the named destinations with capacity and due mail, with their queues, in portions. */
  *openOf(names: readonly string[], view: View): Generator<Open[]> {
    for (let at = 0; at < names.length && this.room > 0;) {
      const portion = names.slice(at, at + this.#portion)
      at += portion.length
      yield this.#open(portion, view)
    }
  }

  /** Yields all destinations with capacity that weren't named. */
  *openElsewhere(view: View): Generator<Open[]> {
    if (this.room <= 0) return
    const { room } = this.#args
    const closed = Object.keys(room).filter((name) => this.roomIn(name) <= 0)
    const skipped = [...new Set([...closed, ...this.#seen])]
    for (const found of this.#lines.round(skipped, this.room + SPARE_QUEUES, this.#now)) {
      const fresh = [...found].filter(([name]) => this.#isNew(name))
      const crowded = this.#open(
        fresh.flatMap(([name, lines]) => (lines ? [] : [name])),
        view,
      )
      yield fresh.flatMap(([name, lines]) => {
        if (!lines) return crowded.filter((one) => one.name === name)
        this.#seen.add(name)
        const own = [
          ...lines.filter(({ stream }) => view.asked.includes(stream)),
          ...(view.known.get(name) ?? []),
        ]
        return own.length > 0 ? [{ name, lines: own }] : []
      })
      if (this.room <= 0) return
    }
  }

  #isNew(destination: string): boolean {
    return !this.#seen.has(destination) && this.roomIn(destination) > 0
  }

  /** Returns the named destinations with their queues. Broadcast queues come first, as in the index. */
  #open(names: readonly string[], { asked, known }: View): Open[] {
    const fresh = names.filter((name) => this.#isNew(name))
    for (const name of fresh) this.#seen.add(name)
    const wanted = fresh.map((destination) => {
      return { destination, streams: asked.toSorted(), window: this.roomIn(destination) + SPARE_QUEUES }
    })
    const found = asked.length > 0 && wanted.length > 0 ? this.#lines.queues(wanted, this.#now) : undefined
    return fresh.flatMap((name) => {
      const lines = [...(found?.get(name) ?? []), ...(known.get(name) ?? [])]
      return lines.length > 0 ? [{ name, lines }] : []
    })
  }

  /**
   * Fills the slots. For each slot, every destination nominates its next queue, and the nominee whose turn it is gets the
   * slot.
   */
  #serve(open: Open[]): void {
    const nominees = new Map<DueQueue, Open>()
    let ahead = Math.ceil(this.room / Math.max(1, open.length))
    const nominate = (destination: Open): void => {
      if (this.roomIn(destination.name) <= 0) return
      const line = this.#nominee(destination, () => {
        this.#readAhead(open, ahead)
        ahead *= 2
      })
      if (line) nominees.set(line, destination)
    }
    open.forEach(nominate)
    while (this.room > 0 && nominees.size > 0) {
      const waiting = [...nominees.keys()]
      const line = this.#turns.next('', waiting, 'dueAt')
      const destination = nominees.get(line)!
      const deliveries = this.#take(line, destination.name)
      this.#turns.took('', line, deliveries, waiting)
      this.#turns.took(destination.name, line, deliveries, destination.lines)
      this.#lines.served(line)
      nominees.delete(line)
      if (!this.#ready(line, destination)) drop(destination, line)
      nominate(destination)
    }
  }

  /**
   * Returns the queue of a destination whose turn it is; undefined if there is none.
   * @param readAhead reads the next queues
   */
  #nominee(destination: Open, readAhead: () => void): DueQueue | undefined {
    while (destination.lines.length > 0) {
      const line = this.#turns.next(destination.name, destination.lines, 'rank')
      if (!line.read) readAhead()
      if (this.#ready(line, destination)) return line
      drop(destination, line)
    }
    return undefined
  }

  /**
   * Reads the next queues of all these destinations. Most of them contribute nothing.
   * @param most maximum number of queues for each destination and stream
   */
  #readAhead(open: readonly Open[], most: number): void {
    const lines = open.flatMap(({ name, lines }) => {
      const unread = lines.filter(({ read }) => !read)
      return this.roomIn(name) > 0 ? this.#turns.order(name, unread, Math.min(most, this.roomIn(name))) : []
    })
    this.#read(lines, Math.ceil((2 * this.room) / lines.length) + 2)
  }

  #read(lines: readonly DueQueue[], most: number): void {
    this.#lines.read(lines, this.#now, most)
    this.meet(lines)
  }

  /**
   * Finds the siblings of the rows that were read. For a fully read queue, searches only for emails with several rows in
   * it.
   */
  meet(lines: readonly DueQueue[]): void {
    if (this.#mostRecipients === 1) return
    const asked = lines.flatMap(({ rows, more }) => {
      const unmet = rows.filter(({ row }) => !this.#siblings.has(row))
      if (more) return unmet.filter(({ several }) => several)
      const times = Map.groupBy(rows, ({ emailId }) => emailId)
      return unmet.filter(({ emailId }) => times.get(emailId)!.length > 1)
    })
    if (asked.length > 0) this.#meet(asked, this.#mostRecipients)
  }

  #meet(asked: readonly Candidate[], most: number): void {
    for (const [row, group] of this.#lines.siblings(asked, this.#now, most)) this.#siblings.set(row, group)
  }

  /** Chooses one message: the oldest delivery of a queue and its siblings. Returns the number of deliveries. */
  #take({ rows }: DueQueue, destination: string): number {
    const most = this.#mostRecipients
    const before = this.#taken.size
    const first = rows[0]!
    const taken = this.#recipients.get(destination) ?? 0
    this.#taken.add(first.row)
    // The siblings found first may already be chosen with an earlier message. Read more if too few are left.
    const known = this.#siblings.get(first.row)
    if (known?.more && known.rows.filter((row) => !this.#taken.has(row)).length < most - 1)
      this.#meet([first], most + taken)
    for (const row of this.#siblings.get(first.row)?.rows ?? [])
      if (this.#taken.size - before < most) this.#taken.add(row)
    const deliveries = this.#taken.size - before
    this.#left -= 1
    this.#messages.set(destination, (this.#messages.get(destination) ?? 0) + 1)
    this.#recipients.set(destination, taken + deliveries)
    return deliveries
  }

  /** Whether a queue has a row that isn't chosen yet. Removes the rows before it, and reads more rows if necessary. */
  #ready(line: DueQueue, { name, lines }: Open): boolean {
    let most = Math.ceil(this.roomIn(name) / lines.length) + 1
    for (;;) {
      const first = line.rows.findIndex(({ row }) => !this.#taken.has(row))
      if (first > 0) line.rows.splice(0, first)
      if (first >= 0) break
      if (!line.more) return false
      // Double the limit, so that the number of reads stays small however many recipients messages have.
      most = 2 * (most + (this.#recipients.get(name) ?? 0))
      this.#read([line], most)
    }
    line.dueAt = line.rows[0]!.dueAt
    if (!line.partial) line.rank = line.dueAt
    return true
  }
}

function drop(destination: Open, line: DueQueue): void {
  destination.lines = destination.lines.filter((one) => one !== line)
}
