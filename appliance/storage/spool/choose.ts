/** Which due deliveries are next. Decides on plain data; what it has to know of the spool, it asks `Lines` for, many at once. */
import { destinationOfQueue, MOST_RECIPIENTS } from '../../mail/queue.ts'
import type { Stream } from '../../mail/source.ts'
import { type Candidate, type Line, type Lines, linesFrom, type Siblings } from './lines.ts'
import { Turns } from './turns.ts'

export interface LeaseArgs {
  /** Names the process start that leases; `settle` must show the same. */
  owner: string
  /** At most this many messages: the recipients of one email in one domain and queue share one. */
  limit: number
  /** Messages that a destination (`destinationOf`) may take now; 0 closes it. */
  room: Record<string, number>
  /** The same for every destination that `room` does not name. */
  roomElse: number
  /** Recipients of one message at most, `MOST_RECIPIENTS` by default. More of them are another message. */
  recipients?: number | undefined
  /** When the lease ends, should the owner vanish without a word (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds to the next attempt after the first, second, … one; the last entry repeats. Set before anyone dials,
   * so that a process that dies in every attempt still keeps to the schedule.
   */
  retryDelays: readonly number[]
}

/** Rows of the head of each stream that are looked at before the queues are asked one by one: at least, and for each delivery wanted. */
const LEAST_HEAD = 128

const HEAD_FACTOR = 4

/** Destinations that share the places at once; the turn of each place is sought among them. */
const MOST_DESTINATIONS = 128

/** However few places there are: those of both streams' heads, so that both have a chance. */
const LEAST_DESTINATIONS = 4

/** Queues of a destination and stream that are looked at beyond the places it has. */
const SPARE_QUEUES = 8

/** Deliveries of one lease at most, whatever the recipients of its messages: some 50 ms of the writer. */
const MOST_DELIVERIES = 2000

/** A destination with room, and its queues that have due mail. */
interface Open {
  name: string
  lines: Line[]
}

/**
 * Makes the function that chooses which due deliveries to lease, the numbers of their rows in order (see `Storage.lease` for the rules).
 *
 * Usually the heads of both streams, in the order of due times, are all that is due, and the choice is made among them.
 * Where more is due, each destination is asked for its queues instead: behind the head of the queue (a million mails of
 * one team to one provider, which takes ten at a time) may be another team, or another destination.
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

/** What is known of the queues: all lines of some streams by destination, and the streams that the spool has to be asked about. */
interface View {
  asked: Stream[]
  known: Map<string, Line[]>
}

/** One of each list in turn, each value once. */
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
  /** Who can share a message with a delivery, where that is anybody. */
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
    const { room, roomElse } = this.#args
    const allowed = Object.hasOwn(room, destination) ? room[destination]! : roomElse
    return Math.min(this.room, allowed - (this.#messages.get(destination) ?? 0))
  }

  /** Destinations that share the places at once. */
  get #portion(): number {
    return Math.min(MOST_DESTINATIONS, Math.max(LEAST_DESTINATIONS, this.room))
  }

  /**
   * Serves destinations in portions, while there are places.
   * @param stopped hears which one was served last, where there are no more places
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

  /** Those of the named destinations that have room and due mail, with their queues, a portion at a time. */
  *openOf(names: readonly string[], view: View): Generator<Open[]> {
    for (let at = 0; at < names.length && this.room > 0;) {
      const portion = names.slice(at, at + this.#portion)
      at += portion.length
      yield this.#open(portion, view)
    }
  }

  /** All others. */
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

  /** Broadcast first: so the index has them. */
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

  /** Each destination names whose turn it is there; of these, the one whose turn it is among all gets the place. */
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

  /** @param readAhead reads the lines whose turns are next */
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
   * Reads the lines whose turns are next in all of these destinations: of most queues nothing is taken.
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

  /** Learns who the siblings are of what was read. Where all of a queue was read, only of emails that are in it more than once. */
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

  /** Takes one message: the oldest of a line and its siblings. Returns how many deliveries that is. */
  #take({ rows }: Line, destination: string): number {
    const most = this.#mostRecipients
    const before = this.#taken.size
    const first = rows[0]!
    const taken = this.#recipients.get(destination) ?? 0
    this.#taken.add(first.row)
    // Siblings that were taken with an earlier message may come first, and be all that is known of.
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

  /** Whether a line has a row that is not taken, which then is its first; reads on where needed. */
  #ready(line: Line, { name, lines }: Open): boolean {
    let most = Math.ceil(this.roomIn(name) / lines.length) + 1
    for (;;) {
      const first = line.rows.findIndex(({ row }) => !this.#taken.has(row))
      if (first > 0) line.rows.splice(0, first)
      if (first >= 0) break
      if (!line.more) return false
      // Twice what was taken: the number of reads stays small however many recipients messages have.
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
