import type { LeaseArgs } from '../storage.ts'
import type { Connection } from './connection.ts'

/** A delivery that could be leased. */
interface Candidate {
  id: string
  lane: string
  due_at: number
}

/** Lanes looked at in one go; some 4 microseconds each. The next call goes on where this one stopped. */
const MOST_LANES = 1000

/** Rows of the head of the queue that are looked at before the lanes are asked one by one: at least, and for each delivery wanted. */
const LEAST_HEAD = 256
const HEAD_FACTOR = 4

const free = 'held = 0 and due_at <= @now and (lease_until is null or lease_until <= @now)'

/**
 * The queries behind a choice; each is a range of an index, whatever waits in other lanes or later. The index is named:
 * left alone, the planner reads a whole lane to find the siblings in it.
 */
export const CHOICE_SQL = {
  head: `select id, lane, due_at from deliveries indexed by deliveries_due
    where ${free} order by due_at, lane, lease_until, id limit @most`,
  nextLane: `select lane, due_at from deliveries indexed by deliveries_lane
    where held = 0 and lane > ? order by lane, due_at limit 1`,
  lane: `select id, lane, due_at from deliveries indexed by deliveries_lane
    where lane = @lane and ${free} order by due_at, lease_until, id limit @most`,
  siblings: `select id, lane, due_at from deliveries indexed by deliveries_email
    where email_id = (select email_id from deliveries where id = @id) and lane = @lane and ${free}
    order by id limit @most`,
}

/**
 * Makes the function that chooses which due deliveries to lease, in order: oldest first, siblings together.
 *
 * Usually the head of the queue, in the order of due times, gives enough. Where a few lanes fill the head (a million
 * mails to one provider, which takes ten at a time), walking on would read all of theirs to find anybody else's, so
 * the other lanes are then found by jumping through the index from lane to lane.
 */
export function createChooser(db: Connection): (args: LeaseArgs, now: number) => string[] {
  const head = db.prepare<{ now: number; most: number }, Candidate>(CHOICE_SQL.head)
  const nextLane = db.prepare<[string], { lane: string; due_at: number }>(CHOICE_SQL.nextLane)
  const laneRows = db.prepare<{ lane: string; now: number; most: number }, Candidate>(CHOICE_SQL.lane)
  const siblings = db.prepare<Candidate & { now: number; most: number }, Candidate>(CHOICE_SQL.siblings)
  let resumeAfter = ''

  /** Lanes with room whose first row is due, oldest first; at most `MOST_LANES` are asked. */
  const dueLanes = (choice: Choice, now: number): string[] => {
    const found: { lane: string; due_at: number }[] = []
    const start = resumeAfter
    let at = start
    let wrapped = false
    for (let asked = 0; asked < MOST_LANES; asked++) {
      const next = nextLane.get(at)
      if (!next && wrapped) break
      wrapped ||= !next
      at = next?.lane ?? ''
      if (wrapped && at > start) break
      if (next && next.due_at <= now && choice.roomIn(next.lane) > 0) found.push(next)
    }
    resumeAfter = at
    return found.sort((a, b) => a.due_at - b.due_at).map(({ lane }) => lane)
  }

  const fromLanes = (choice: Choice, now: number): Candidate[] => {
    const enough = choice.room * HEAD_FACTOR
    const rows: Candidate[] = []
    for (const lane of dueLanes(choice, now)) {
      rows.push(...laneRows.all({ lane, now, most: choice.perLane }))
      if (rows.length >= enough) break
    }
    return rows.sort((a, b) => a.due_at - b.due_at)
  }

  return (args, now) => {
    const choice = new Choice(args)
    const takeAll = (rows: Candidate[]): void => {
      for (const row of rows) {
        if (!choice.take(row)) continue
        const most = choice.roomIn(row.lane)
        if (most === 0) continue
        for (const sibling of siblings.all({ ...row, now, most: most + 1 })) choice.take(sibling)
      }
    }
    const most = Math.max(LEAST_HEAD, args.limit * HEAD_FACTOR)
    const rows = head.all({ now, most })
    takeAll(rows)
    if (rows.length === most && choice.room > 0) takeAll(fromLanes(choice, now))
    return choice.ids
  }
}

/** The limits of one lease, and what has been chosen within them. */
class Choice {
  readonly perLane: number
  readonly #limit: number
  readonly #full: Set<string>
  readonly #taken = new Map<string, number>()
  readonly #ids = new Set<string>()

  constructor({ limit, perLane, fullLanes }: LeaseArgs) {
    this.perLane = Math.min(perLane, limit)
    this.#limit = limit
    this.#full = new Set(fullLanes)
  }

  get ids(): string[] {
    return [...this.#ids]
  }

  get room(): number {
    return this.#limit - this.#ids.size
  }

  roomIn(lane: string): number {
    if (this.#full.has(lane)) return 0
    return Math.min(this.room, this.perLane - (this.#taken.get(lane) ?? 0))
  }

  take({ id, lane }: Candidate): boolean {
    if (this.#ids.has(id) || this.roomIn(lane) <= 0) return false
    this.#ids.add(id)
    this.#taken.set(lane, (this.#taken.get(lane) ?? 0) + 1)
    return true
  }
}
