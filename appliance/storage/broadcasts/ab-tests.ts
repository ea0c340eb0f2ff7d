/** A/B tests of broadcasts whose sending has begun: who gets which variant, and the winner. */
import { sql } from 'kysely'
import { drawVariants } from '../../mail/ab-draw.ts'
import type { Choice, VariantCounts } from '../../mail/ab-test.ts'
import type { Db } from '../schema.ts'
import { type BroadcastUpdateResult, type BroadcastRef, getBroadcast } from './broadcasts.ts'

/** Progress of a broadcast's A/B test. */
export interface AbTestState {
  /** The revision of each variant, A first. */
  revisions: string[]
  /** Recipients drawn so far. */
  tested: number
  /** When all test recipients were drawn; null until then. */
  drawnAt: number | null
  /** When each test email had been tried, and the wait began; null until then. */
  triedAt: number | null
  /** Why a variant won, with the numbers at that time; null if none was chosen yet. */
  choice: Choice | null
  decidedAt: number | null
  /** Results of the test emails by variant, as of `countedAt`. */
  counts: VariantCounts[] | null
  countedAt: number | null
}

/** Part of `startBroadcast`. */
export async function startAbTest(
  db: Db,
  { broadcastId, revisions }: { broadcastId: string; revisions: readonly string[] },
): Promise<void> {
  await db
    .insertInto('broadcast_ab_tests')
    .values({ broadcast_id: broadcastId, revisions: JSON.stringify(revisions) })
    .execute()
}

/** Returns the test of a broadcast that has started; undefined: it has none. */
async function getAbTest(db: Db, { id }: { id: string }): Promise<AbTestState | undefined> {
  const row = await db
    .selectFrom('broadcast_ab_tests')
    .selectAll()
    .where('broadcast_id', '=', id)
    .executeTakeFirst()
  return (
    row && {
      revisions: JSON.parse(row.revisions) as string[],
      tested: row.tested,
      drawnAt: row.drawn_at,
      triedAt: row.tried_at,
      choice: row.choice === null ? null : (JSON.parse(row.choice) as Choice),
      decidedAt: row.decided_at,
      counts: row.counts === null ? null : (JSON.parse(row.counts) as VariantCounts[]),
      countedAt: row.counted_at,
    }
  )
}

/**
 * Draws test recipients among the next `most` that wait. Recipients and progress are written in one transaction, so
 * nobody is drawn twice. `stopped`: it isn't being sent, or all were drawn, or the winner is known.
 * @param args share: percent
 */
async function drawAbTest(
  db: Db,
  { id, share, most }: { id: string; share: number; most: number },
  now: number,
): Promise<'more' | 'all' | 'stopped'> {
  const row = await db
    .selectFrom('broadcast_ab_tests as t')
    .innerJoin('broadcasts as b', 'b.id', 't.broadcast_id')
    .select(['b.seq', 't.revisions', 't.cursor', 't.seen', 't.tested'])
    .where('b.id', '=', id)
    .where('b.status', '=', 'queued')
    .where('b.expanded_at', 'is not', null)
    .where('t.drawn_at', 'is', null)
    .where('t.winner', 'is', null)
    .executeTakeFirst()
  if (!row) return 'stopped'
  const next = await db
    .selectFrom('broadcast_recipients')
    .select('contact_id')
    .where('broadcast', '=', row.seq)
    .where('contact_id', '>', row.cursor)
    .where('bucket', 'is not', null)
    .orderBy('contact_id')
    .limit(most)
    .execute()
  const ids = next.map(({ contact_id: contactId }) => contactId)
  const variants = (JSON.parse(row.revisions) as string[]).length
  const drawn = drawVariants(ids, row, { broadcastId: id, share, variants })
  for (const [variant, group] of Map.groupBy(drawn, (one) => one.variant))
    await db
      .updateTable('broadcast_recipients')
      .set({ variant })
      .where('broadcast', '=', row.seq)
      .where(
        'contact_id',
        'in',
        group.map(({ contactId }) => contactId),
      )
      .execute()
  const isEnd = ids.length < most
  await db
    .updateTable('broadcast_ab_tests')
    .set({
      cursor: ids.at(-1) ?? row.cursor,
      seen: row.seen + ids.length,
      tested: row.tested + drawn.length,
      ...(isEnd && { drawn_at: now }),
    })
    .where('broadcast_id', '=', id)
    .execute()
  return isEnd ? 'all' : 'more'
}

/**
 * Counts the test recipients that wait for their first attempt, without those that are held back: nobody knows for how
 * long.
 * @param args held: providers whose part is held
 */
