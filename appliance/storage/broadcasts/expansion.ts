/**
 * Turns the contacts of a segment into recipients of a broadcast. Each step is one transaction that also stores its
 * progress. Contacts who have opted out are skipped here; those who opt out later are skipped when they are queued or
 * sent to.
 */
import { sql, type SqlBool } from 'kysely'
import { effectiveSubscription, type Subscription } from '../../mail/audience.ts'
import { getAddressDomain, type SkipReason } from '../../mail/broadcast.ts'
import type { Connection } from '../connection.ts'
import type { Db } from '../schema.ts'
import { findScanEnd, buildMemberCondition } from './members.ts'
import { getKnownProviders } from './recipients.ts'

/** The result of an expansion step. */
export type ExpansionResult =
  /** More contacts follow. */
  | 'more'
  /** All contacts of the segment are recipients now. */
  | 'all'
  /** The broadcast was paused, canceled, or expanded by another process. */
  | 'stopped'
  /** A segment has rules, so `expandByRules` must run the step. */
  | 'rules'

type Skips = Partial<Record<SkipReason, number>>

interface ExpansionRow {
  seq: number
  team_id: string
  segment_id: string
  exclude: string
  cursor: string
  started_at: number
  /** JSON: Skips. */
  skipped: string
  /** Null if the broadcast has no topic, or the topic was deleted. */
  topic_id: string | null
  preset: Subscription | null
}

/** Selects the next contacts of a segment, by ID. Excludes contacts who joined after the start. */
const CHUNK = `select contact_id from contact_segments
  where segment_id = @segment and contact_id > @cursor and added_at <= @startedAt order by contact_id limit @most`

/**
 * Adds the next `most` contacts of the segment as recipients, except those in excluded segments. A contact is never
 * added twice, because rows and cursor are written in one transaction. Performance-critical: uses plain statements,
 * prepared once.
 */
function createExpand(db: Connection): (args: { id: string; most: number }, now: number) => ExpansionResult {
  const find = db.prepare<[string], ExpansionRow>(
    `select b.seq, b.team_id, b.segment_id, b.exclude, b.cursor, b.started_at, b.skipped,
       t.id as topic_id, t.default_subscription as preset
     from broadcasts b left join topics t on t.id = b.topic_id and t.team_id = b.team_id and t.deleted_at is null
     where b.id = ? and b.status = 'queued' and b.paused_at is null and b.expanded_at is null`,
  )
  const ruled = db.prepare<[string, string]>(
    `select 1 from segments where filter is not null and (id = ? or id in (select value from json_each(?)))`,
  )
  const last = db.prepare<object, { cursor: string | null; n: number }>(
    `select max(contact_id) as cursor, count(*) as n from (${CHUNK}) as chunk`,
  )
  // The domain is the text after the first @. Addresses with a quoted @ are rare; their provider is determined at the
  // first attempt.
  const insert = db.prepare(
    `insert into broadcast_recipients (broadcast, contact_id, bucket, skipped)
     select @seq, contact_id, case when skipped is null then provider end, skipped from (
       select m.contact_id,
         coalesce((select provider from destinations where domain = substr(c.address_key, instr(c.address_key, '@') + 1)), '') as provider,
         case when c.unsubscribed_at is not null then 'unsubscribed'
           when coalesce(x.subscription, @preset) = 'opt_out' then 'topic' end as skipped
       from (${CHUNK}) m cross join contacts c left join contact_topics x on x.contact_id = c.id and x.topic_id = @topic
       where c.team_id = @team and c.id = m.contact_id and not exists (
         select 1 from json_each(@exclude) y join contact_segments s on s.segment_id = y.value and s.contact_id = m.contact_id)
     ) as chosen`,
  )
  const count = db.prepare<[number, string, string], { skipped: SkipReason; n: number }>(
    `select skipped, count(*) as n from broadcast_recipients
     where broadcast = ? and contact_id > ? and contact_id <= ? and skipped is not null group by skipped`,
  )
  const move = db.prepare(
    'update broadcasts set cursor = ?, expanded = expanded + ?, skipped = ? where id = ?',
  )
  const finish = db.prepare('update broadcasts set expanded_at = ? where id = ?')
  return ({ id, most }, now) => {
    const row = find.get(id)
    if (!row) return 'stopped'
    if (ruled.get(row.segment_id, row.exclude)) return 'rules'
    const chunk = { segment: row.segment_id, cursor: row.cursor, startedAt: row.started_at, most }
    const { cursor, n } = last.get(chunk)!
    if (cursor !== null) {
      const topic = { topic: row.topic_id ?? '', preset: row.preset }
      const target = { seq: row.seq, team: row.team_id, exclude: row.exclude }
      const { changes } = insert.run({ ...chunk, ...target, ...topic })
      const skips = count.all(row.seq, row.cursor, cursor)
      move.run(cursor, changes, withSkips(row.skipped, skips), id)
    }
    if (n === most) return 'more'
    finish.run(now, id)
    return 'all'
  }
}

