import { destinationOfQueue, MOST_RECIPIENTS } from '../../mail/queue.ts'
import { type Stream, STREAMS } from '../../mail/source.ts'
import type { Connection } from '../sqlite/connection.ts'
import type { LeaseArgs } from './lease.ts'
import { type Line, Lines, linesFrom } from './lines.ts'
import { Turns } from './turns.ts'

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
 * Makes the function that chooses which due deliveries to lease, in order (see `Storage.lease` for the rules).
 *
 * Usually the heads of both streams, in the order of due times, are all that is due, and the choice is made among them.
 * Where more is due, each destination is asked for its queues instead: behind the head of the queue (a million mails of
 * one team to one provider, which takes ten at a time) may be another team, or another destination.
 */
export function createChooser(db: Connection): (args: LeaseArgs, now: number) => string[] {
  const lines = new Lines(db)
  const turns = new Turns()
  return (args, now) => {
    lines.begin()
    const choice = new Choice(args, lines, turns, now)
    const most = Math.max(LEAST_HEAD, args.limit * HEAD_FACTOR)
    const heads = STREAMS.map((stream) => ({ stream, rows: lines.head(stream, now, most) }))
    const asked = heads.filter(({ rows }) => rows.length === most).map(({ stream }) => stream)
    const read = heads.filter(({ stream }) => !asked.includes(stream))
    const known = Map.groupBy(
      read.flatMap(({ stream, rows }) => linesFrom(rows, stream)),
      ({ queue }) => destinationOfQueue(queue),
    )
    const view: View = { lines, asked, known, now }
    const names = inTurn(heads.map(({ rows }) => rows.map(({ queue }) => destinationOfQueue(queue))))
    choice.serveAll(names, view)
    if (asked.length > 0) choice.serveAll(lines.destinations(), view)
    return choice.ids
  }
}

/** What is known of the queues: all lines of some streams by destination, and where to ask for the other streams. */
interface View {
  lines: Lines
  asked: Stream[]
  known: Map<string, Line[]>
  now: number
}

/** Broadcast first: questions that follow the index answer each other. */
const inOrderOfNames = (streams: Stream[]): Stream[] => streams.toSorted()

function linesOf({ lines, asked, known, now }: View, destination: string, room: number): Line[] {
  return [
    ...inOrderOfNames(asked).flatMap((stream) => lines.of(destination, stream, now, room + SPARE_QUEUES)),
    ...(known.get(destination) ?? []),
  ]
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
  readonly #taken = new Map<string, number>()
  readonly #ids = new Set<string>()
  #left: number

  constructor(args: LeaseArgs, lines: Lines, turns: Turns, now: number) {
    this.#args = args
    this.#lines = lines
    this.#turns = turns
    this.#now = now
    this.#left = args.limit
  }

  get ids(): string[] {
    return [...this.#ids]
  }

  get room(): number {
    return this.#ids.size < MOST_DELIVERIES ? this.#left : 0
  }

  roomIn(destination: string): number {
    const { room, roomElse } = this.#args
    const allowed = Object.hasOwn(room, destination) ? room[destination]! : roomElse
    return Math.min(this.room, allowed - (this.#messages.get(destination) ?? 0))
  }

  /** Serves destinations in portions, while there are places. */
  serveAll(names: Iterable<string>, view: View): void {
    let open: Open[] = []
    const full = () => open.length >= Math.min(MOST_DESTINATIONS, Math.max(LEAST_DESTINATIONS, this.room))
    for (const name of names) {
      if (this.room <= 0) return
      if (this.#seen.has(name) || this.roomIn(name) <= 0) continue
      this.#seen.add(name)
      const lines = linesOf(view, name, this.roomIn(name))
      if (lines.length > 0) open.push({ name, lines })
      if (!full()) continue
      this.#serve(open)
      open = []
    }
    this.#serve(open)
  }

  /** Each destination names whose turn it is there; of these, the one whose turn it is among all gets the place. */
  #serve(open: Open[]): void {
    const nominees = new Map<Line, Open>()
    const nominate = (destination: Open): void => {
      const line = this.roomIn(destination.name) > 0 ? this.#nominee(destination) : undefined
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

  /** Reads a line only when it is its turn: of most, nothing is taken. */
  #nominee(destination: Open): Line | undefined {
    while (destination.lines.length > 0) {
      const line = this.#turns.next(destination.name, destination.lines, 'rank')
      if (this.#ready(line, destination)) return line
      drop(destination, line)
    }
    return undefined
  }

  /** Takes one message: the oldest of a line and its siblings. Returns how many deliveries that is. */
  #take({ rows }: Line, destination: string): number {
    const most = this.#args.recipients ?? MOST_RECIPIENTS
    const taken = this.#taken.get(destination) ?? 0
    const before = this.#ids.size
    const row = rows[0]!
    this.#ids.add(row.id)
    // Siblings that were taken with an earlier message may come first.
    for (const { id } of most > 1 ? this.#lines.siblings(row, this.#now, most + taken) : [])
      if (this.#ids.size - before < most) this.#ids.add(id)
    const deliveries = this.#ids.size - before
    this.#left -= 1
    this.#messages.set(destination, (this.#messages.get(destination) ?? 0) + 1)
    this.#taken.set(destination, taken + deliveries)
    return deliveries
  }

  /** Whether a line has a row that is not taken, which then is its first; reads on where needed. */
  #ready(line: Line, { name, lines }: Open): boolean {
    let most = Math.ceil(this.roomIn(name) / lines.length) + 1
    for (;;) {
      const first = line.rows.findIndex(({ id }) => !this.#ids.has(id))
      if (first > 0) line.rows.splice(0, first)
      if (first >= 0) break
      if (!line.more) return false
      // Twice what was taken: the number of reads stays small however many recipients messages have.
      most = 2 * (most + (this.#taken.get(name) ?? 0))
      this.#lines.read(line, this.#now, most)
    }
    line.dueAt = line.rows[0]!.due_at
    if (!line.partial) line.rank = line.dueAt
    return true
  }
}

function drop(destination: Open, line: Line): void {
  destination.lines = destination.lines.filter((one) => one !== line)
}
