/** Chooses the next due deliveries. Decides on plain data, which it reads from `Lines` in batches. */
import { destinationOfQueue, includesPool, MOST_RECIPIENTS, type PoolFilter } from '../../mail/queue.ts'
import type { Stream } from '../../mail/source.ts'
import { type Candidate, type Line, type Lines, linesFrom, type Siblings } from './lines.ts'
import { Turns } from './turns.ts'

export interface LeaseArgs {
  /** Identifies the process start that leases. `settle` must pass the same. */
  owner: string
  /** Limit on messages. The recipients of one email in the same domain and queue share one. */
  limit: number
  /** Number of messages that each destination (`destinationOf`) can accept now; 0 closes it. */
  room: Record<string, number>
  /** The same number for destinations that `room` doesn't name. */
  roomElse: number
  /** The pools to lease from; undefined: all. */
  pools?: PoolFilter | undefined
  /** Limit on recipients per message, by default `MOST_RECIPIENTS`. Further ones become another message. */
  recipients?: number | undefined
  /** When the lease ends if the owner crashes (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds to the next attempt after the first, second, … one; the last entry repeats. Set before any connection,
   * so that a process that crashes in every attempt still keeps the schedule.
   */
  retryDelays: readonly number[]
}

/**
 * Rows of each stream's head to examine before the queues are searched one by one: at least this many, and more for a
 * larger limit.
 */
const LEAST_HEAD = 128

const HEAD_FACTOR = 4

/** Maximum number of destinations that share the places at a time. Each place goes to one of them. */
const MOST_DESTINATIONS = 128

/** Minimum even with few places: the destinations of both streams' heads, so that both have a chance. */
const LEAST_DESTINATIONS = 4

/** Queues of a destination and stream to examine beyond the number of its places. */
const SPARE_QUEUES = 8

/** Limit on deliveries per lease, however many recipients its messages have. About 50 ms of the writer. */
const MOST_DELIVERIES = 2000

/** A destination with capacity, and its queues with due mail. */
interface Open {
  name: string
  lines: Line[]
}

/**
 * Creates the function that chooses which due deliveries to lease, and returns their row numbers in order (see
 * `Storage.lease` for the rules).
 *
 * Usually the heads of both streams, by due time, are all that is due, and the choice is made among them. If more is
 * due, each destination's queues are searched instead: behind the head of the queue (a million emails of one team to
 * one provider, which accepts ten at a time) may be another team or another destination.
 */
export function createChooser(lines: Lines): (args: LeaseArgs, now: number) => number[] {
  const turns = new Turns()
  return (args, now) => {
    lines.begin()
    const choice = new Choice(args, lines, turns, now)
    const most = Math.max(LEAST_HEAD, args.limit * HEAD_FACTOR)
    const heads = lines.heads(now, most)
    const asked = heads.filter(({ rows }) => rows.length === most).map(({ stream }) => stream)
    const known = heads.filter(({ stream }) => !asked.includes(stream)).flatMap(linesFrom)
    choice.meet(known)
    const view: View = { asked, known: Map.groupBy(known, ({ queue }) => destinationOfQueue(queue)) }
    const names = inTurn(heads.map(({ rows }) => rows.map(({ queue }) => destinationOfQueue(queue))))
    choice.serveAll(choice.openOf([...names], view))
    if (asked.length > 0) choice.serveAll(choice.openElsewhere(view), (name) => lines.stopAfter(name))
    return choice.taken
  }
}

/**
 * The known state of the queues: all lines of some streams by destination, and the streams that must still be read from
 * the spool.
 */
interface View {
  asked: Stream[]
  known: Map<string, Line[]>
}

/** Merges lists by taking one value of each in turn, each value once. */
function inTurn(lists: string[][]): Set<string> {
  const longest = Math.max(...lists.map((list) => list.length))
  const values = new Set<string>()
  for (let at = 0; at < longest; at++) for (const list of lists) if (at < list.length) values.add(list[at]!)
  return values
}

