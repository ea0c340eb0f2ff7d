/** What waits where: the questions to the spool's indexes behind a choice, none of which reads what it does not need. */
import { destinationOfQueue, type Stream } from '../../mail/queue.ts'
import type { Connection } from '../sqlite/connection.ts'
import type { Waiter } from './turns.ts'

/** A delivery that could be leased. */
export interface Candidate {
  id: string
  queue: string
  due_at: number
}

/** The first row of a queue. */
type FirstRow = Omit<Candidate, 'id'>

/** A queue with due deliveries, as far as they have been read. */
export interface Line extends Waiter {
  queue: string
  /** Oldest first. */
  rows: Candidate[]
  /** Whether the spool may have more than `rows`. */
  more: boolean
  /** Whether other queues of the destination and stream were left out. */
  partial: boolean
}

/** Queues asked for their first row in one lease, 1 to 2 microseconds each. The next lease goes on where this one stopped. */
const MOST_ASKED = 2000

/** Destinations and streams whose place in the round is remembered; then all begin anew. */
const MOST_CURSORS = 10_000

const free = 'held = 0 and due_at <= @now + 0 and (lease_until is null or lease_until <= @now + 0)'

/**
 * Each is a range of an index, whatever waits in other queues or later. The indexes are named: left alone, the planner
 * reads a whole queue to find the siblings in it. Parameters stand in expressions (`@now + 0`): a bare one may be looked at by SQLite's
 * planner, which then plans anew each time it is bound, 6 to 12 microseconds.
 */
export const CHOICE_SQL = {
  head: `select id, queue, due_at from deliveries indexed by deliveries_due
    where stream = @stream || '' and ${free} order by due_at, queue, lease_until, id limit @most + 0`,
  nextQueue: `select queue, due_at from deliveries indexed by deliveries_queue
    where held = 0 and queue > ? order by queue, due_at limit 1`,
  queue: `select id, queue, due_at from deliveries indexed by deliveries_queue
    where queue = @queue || '' and ${free} order by due_at, lease_until, id limit @most + 0`,
  siblings: `select d.id, d.queue, d.due_at
    from deliveries as taken cross join deliveries as d indexed by deliveries_email on d.email_id = taken.email_id
    where taken.id = @id || '' and d.domain = taken.domain and d.queue = taken.queue
      and d.held = 0 and d.due_at <= @now + 0 and (d.lease_until is null or d.lease_until <= @now + 0)
    order by d.id limit @most + 0`,
}

/** Asks the spool. `begin` has to be called for each lease: it sets how much may be asked. */
export class Lines {
  readonly #head
  readonly #nextQueue
  readonly #queue
  readonly #siblings
  /** The queue that was served last, for destinations with more queues than one lease looks at. */
  readonly #cursors = new Map<string, string>()
  #resumeAfter = ''
  #left = 0
  /** The last question and its answer: no queue is between them. */
  #last: { after: string; next: FirstRow | undefined } | undefined

  constructor(db: Connection) {
    this.#head = db.prepare<{ stream: Stream; now: number; most: number }, Candidate>(CHOICE_SQL.head)
    this.#nextQueue = db.prepare<[string], FirstRow>(CHOICE_SQL.nextQueue)
    this.#queue = db.prepare<{ queue: string; now: number; most: number }, Candidate>(CHOICE_SQL.queue)
    this.#siblings = db.prepare<{ id: string; now: number; most: number }, Candidate>(CHOICE_SQL.siblings)
  }

  begin(): void {
    this.#left = MOST_ASKED
    this.#last = undefined
  }

  /** The oldest due deliveries of a stream. */
  head(stream: Stream, now: number, most: number): Candidate[] {
    return this.#head.all({ stream, now, most })
  }

  /** Due recipients of the same email in the same domain, with the delivery itself. */
  siblings({ id }: Candidate, now: number, most: number): Candidate[] {
    return this.#siblings.all({ id, now, most })
  }

  /** Reads the oldest of a line, so many that `most` come. */
  read(line: Line, now: number, most: number): void {
    line.rows = this.#queue.all({ queue: line.queue, now, most })
    line.more = line.rows.length === most
  }

  /** Queues of a destination and stream with due mail, at most `window`, beginning after the one that was served last. */
  of(destination: string, stream: Stream, now: number, window: number): Line[] {
    const prefix = prefixOf(destination, stream)
    const start = this.#cursors.get(prefix) ?? prefix
    const lines: Line[] = []
    let wrapped = start === prefix
    let at = start
    while (lines.length < window && this.#left > 0) {
      const next = this.#next(at)
      const inside =
        next?.queue.startsWith(prefix) === true && !(wrapped && start !== prefix && next.queue > start)
      if (inside) {
        at = next.queue
        if (next.due_at <= now) lines.push(lineOf(next, stream))
      } else if (wrapped) {
        return lines
      } else {
        wrapped = true
        at = prefix
      }
    }
    if (this.#left <= 0) this.#stay(prefix, at)
    // Round by name, since not all were compared: the first after the one that was served last.
    return lines.map((line, rank) => ({ ...line, rank, partial: true }))
  }

  /** Of a destination with more queues than were looked at, the next look begins after this one. */
  served({ queue, stream, partial }: Line): void {
    if (partial) this.#stay(prefixOf(destinationOfQueue(queue), stream), queue)
  }

  /** Names destinations with anything in their queues, each once at most, going on where the last lease stopped. */
  *destinations(): Generator<string> {
    const start = this.#resumeAfter
    let wrapped = start === ''
    let at = start
    while (this.#left > 0) {
      const next = this.#next(at)
      if (next && !(wrapped && start !== '' && next.queue > start)) {
        const destination = destinationOfQueue(next.queue)
        // The character after the slash: behind all queues of the destination.
        this.#resumeAfter = at = `${destination}0`
        yield destination
      } else if (wrapped) {
        return
      } else {
        wrapped = true
        at = ''
      }
    }
  }

  /** The first queue whose name is greater. */
  #next(after: string): FirstRow | undefined {
    const last = this.#last
    if (last && after >= last.after && (!last.next || after < last.next.queue)) return last.next
    this.#left -= 1
    const next = this.#nextQueue.get(after)
    this.#last = { after, next }
    return next
  }

  #stay(prefix: string, queue: string): void {
    if (this.#cursors.size >= MOST_CURSORS) this.#cursors.clear()
    this.#cursors.set(prefix, queue)
  }
}

const prefixOf = (destination: string, stream: Stream): string =>
  `${destination}/${stream === 'broadcast' ? 'b' : 't'}/`

/** A line of which nothing has been read. */
function lineOf({ queue, due_at }: FirstRow, stream: Stream): Line {
  const party = queue.slice(destinationOfQueue(queue).length)
  return { queue, stream, party, dueAt: due_at, rank: due_at, rows: [], more: true, partial: false }
}

/** The lines that rows in the order of their due times make, when these are all there are. */
export function linesFrom(rows: readonly Candidate[], stream: Stream): Line[] {
  const lines = new Map<string, Line>()
  for (const row of rows) {
    let line = lines.get(row.queue)
    if (!line) lines.set(row.queue, (line = { ...lineOf(row, stream), more: false }))
    line.rows.push(row)
  }
  return [...lines.values()]
}
