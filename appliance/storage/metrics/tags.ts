/** Roll-ups by tag, computed from the events in the background. */
import { sql } from 'kysely'
import type { Tag } from '../emails.ts'
import { type EventCursor, isAfter } from '../event-cursor.ts'
import { isAfterCursor, getReaderCursor, toCursor, eventOrder, moveCursor, isUpToCursor } from '../events.ts'
import type { Db } from '../schema.ts'
import { buildValues } from '../lists.ts'
import { QUARTER_HOUR_MS, type BreakdownQuery } from './counters.ts'
import {
  countAffordableEvents,
  countTags,
  DAY,
  startOfDay,
  sumTagDays,
  countDifferences,
  getTagCountKey,
  getTagDayKey,
  type TagDay,
  type TaggedEvent,
  type EventTag,
  type TagCount,
} from './tag-counts.ts'

/** The counts that the next chunk of events adds to the roll-ups by tag. */
export interface TagChunk {
  /**
   * The position before the chunk, which covers the events after `from`, up to and including `to`. Both are equal if there
   * is nothing to add.
   */
  from: EventCursor
  to: EventCursor
  counts: TagCount[]
}

/**
 * Maximum number of events in a chunk, and of numbers added. Each number is a row of a quarter hour and up to three rows of
 * its day.
 */
const [EVENTS, NUMBERS] = [250, 500]

/** Number of rows per statement. Each takes seven parameters, and the engine allows 32,766. */
const ROUND = 1000

/** The columns of an event that are read. */
interface Row {
  team_id: string
  created_at: number
  domain_id: string
  provider: string
  counted: string
  amount: number
  tags: string
}

const toEvent = (row: Row): TaggedEvent => ({
  teamId: row.team_id,
  createdAt: row.created_at,
  domainId: row.domain_id,
  provider: row.provider,
  counted: row.counted,
  amount: Number(row.amount),
  tags: JSON.parse(row.tags) as Tag[],
})

/** Selects counted events of emails with tags. Skips events of deleted emails. */
const selectTagged = (db: Db) =>
  db
    .selectFrom('events as v')
    .innerJoin('emails as e', 'e.id', 'v.email_id')
    .select(['v.domain_id', 'v.provider', 'v.counted', 'e.tags'])
    .where('v.counted', '!=', '')
    .where('e.tags', '!=', '[]')

/** Reads the next chunk that isn't in the roll-ups by tag yet, at most a few hundred events. */
async function readTagCounts(db: Db): Promise<
  TagChunk & {
    /** Time of the chunk's first event; null if it has none. */
    since: number | null
    /** Whether there are more events after the chunk. */
    more: boolean
  }
> {
  const from = await getReaderCursor(db, 'tags')
  const events = await db
    .selectFrom('events')
    .select(['seq', 'created_at'])
    .where(isAfterCursor('events', from))
    .orderBy(eventOrder('events'))
    .limit(EVENTS + 1)
    .execute()
  const [first] = events
  if (!first) return { from, to: from, counts: [], since: null, more: false }
  const last = toCursor(events.slice(0, EVENTS).at(-1)!)
  const tagged = await selectTagged(db)
    .select(['v.seq', 'v.team_id', 'v.created_at', 'v.amount'])
    .where(isAfterCursor('v', from))
    .where(isUpToCursor('v', last))
    .orderBy(eventOrder('v'))
    .execute()
  const all = tagged.map(toEvent)
  const count = countAffordableEvents(all, NUMBERS)
  const to = count < all.length ? toCursor(tagged[count - 1]!) : last
  const counts = countTags(all.slice(0, count), await eventTagsOf(db, all))
  return { from, to, counts, since: first.created_at, more: isAfter(toCursor(events.at(-1)!), to) }
}

/** Returns the tags that are counted separately on the days of these events. */
async function eventTagsOf(db: Db, events: readonly TaggedEvent[]): Promise<EventTag[]> {
  const days = new Map(
    events.map(({ teamId, createdAt }) => [
      `${teamId} ${startOfDay(createdAt)}`,
      { teamId, day: startOfDay(createdAt) },
    ]),
  )
  if (days.size === 0) return []
  const values = buildValues(
    ['text', 'bigint'],
    [...days.values()].map(({ teamId, day }) => [teamId, day]),
  )
  const { rows } = await sql<{ team_id: string; at: number; tag: string }>`
    with days (team_id, at) as ${values}
    select distinct m.team_id, m.at, m.tag from days cross join metrics_tags_days m
    where m.team_id = days.team_id and m.dimension = 'all' and m.at = days.at and m.tag <> ''
  `.execute(db)
  return rows.map(({ team_id: teamId, at, tag }) => ({ teamId, day: Number(at), tag }))
}

const ofCount = ({ teamId, at, domainId, provider, tag, counter, n }: TagCount) => ({
  team_id: teamId,
  at,
  domain_id: domainId,
  provider,
  tag,
  counter,
  n,
})

const ofDay = ({ teamId, ...row }: TagDay) => ({ team_id: teamId, ...row })

/**
 * Adds a chunk to the roll-ups by tag and moves the cursor. Returns false and adds nothing if another process has already
 * moved it.
 */
async function addTagCounts(db: Db, { from, to, counts }: TagChunk): Promise<boolean> {
  if (!(await moveCursor(db, { reader: 'tags', from, to }))) return false
  await addRows(db, counts)
  return true
}