/** The limits of one lease, in messages, and what has been chosen within them. */
class Choice {
  readonly #args: LeaseArgs
  readonly #lines: Lines
  readonly #turns: Turns
  readonly #now: number
  readonly #seen = new Set<string>()
  /** Messages of each destination, and their recipients. */
  readonly #messages = new Map<string, number>()
  readonly #recipients = new Map<string, number>()
  readonly #taken = new Set<number>()
  /** The deliveries that can share a message with a delivery, if any. */
  readonly #siblings = new Map<number, Siblings>()
  #left: number

  constructor(args: LeaseArgs, lines: Lines, turns: Turns, now: number) {
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
    return this.#args.recipients ?? MOST_RECIPIENTS
  }

  roomIn(destination: string): number {
    const { room, roomElse, pools } = this.#args
    if (!includesPool(pools, destination)) return 0
    const allowed = Object.hasOwn(room, destination) ? room[destination]! : roomElse
    return Math.min(this.room, allowed - (this.#messages.get(destination) ?? 0))
  }

  /** Number of destinations that share the places at a time. */
  get #portion(): number {
    return Math.min(MOST_DESTINATIONS, Math.max(LEAST_DESTINATIONS, this.room))
  }

  /**
   * Serves destinations in portions, while there are places.
   * @param stopped called with the last served destination when no places are left
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

  /** Yields all other destinations. */
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

  /** Broadcast first, in the order of the index. */
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
   * Gives out places. For each place, every destination nominates its next line, and the nominee whose turn it is gets
   * the place.
   */
  #serve(open: Open[]): void {
    const nominees = new Map<Line, Open>()
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
   * Returns the line of a destination whose turn it is.
   * @param readAhead reads the next lines
   */
  #nominee(destination: Open, readAhead: () => void): Line | undefined {
    while (destination.lines.length > 0) {
      const line = this.#turns.next(destination.name, destination.lines, 'rank')
      if (!line.read) readAhead()
      if (this.#ready(line, destination)) return line
      drop(destination, line)
    }
    return undefined
  }

  /**
   * Reads the next lines of all these destinations. Most queues contribute nothing.
   * @param most lines of each destination and stream
   */
  #readAhead(open: readonly Open[], most: number): void {
    const lines = open.flatMap(({ name, lines }) => {
      const unread = lines.filter(({ read }) => !read)
      return this.roomIn(name) > 0 ? this.#turns.order(name, unread, Math.min(most, this.roomIn(name))) : []
    })
    this.#read(lines, Math.ceil((2 * this.room) / lines.length) + 2)
  }

  #read(lines: readonly Line[], most: number): void {
    this.#lines.read(lines, this.#now, most)
    this.meet(lines)
  }

  /** Finds the siblings of the rows that were read. For a fully read queue, only of emails with several rows in it. */
  meet(lines: readonly Line[]): void {
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

  /** Takes one message: the oldest delivery of a line and its siblings. Returns the number of deliveries. */
  #take({ rows }: Line, destination: string): number {
    const most = this.#mostRecipients
    const before = this.#taken.size
    const first = rows[0]!
    const taken = this.#recipients.get(destination) ?? 0
    this.#taken.add(first.row)
    // Siblings taken with an earlier message may come first, and be the only ones known.
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

  /** Reports whether a line has a row that isn't taken, which becomes its first. Reads more rows if necessary. */
  #ready(line: Line, { name, lines }: Open): boolean {
    let most = Math.ceil(this.roomIn(name) / lines.length) + 1
    for (;;) {
      const first = line.rows.findIndex(({ row }) => !this.#taken.has(row))
      if (first > 0) line.rows.splice(0, first)
      if (first >= 0) break
      if (!line.more) return false
      // Doubles, so that the number of reads stays small however many recipients messages have.
      most = 2 * (most + (this.#recipients.get(name) ?? 0))
      this.#read([line], most)
    }
    line.dueAt = line.rows[0]!.dueAt
    if (!line.partial) line.rank = line.dueAt
    return true
  }
}

function drop(destination: Open, line: Line): void {
  destination.lines = destination.lines.filter((one) => one !== line)
}