async function untriedInAbTest(
  db: Db,
  { id, held }: { id: string; held: readonly string[] },
  now: number,
): Promise<number> {
  let waiting = db
    .selectFrom('broadcast_recipients as r')
    .innerJoin('broadcasts as b', 'b.seq', 'r.broadcast')
    .select((one) => one.fn.countAll<number>().as('n'))
    .where('b.id', '=', id)
    .where('r.variant', 'is not', null)
    .where('r.bucket', 'is not', null)
  if (held.length > 0) waiting = waiting.where('r.bucket', 'not in', held)
  const queued = db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select((one) => one.fn.countAll<number>().as('n'))
    .where('e.broadcast_id', '=', id)
    .where((one) =>
      one.or([
        one.and([one('e.last_event', '=', 'queued'), one('d.state', '<>', 'held')]),
        one.and([one('d.lease_owner', 'is not', null), one('d.lease_until', '>', now)]),
      ]),
    )
  const counts = [await waiting.executeTakeFirstOrThrow(), await queued.executeTakeFirstOrThrow()]
  return counts.reduce((sum, { n }) => sum + Number(n), 0)
}

/** Records that each test email was tried, so that the wait begins. Does nothing the second time. */
async function endAbTestSending(db: Db, { id }: { id: string }, now: number): Promise<void> {
  await db
    .updateTable('broadcast_ab_tests')
    .set({ tried_at: now })
    .where('broadcast_id', '=', id)
    .where('tried_at', 'is', null)
    .execute()
}

/**
 * Stores the winner of a broadcast that is being sent, once and for all. `wrong_status`: it isn't, or has one. A choice
 * that no person made also needs that it isn't paused.
 */
async function decideAbTest(
  db: Db,
  { teamId, id, choice }: BroadcastRef & { choice: Choice },
  now: number,
): Promise<BroadcastUpdateResult> {
  let sending = db
    .selectFrom('broadcasts')
    .select('id')
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('status', '=', 'queued')
  if (choice.reason !== 'person') sending = sending.where('paused_at', 'is', null)
  const decided = await db
    .updateTable('broadcast_ab_tests')
    .set({ winner: choice.winner, choice: JSON.stringify(choice), decided_at: now })
    .where('broadcast_id', 'in', sending)
    .where('winner', 'is', null)
    .executeTakeFirstOrThrow()
  if (decided.numUpdatedRows > 0n) return 'done'
  return (await getBroadcast(db, { teamId, id })) ? 'wrong_status' : 'unknown'
}

/** Counts the results of the test emails by variant. The emails of the rest don't count. */
async function countVariants(db: Db, { id }: { id: string }): Promise<VariantCounts[]> {
  const test = await getAbTest(db, { id })
  if (!test) return []
  const rows = await db
    .selectFrom('broadcast_recipients as r')
    .innerJoin('broadcasts as b', 'b.seq', 'r.broadcast')
    .innerJoin('emails as e', 'e.id', 'r.email_id')
    .select((one) => ['r.variant', 'e.last_event', one.fn.countAll<number>().as('n')])
    .select((one) => [
      sql<number>`sum(case when r.clicks > 0 then 1 else 0 end)`.as('clicked'),
      one.fn.sum<number>('r.unsubscribed').as('unsubscribed'),
    ])
    .where('b.id', '=', id)
    .where('r.variant', 'is not', null)
    .groupBy(['r.variant', 'e.last_event'])
    .execute()
  return test.revisions.map((_, variant) => {
    const own = rows.filter((row) => row.variant === variant)
    const sum = (events: (event: string) => boolean) =>
      own.reduce((all, row) => (events(row.last_event) ? all + Number(row.n) : all), 0)
    const all = (column: 'clicked' | 'unsubscribed') =>
      own.reduce((total, row) => total + Number(row[column]), 0)
    return {
      sent: sum((event) => !UNSENT.includes(event)),
      delivered: sum((event) => DELIVERED.includes(event)),
      clicked: all('clicked'),
      unsubscribed: all('unsubscribed'),
      complained: sum((event) => event === 'complained'),
    }
  })
}

/** Last events of emails that weren't tried, and of those that were delivered. */
const UNSENT = ['queued', 'scheduled', 'suppressed', 'canceled']
const DELIVERED = ['delivered', 'opened', 'clicked', 'complained']

/** Stores results, because they outlive the emails. */
async function saveVariantCounts(
  db: Db,
  { id, counts }: { id: string; counts: VariantCounts[] },
  now: number,
): Promise<void> {
  await db
    .updateTable('broadcast_ab_tests')
    .set({ counts: JSON.stringify(counts), counted_at: now })
    .where('broadcast_id', '=', id)
    .execute()
}

/** Returns the variant that an email contains, during a test or after it; null without a test. */
async function variantOfEmail(db: Db, { emailId }: { emailId: string }): Promise<number | null> {
  const row = await db
    .selectFrom('emails as e')
    .innerJoin('broadcasts as b', 'b.id', 'e.broadcast_id')
    .innerJoin('broadcast_ab_tests as t', 't.broadcast_id', 'b.id')
    .innerJoin('broadcast_recipients as r', (join) =>
      join.onRef('r.broadcast', '=', 'b.seq').onRef('r.contact_id', '=', 'e.contact_id'),
    )
    .select(['r.variant', 't.winner'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  return row ? (row.variant ?? row.winner) : null
}

export const methods = {
  reads: { getAbTest, untriedInAbTest, countVariants, variantOfEmail },
  writes: { drawAbTest, endAbTestSending, decideAbTest, saveVariantCounts },
}
