/** Reads the spool's indexes to choose deliveries. No query reads more rows than it needs. */
import { getQueueDestination } from '../../mail/queue.ts'
import { type Stream, STREAMS } from '../../mail/source.ts'
import { type Connection, isPostgres } from '../connection.ts'
import { POSTGRES_CHOICE_SQL } from '../postgres/choice.ts'
import type { WaitingQueue } from './fairness.ts'

/** A delivery that can be leased. */
export interface Candidate {
  /** The row number of the delivery. */
  row: number
  emailId: string
  dueAt: number
  /** Whether the email has other deliveries; undefined for rows from the head of a stream. */
  several?: boolean
}

/** A queue with due deliveries, and those of its deliveries that have been read. */
export interface DueQueue extends WaitingQueue {
  queue: string
  /** Oldest first. */
  rows: Candidate[]
  /** Whether `rows` have been read. */
  read: boolean
  /** Whether the spool may have more rows than `rows`. */
  more: boolean
  /** Whether other queues of the destination and stream were left out. */
  partial: boolean
}

/** The oldest due deliveries of a stream. */
export interface StreamHead {
  stream: Stream
  rows: (Candidate & { queue: string })[]
}

/** Deliveries of one email in one domain and queue, which can share a message. */
export interface Siblings {
  /** Row numbers, ordered by delivery ID. */
  rows: number[]
  /** Whether the spool may have more rows than `rows`. */
  more: boolean
}

/** The first row of a queue, with its due time. */
interface FirstRow {
  queue: string
  dueAt: number
}

/**
 * A range of queue names, identified by `at`: after the first name, up to and including the last, with a limit on the
 * number of due queues.
 */
type Range = [at: number, after: string, last: string, window: number]

/** A destination and the streams whose queues are requested, with a limit on the queues of each. */
export interface WantedDestination {
  destination: string
  streams: Stream[]
  window: number
}

/**
 * Maximum number of queues whose first row is checked per lease, at about 2 microseconds each. The next lease continues
 * where this one stopped.
 */
const MOST_ASKED = 2000

/** Minimum number of queues to check when querying specific destinations, even if the limit was reached before. */
const LEAST_ASKED = 64

/** Number of queues to check in the first query. Doubles with each query. */
const FEW = 16

/** Maximum number of destinations and streams whose position is remembered. When it is reached, all positions are reset. */
const MOST_CURSORS = 10_000

const free = "state = 'waiting' and due_at <= @now + 0 and (lease_until is null or lease_until <= @now + 0)"

const headOf = (
  stream: Stream,
): string => `select json_group_array(json_array(row, email_id, due_at, queue)) from (
    select rowid as row, email_id, due_at, queue from deliveries indexed by deliveries_due
    where stream = '${stream}' and ${free} order by due_at, queue, lease_until, rowid limit @most + 0)`

/** Selects the delivery that is due first in the first queue of a range. */
const firstIn = (range: string): string =>
  `d.rowid = (select first.rowid from deliveries first indexed by deliveries_queue
        where first.state = 'waiting' and ${range} order by first.queue, first.due_at limit 1)`

/**
 * The queries for choosing deliveries. Each reads index ranges, regardless of the contents of other queues and of
 * deliveries that are due later, for many destinations at once. The indexes are named, because the planner would otherwise
 * read a whole queue to find siblings in it. Parameters are in expressions (`@now + 0`), because SQLite's planner may use
 * the value of a bare parameter and plan again each time it is bound, which takes 6 to 12 microseconds.
 */
export const CHOICE_SQL = {
  heads: `select (${headOf('transactional')}) as transactional, (${headOf('broadcast')}) as broadcast`,
  // Steps from the first row of a queue to the first row of the next queue, in all ranges at once, breadth first.
  queues: `with recursive
    ranges (at, after, last, window) as (
      select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(@ranges)),
    walk (at, last, window, queue, dueAt) as (
      select at, last, window - (d.due_at <= @now + 0), d.queue, d.due_at
      from ranges cross join deliveries d on ${firstIn('first.queue > ranges.after and first.queue <= ranges.last')}
      union all
      select at, last, window - (d.due_at <= @now + 0), d.queue, d.due_at
      from walk cross join deliveries d on ${firstIn('first.queue > walk.queue and first.queue <= walk.last')}
      where window > 0
      limit @most + 0)
    select at, queue, dueAt from walk`,
  // The same search over all queues, except those of some destinations, with a limit for each destination and stream.
  round: `with recursive walk (queue, dueAt, destination, stream, nth) as (
      select d.queue, d.due_at, d.pool || '/' || d.provider, d.stream, 1
      from deliveries d where ${firstIn("first.queue > @after || '' and first.queue <= @last || ''")}
      union all
      select d.queue, d.due_at, d.pool || '/' || d.provider, d.stream,
        case when walk.destination = d.pool || '/' || d.provider and walk.stream = d.stream then nth + 1 else 1 end
      from walk cross join deliveries d on ${firstIn(`first.queue <= @last || '' and first.queue > case
          when walk.destination in (select value from json_each(@skipped)) then walk.destination || '0'
          when nth < @window + 0 then walk.queue
          else walk.destination || case walk.stream when 'broadcast' then '/b0' else '/t0' end end`)}
      limit @most + 0)
    select queue, dueAt from walk`,
  rows: `select (select json_group_array(json_array(row, email_id, due_at, several)) from (
      select rowid as row, email_id, due_at, exists (
          select 1 from deliveries other where other.email_id = deliveries.email_id and other.rowid <> deliveries.rowid) as several
      from deliveries indexed by deliveries_queue
      where queue = line.value and ${free} order by due_at, lease_until, rowid limit @most + 0)) as found
    from json_each(@queues) as line order by line.key`,
  siblings: `with kin (email_id, domain, queue, members) as materialized (
      select d.email_id, d.domain, d.queue, json_group_array(d.rowid)
      from json_each(@rows) as one cross join deliveries d on d.rowid = one.value
      group by 1, 2, 3)
    select kin.members as asked, (select json_group_array(rowid) from (
      select rowid from deliveries where email_id = kin.email_id and +domain = kin.domain and +queue = kin.queue
        and ${free.replace('due_at <=', '+due_at <=')} order by id limit @most + 0)) as found
    from kin`,
}