/** Adds counts to the counts that are stored as JSON. */
function withSkips(stored: string, added: readonly { skipped: SkipReason; n: number }[]): string {
  if (added.length === 0) return stored
  const sums = JSON.parse(stored) as Skips
  for (const { skipped, n } of added) sums[skipped] = (sums[skipped] ?? 0) + Number(n)
  return JSON.stringify(sums)
}

/**
 * Does the same as `createExpand` for a segment with rules. Relative times in the rules refer to the start, but
 * contacts match by their current data.
 */
async function expandByRules(
  db: Db,
  { id, most }: { id: string; most: number },
  now: number,
): Promise<Exclude<ExpansionResult, 'rules'>> {
  const row = await db
    .selectFrom('broadcasts as b')
    .leftJoin('topics as t', (join) =>
      join
        .onRef('t.id', '=', 'b.topic_id')
        .onRef('t.team_id', '=', 'b.team_id')
        .on('t.deleted_at', 'is', null),
    )
    .select(['b.seq', 'b.team_id', 'b.segment_id', 'b.exclude', 'b.cursor', 'b.started_at', 'b.skipped'])
    .select(['t.id as topic_id', 't.default_subscription as preset'])
    .where('b.id', '=', id)
    .where('b.status', '=', 'queued')
    .where('b.paused_at', 'is', null)
    .where('b.expanded_at', 'is', null)
    .executeTakeFirst()
  if (!row) return 'stopped'
  const end = await findScanEnd(db, { teamId: row.team_id, after: row.cursor, scanned: most * SCANNED })
  const contacts = await membersByRules(db, { ...row, started_at: row.started_at! }, { end, most })
  const skips = await insertMembers(db, row, contacts)
  const isFull = contacts.length === most
  const isEnd = !isFull && end === undefined
  await db
    .updateTable('broadcasts')
    .set((set) => ({
      cursor: (isFull ? contacts.at(-1)?.id : end) ?? row.cursor,
      expanded: set('expanded', '+', contacts.length),
      skipped: withSkips(row.skipped, skips),
      ...(isEnd && { expanded_at: now }),
    }))
    .where('id', '=', id)
    .execute()
  return isEnd ? 'all' : 'more'
}

/**
 * Number of contacts that a step may examine for each one that it may find, because a segment's rules may match few.
 */
const SCANNED = 10

type Member = Awaited<ReturnType<typeof membersByRules>>[number]

/** Returns the next contacts that match the rules, up to the contact `end`. */
async function membersByRules(
  db: Db,
  {
    team_id: teamId,
    segment_id: segmentId,
    cursor,
    started_at: startedAt,
    exclude,
    topic_id: topicId,
  }: ExpansionRow,
  { end, most }: { end: string | undefined; most: number },
) {
  let query = db
    .selectFrom('contacts')
    .leftJoin('contact_topics as x', (join) =>
      join.onRef('x.contact_id', '=', 'contacts.id').on('x.topic_id', '=', topicId ?? ''),
    )
    .select(['contacts.id', 'contacts.address_key', 'contacts.unsubscribed_at', 'x.subscription'])
    .where('contacts.team_id', '=', teamId)
    .where('contacts.id', '>', cursor)
    .where('contacts.created_at', '<=', startedAt)
    .where(await buildMemberCondition(db, teamId, segmentId, startedAt))
  if (end !== undefined) query = query.where('contacts.id', '<=', end)
  for (const other of JSON.parse(exclude) as string[]) {
    const excluded = await buildMemberCondition(db, teamId, other, startedAt)
    query = query.where(sql<SqlBool>`not coalesce(${excluded}, false)`)
  }
  return query.orderBy('contacts.id').limit(most).execute()
}

/** Adds contacts as recipients. Returns the number of skipped ones by reason. */
async function insertMembers(
  db: Db,
  { seq, preset }: Pick<ExpansionRow, 'seq' | 'preset'>,
  contacts: readonly Member[],
): Promise<{ skipped: SkipReason; n: number }[]> {
  if (contacts.length === 0) return []
  const providers = await getKnownProviders(
    db,
    contacts.map((one) => getAddressDomain(one.address_key)),
  )
  const rows = contacts.map((one) => {
    const skipped = skipOf(one, preset)
    const bucket = skipped === null ? (providers.get(getAddressDomain(one.address_key)) ?? '') : null
    return { broadcast: seq, contact_id: one.id, bucket, skipped }
  })
  await db.insertInto('broadcast_recipients').values(rows).execute()
  return rows.flatMap(({ skipped }) => (skipped === null ? [] : { skipped, n: 1 }))
}

/** Returns why a contact is skipped; null if it isn't. */
function skipOf(
  { unsubscribed_at: unsubscribedAt, subscription }: Member,
  preset: Subscription | null,
): SkipReason | null {
  if (unsubscribedAt !== null) return 'unsubscribed'
  if (preset === null) return null
  const choice = subscription === null ? undefined : { subscription }
  return effectiveSubscription(choice, { defaultSubscription: preset }) === 'opt_out' ? 'topic' : null
}

export const methods = {
  writes: { expandByRules },
  prepared: { expandBroadcast: createExpand },
}