/** Adds numbers to the quarter hours and their days. */
async function addRows(db: Db, counts: readonly TagCount[]): Promise<void> {
  for (const rows of inRounds(counts.map(ofCount)))
    await db
      .insertInto('metrics_tags')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['team_id', 'at', 'domain_id', 'provider', 'tag', 'counter'])
          .doUpdateSet({ n: sql`metrics_tags.n + excluded.n` }),
      )
      .execute()
  for (const rows of inRounds(sumTagDays(counts).map(ofDay)))
    await db
      .insertInto('metrics_tags_days')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['team_id', 'dimension', 'at', 'value', 'tag', 'counter'])
          .doUpdateSet({ n: sql`metrics_tags_days.n + excluded.n` }),
      )
      .execute()
}

const inRounds = <T>(rows: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(rows.length / ROUND) }, (_, i) => rows.slice(i * ROUND, (i + 1) * ROUND))

/** Returns the table from which to read rows `m` for a breakdown by tag, the condition, and the column of the dimension. */
export function buildTagQuery({ teamId, length, domainIds, providers }: BreakdownQuery) {
  const value = sql`nullif(m.tag, '')`
  const among = (column: string, values: string[] | undefined) =>
    values ? sql`and ${sql.ref(column)} in (${sql.join(values)})` : sql``
  if (length === undefined)
    return {
      from: sql`metrics_tags m`,
      where: sql`m.team_id = ${teamId} ${among('m.domain_id', domainIds)} ${among('m.provider', providers)}`,
      value,
    }
  const dimension = domainIds ? 'domain' : providers ? 'provider' : 'all'
  return {
    from: sql`metrics_tags_days m`,
    where: sql`m.team_id = ${teamId} and m.dimension = ${dimension} ${among('m.value', domainIds ?? providers)}`,
    value,
  }
}

interface Range {
  start: number
  end: number
}

/**
 * Recomputes the quarter hours of a range and their days from the events up to the cursor. Returns the number of corrected
 * counts.
 * @param leave quarter hours to leave unchanged
 */
export async function recountTags(
  db: Db,
  teamId: string,
  range: Range,
  leave: ReadonlySet<number>,
): Promise<number> {
  const days = { start: startOfDay(range.start), end: startOfDay(range.end - 1) + DAY }
  const stored = await quartersOf(db, teamId, days)
  const stays = ({ at }: TagCount) => at < range.start || at >= range.end || leave.has(at)
  const kept = stored.filter(stays)
  const told = kept.flatMap(({ at, tag }) => (tag === '' ? [] : [{ teamId, day: startOfDay(at), tag }]))
  const counted = countTags(await eventsOf(db, teamId, range), told)
  const right = [...kept, ...counted.filter((row) => !stays(row))]
  const wrong =
    countDifferences(stored, right, getTagCountKey) +
    countDifferences(await daysOf(db, teamId, days), sumTagDays(right), getTagDayKey)
  if (wrong > 0) {
    await db.deleteFrom('metrics_tags').where(within(teamId, days)).execute()
    await db.deleteFrom('metrics_tags_days').where(ofDays(teamId, days)).execute()
    await addRows(db, right)
  }
  return wrong
}

const within = (teamId: string, { start, end }: Range) =>
  sql<boolean>`team_id = ${teamId} and at >= ${start} and at < ${end}`

/** Matches the days of a team. Lists all dimensions, so that the primary key finds the rows. */
const ofDays = (teamId: string, days: Range) =>
  sql<boolean>`dimension in ('all', 'domain', 'provider') and ${within(teamId, days)}`

async function quartersOf(db: Db, teamId: string, range: Range): Promise<TagCount[]> {
  const rows = await db.selectFrom('metrics_tags').selectAll().where(within(teamId, range)).execute()
  return rows.map(({ team_id, domain_id, n, ...row }) => ({
    ...row,
    teamId: team_id,
    domainId: domain_id,
    n: Number(n),
  }))
}

async function daysOf(db: Db, teamId: string, range: Range): Promise<TagDay[]> {
  const rows = await db.selectFrom('metrics_tags_days').selectAll().where(ofDays(teamId, range)).execute()
  return rows.map(({ team_id, n, ...row }) => ({ ...row, teamId: team_id, n: Number(n) }))
}

/** Reads the events of a range of whole quarter hours. Merges equal events, in the order of their first occurrence. */
async function eventsOf(db: Db, teamId: string, { start, end }: Range): Promise<TaggedEvent[]> {
  const until = await getReaderCursor(db, 'tags')
  const found: { first: number; event: TaggedEvent }[] = []
  for (let at = start; at < end; at += QUARTER_HOUR_MS) {
    const rows = await selectTagged(db)
      .select((select) => select.fn.sum<number>('v.amount').as('amount'))
      .select((select) => select.fn.min<number>('v.seq').as('first'))
      .where('v.team_id', '=', teamId)
      .where('v.created_at', '>=', at)
      .where('v.created_at', '<', at + QUARTER_HOUR_MS)
      .where(isUpToCursor('v', until))
      .groupBy(['v.domain_id', 'v.provider', 'v.counted', 'e.tags'])
      .execute()
    for (const row of rows)
      found.push({ first: row.first, event: toEvent({ ...row, team_id: teamId, created_at: at }) })
  }
  return found.sort((a, b) => a.first - b.first).map(({ event }) => event)
}

export const methods = {
  reads: { readTagCounts },
  writes: { addTagCounts },
}