/** Queries the spool. Call `begin` for each lease; it resets the limits. */
export class DueQueueReader {
  readonly #heads
  readonly #queues
  readonly #round
  readonly #rows
  readonly #siblings
  /** The queue that was last served, for each destination and stream with more queues than one lease examines. */
  readonly #cursors = new Map<string, string>()
  #resumeAfter = ''
  #left = 0

  constructor(db: Connection) {
    const texts = isPostgres(db) ? POSTGRES_CHOICE_SQL : CHOICE_SQL
    this.#heads = db.prepare<{ now: number; most: number }, Record<Stream, string>>(texts.heads)
    this.#queues = db.prepare<{ ranges: string; now: number; most: number }, FirstRow & { at: number }>(
      texts.queues,
    )
    this.#round = db.prepare<
      { after: string; last: string; skipped: string; window: number; most: number },
      FirstRow
    >(texts.round)
    this.#rows = db.prepare<{ queues: string; now: number; most: number }, string>(texts.rows).pluck()
    this.#siblings = db.prepare<
      { rows: string; now: number; most: number },
      { asked: string; found: string }
    >(texts.siblings)
  }

  begin(): void {
    this.#left = MOST_ASKED
  }

  /** Reads the oldest due deliveries of both streams. */
  heads(now: number, most: number): StreamHead[] {
    const [found] = this.#heads.all({ now, most })
    return STREAMS.map((stream) => {
      const rows = JSON.parse(found![stream]) as [number, string, number, string][]
      return { stream, rows: rows.map(([row, emailId, dueAt, queue]) => ({ row, emailId, dueAt, queue })) }
    })
  }

  /** Reads the oldest deliveries of some queues, with a limit for each. */
  read(lines: readonly DueQueue[], now: number, most: number): void {
    const found = this.#rows.all({ queues: JSON.stringify(lines.map(({ queue }) => queue)), now, most })
    for (const [at, line] of lines.entries()) {
      const rows = JSON.parse(found[at]!) as [number, string, number, number][]
      line.rows = rows.map(([row, emailId, dueAt, several]) => {
        return { row, emailId, dueAt, several: several === 1 }
      })
      line.read = true
      line.more = rows.length === most
    }
  }

  /**
   * Finds due recipients of the same emails in the same domains and queues, with a limit for each. Returns the group of
   * each given or found row.
   */
  siblings(asked: readonly Candidate[], now: number, most: number): Map<number, Siblings> {
    const groups = new Map<number, Siblings>()
    const rows = JSON.stringify(asked.map(({ row }) => row))
    for (const kin of this.#siblings.all({ rows, now, most })) {
      const found = JSON.parse(kin.found) as number[]
      const group = { rows: found, more: found.length === most }
      for (const row of [...found, ...(JSON.parse(kin.asked) as number[])]) groups.set(row, group)
    }
    return groups
  }

  /**
   * Finds queues with due mail, by destination: at most `window` for each destination and stream, starting after the one
   * served last.
   */
  queues(wanted: readonly WantedDestination[], now: number): Map<string, DueQueue[]> {
    const asked = wanted.flatMap(({ destination, streams, window }) =>
      streams.map((stream) => ({ destination, stream, window, prefix: prefixOf(destination, stream) })),
    )
    // Search from the last served queue to the end and then, if that wasn't enough, from the beginning to that queue.
    const starts = asked.map(({ prefix }) => this.#cursors.get(prefix) ?? prefix)
    const found = this.#inRanges(
      asked.map(({ prefix, window }, at) => [at, starts[at]!, endOf(prefix), window]),
      now,
    )
    const dueIn = (at: number) => found.get(at)?.filter(({ dueAt }) => dueAt <= now) ?? []
    const again = asked.flatMap(({ prefix, window }, at): Range[] => {
      const left = window - dueIn(at).length
      return starts[at] === prefix || left <= 0 ? [] : [[at, prefix, starts[at]!, left]]
    })
    for (const [at, rows] of again.length > 0 ? this.#inRanges(again, now) : [])
      found.set(at, [...(found.get(at) ?? []), ...rows])
    const lines = new Map<string, DueQueue[]>()
    for (const [at, { destination, stream, window, prefix }] of asked.entries()) {
      const due = dueIn(at)
      const cut = this.#left <= 0 && due.length < window
      const last = found.get(at)?.at(-1)
      if (cut && last) this.#stay(prefix, last.queue)
      const partial = cut || due.length >= window
      const own = due.map((first, rank) => ({ ...lineOf(first, stream), partial, ...(partial && { rank }) }))
      lines.set(destination, [...(lines.get(destination) ?? []), ...own])
    }
    return lines
  }

  #inRanges(ranges: readonly Range[], now: number): Map<number, FirstRow[]> {
    const most = Math.max(this.#left, LEAST_ASKED)
    const rows = this.#queues.all({ ranges: JSON.stringify(ranges), now, most })
    this.#left -= rows.length
    return Map.groupBy(rows, ({ at }) => at)
  }

  /**
   * Remembers a served queue. If the destination has more queues than were examined, the next search starts after this one.
   */
  served({ queue, stream, partial }: DueQueue): void {
    if (partial) this.#stay(prefixOf(getQueueDestination(queue), stream), queue)
  }

  /**
   * Yields queues with due mail, by destination, each destination at most once, starting where the last lease stopped. The
   * queues are null if there are more than `window`; use `queues` for those destinations.
   * @param skipped destinations to skip
   */
  *round(skipped: readonly string[], window: number, now: number): Generator<Map<string, DueQueue[] | null>> {
    const start = this.#resumeAfter
    const out = JSON.stringify(skipped)
    const rounds: [string, string][] =
      start === ''
        ? [['', END]]
        : [
            [start, END],
            ['', start],
          ]
    for (const [from, last] of rounds) {
      let after = from
      for (let most = Math.max(FEW, 2 * window + 2); this.#left > 0; most *= 2) {
        const wanted = Math.min(most, Math.max(this.#left, 2 * window + 2))
        const rows = this.#round.all({ after, last, skipped: out, window, most: wanted })
        this.#left -= rows.length + 1
        const found = [...Map.groupBy(rows, ({ queue }) => getQueueDestination(queue))]
        // The last destination may have further queues.
        if (rows.length === wanted && found.length > 1) found.pop()
        if (found.length > 0) {
          yield new Map(found.map(([name, own]) => [name, roundLines(own, window, now)]))
          after = this.#resumeAfter = endOf(`${found.at(-1)![0]}/`)
        }
        if (rows.length < wanted) break
      }
      if (this.#left <= 0) return
    }
  }

  /** Makes the next lease start after this destination, even though others were read. */
  stopAfter(destination: string): void {
    this.#resumeAfter = endOf(`${destination}/`)
  }

  #stay(prefix: string, queue: string): void {
    if (this.#cursors.size >= MOST_CURSORS) this.#cursors.clear()
    this.#cursors.set(prefix, queue)
  }
}

const prefixOf = (destination: string, stream: Stream): string =>
  `${destination}/${stream === 'broadcast' ? 'b' : 't'}/`

/** Sorts after the names of all queues. */
const END = '\u{10ffff}'

/** Parses the stream from the name of a queue. */
const streamOf = (queue: string): Stream =>
  queue[getQueueDestination(queue).length + 1] === 'b' ? 'broadcast' : 'transactional'

/** Returns a name that sorts after all names with the prefix: replaces the slash with the next character. */
const endOf = (prefix: string): string => `${prefix.slice(0, -1)}0`

/** Returns the due queues of a destination; null if there may be more in one of its streams. */
function roundLines(rows: readonly FirstRow[], window: number, now: number): DueQueue[] | null {
  const lines = rows.map((first) => lineOf(first, streamOf(first.queue)))
  const crowded = STREAMS.some((one) => lines.filter(({ stream }) => stream === one).length >= window)
  return crowded ? null : lines.filter(({ dueAt }) => dueAt <= now)
}

/** Creates a `DueQueue` without rows. */
function lineOf({ queue, dueAt }: FirstRow, stream: Stream): DueQueue {
  const party = queue.slice(getQueueDestination(queue).length)
  return { queue, stream, party, dueAt, rank: dueAt, rows: [], read: false, more: true, partial: false }
}

/** Groups rows, ordered by due time, by queue. The rows must be complete. */
export function toDueQueues({ rows, stream }: StreamHead): DueQueue[] {
  const lines = new Map<string, DueQueue>()
  for (const row of rows) {
    let line = lines.get(row.queue)
    if (!line) lines.set(row.queue, (line = { ...lineOf(row, stream), read: true, more: false }))
    line.rows.push(row)
  }
  return [...lines.values()]
}
