/** Results of a broadcast: counts, recipients and links. */
import { sql } from 'kysely'
import type { BroadcastCounts, BroadcastReach } from '../../mail/broadcast.ts'
import type { RecentEmail } from '../../mail/automatic-pause.ts'
import { LAST_EVENTS, type EventData } from '../../mail/event.ts'
import { isProviderPlaceholder } from '../../mail/queue.ts'
import type { Cause } from '../../mail/verdict.ts'
import { contains, type Page, type PageArgs } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { Connection } from '../connection.ts'
import type { BroadcastRef } from './broadcasts.ts'

/** Counts the emails of a broadcast by their last event. */
async function countBroadcast(db: Db, { id }: { id: string }): Promise<BroadcastCounts> {
  const rows = await db
    .selectFrom('emails')
    .select((row) => ['last_event', row.fn.countAll<number>().as('n')])
    .where('broadcast_id', '=', id)
    .groupBy('last_event')
    .execute()
  return Object.fromEntries(rows.map(({ last_event: event, n }) => [event, Number(n)]))
}

/**
 * Lists the last `most` emails that were first attempted after a time, newest first. Reads at most that many for each
 * last event. Otherwise, it would first read all queued emails, which are the newest.
 */
async function recentEmails(
  db: Db,
  { id, since, most }: { id: string; since: number; most: number },
): Promise<RecentEmail[]> {
  const newest = ATTEMPTED.map((event) => {
    const found = sql`select id, last_event, sent_at from emails
      where broadcast_id = ${id} and last_event = ${event} and sent_at > ${since} order by id desc limit ${most}`
    return sql`select id, last_event, sent_at from (${found}) as ${sql.ref(event)}`
  })
  const { rows } = await sql<{ provider: string; last_event: string; sent_at: number; cause: string | null }>`
    select d.provider, recent.last_event, recent.sent_at,
      case when recent.last_event in ('bounced', 'delivery_delayed') then d.cause end as cause
    from (select id, last_event, sent_at from (${sql.join(newest, sql` union all `)}) as every order by id desc limit ${most}) as recent
    join deliveries d on d.email_id = recent.id
  `.execute(db)
  return rows.map(({ provider, last_event: lastEvent, sent_at: sentAt, cause }) => ({
    provider: isProviderPlaceholder(provider) ? '' : provider,
    lastEvent,
    category: cause === null ? null : ((JSON.parse(cause) as Cause).category ?? null),
    sentAt: Number(sentAt),
  }))
}

/** Last events of emails that were attempted. */
const ATTEMPTED = LAST_EVENTS.filter((event) => event !== 'queued' && event !== 'scheduled')

/** Stores counts, so that lists don't have to count, and the numbers are kept after the emails are deleted. */
async function saveBroadcastCounts(
  db: Db,
  { id, counts, reach }: { id: string; counts: BroadcastCounts; reach: BroadcastReach },
  now: number,
): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ counts: JSON.stringify(counts), reach: JSON.stringify(reach), counted_at: now })
    .where('id', '=', id)
    .execute()
}

/** Number of emails to one provider with the same last event. */
export interface ProviderOutcome {
  provider: string
  /** One of the pools that the emails are sent from. */
  pool: string
  lastEvent: string
  n: number
}

/** Counts a chunk of the emails by provider. `next` is the position of the next chunk; null after the last one. */
async function broadcastOutcomes(
  db: Db,
  { id, after, most }: { id: string; after: string; most: number },
): Promise<{ outcomes: ProviderOutcome[]; next: string | null }> {
  const part = await db
    .selectFrom('emails')
    .select('id')
    .where('broadcast_id', '=', id)
    .where('id', '>', after)
    .orderBy('id')
    .limit(1)
    .offset(most - 1)
    .executeTakeFirst()
  let query = db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select((row) => ['d.provider', 'e.last_event', row.fn.countAll<number>().as('n')])
    .select((row) => row.fn.min('d.pool').as('pool'))
    .where('e.broadcast_id', '=', id)
    .where('e.id', '>', after)
  if (part) query = query.where('e.id', '<=', part.id)
  const rows = await query.groupBy(['d.provider', 'e.last_event']).execute()
  const outcomes = rows.map(({ provider, pool, last_event: lastEvent, n }) => ({
    provider,
    pool,
    lastEvent,
    n: Number(n),
  }))
  return { outcomes, next: part?.id ?? null }
}

/** The outcomes by which recipients can be listed. */
export type RecipientType =
  'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed' | 'suppressed'

/** A recipient of a broadcast. */
export interface BroadcastRecipient {
  /** ID of the email. */
  id: string
  /** ID of the contact; null if it was deleted. */
  contactId: string | null
  email: string
  opens: number
  /** Index of the variant that was sent, in an A/B test or after it; null if there was no test. */
  variant: number | null
  /** Number of clicks on each link; empty unless recipients who clicked were requested. */
  links: { url: string; clicks: number }[]
  /** The type of bounce; null unless recipients whose email bounced were requested. */
  bounceType: 'Permanent' | 'Transient' | 'Undetermined' | null
}

export interface RecipientsArgs extends PageArgs {
  id: string
  type: RecipientType
  /** Selects recipients whose address contains this text. */
  email?: string | undefined
  /** Selects recipients whose email bounced with this type. */
  bounceType?: 'Permanent' | 'Transient' | 'Undetermined' | undefined
}

/** Lists recipients whose emails have a given outcome, newest first. */
async function listBroadcastRecipients(
  db: Db,
  { id, type, email, bounceType, ...args }: RecipientsArgs,
): Promise<Page<BroadcastRecipient>> {
  const broadcast = await db
    .selectFrom('broadcasts')
    .leftJoin('broadcast_ab_tests as t', 't.broadcast_id', 'broadcasts.id')
    .select(['seq', 't.winner'])
    .where('team_id', '=', args.teamId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!broadcast) return { items: [], hasMore: false }
  const { seq, winner } = broadcast
  let query = db
    .selectFrom('emails as e')
    .innerJoin('broadcast_recipients as r', (join) =>
      join.onRef('r.contact_id', '=', 'e.contact_id').on('r.broadcast', '=', seq),
    )
    .leftJoin('contacts as c', (join) =>
      join.onRef('c.id', '=', 'e.contact_id').on('c.team_id', '=', args.teamId),
    )
    .select(['e.id', 'e.contact_id', 'e.to_header', 'r.opens', 'r.variant', 'c.id as known'])
    .where('e.broadcast_id', '=', id)
  if (type === 'sent') query = query.where('e.sent_at', 'is not', null).where('e.last_event', '<>', 'queued')
  if (type === 'delivered')
    query = query.where('e.last_event', 'in', ['delivered', 'opened', 'clicked', 'complained'])
  if (type === 'bounced' || type === 'complained' || type === 'suppressed')
    query = query.where('e.last_event', '=', type)
  if (type === 'opened') query = query.where('r.opens', '>', 0)
  if (type === 'clicked') query = query.where('r.clicks', '>', 0)
  if (type === 'unsubscribed') query = query.where('r.unsubscribed', '=', 1)
  if (email !== undefined) query = query.where(contains('e.to_header', email))
  if (bounceType !== undefined)
    query = query.where((row) =>
      row.exists(
        row
          .selectFrom('events as v')
          .select(sql`1`.as('one'))
          .whereRef('v.email_id', '=', 'e.id')
          .where('v.type', '=', 'email.bounced')
          .where('v.data', 'like', `%"bounce":{"type":"${bounceType}"%`),
      ),
    )
  const { after, before, limit } = args
  const upwards = before !== undefined && after === undefined
  if (after !== undefined) query = query.where('e.id', '<', after)
  if (before !== undefined) query = query.where('e.id', '>', before)
  const rows = await query
    .orderBy('e.id', upwards ? 'asc' : 'desc')
    .limit(limit + 1)
    .execute()
  const shown = rows.slice(0, limit).map((row) => ({ ...row, variant: row.variant ?? winner }))
  const items = await withDetails(db, seq, type, shown)
  return { items: upwards ? items.reverse() : items, hasMore: rows.length > limit }
}

interface RecipientRow {
  id: string
  contact_id: string | null
  to_header: string
  opens: number
  variant: number | null
  known: string | null
}

async function withDetails(
  db: Db,
  seq: number,
  type: RecipientType,
  rows: readonly RecipientRow[],
): Promise<BroadcastRecipient[]> {
  const bounces = type === 'bounced' ? await getBounces(db, rows) : new Map<string, EventData>()
  const clicks = type === 'clicked' ? await clicksOf(db, seq, rows) : []
  return rows.map(({ id, contact_id: contactId, to_header: to, opens, variant, known }) => ({
    id,
    contactId: known,
    email: (JSON.parse(to) as string[])[0]!,
    opens,
    variant,
    links: clicks.flatMap((one) =>
      one.contact_id === contactId ? [{ url: one.url, clicks: one.clicks }] : [],
    ),
    bounceType: bounces.get(id)?.bounce?.type ?? null,
  }))
}

/** Returns the data of the bounces of emails, by email ID. */
export async function getBounces(db: Db, rows: readonly { id: string }[]): Promise<Map<string, EventData>> {
  if (rows.length === 0) return new Map()
  const events = await db
    .selectFrom('events')
    .select(['email_id', 'data'])
    .where(
      'email_id',
      'in',
      rows.map(({ id }) => id),
    )
    .where('type', '=', 'email.bounced')
    .execute()
  return new Map(events.map(({ email_id: id, data }) => [id!, JSON.parse(data) as EventData]))
}

async function clicksOf(db: Db, seq: number, rows: readonly RecipientRow[]) {
  if (rows.length === 0) return []
  return db
    .selectFrom('broadcast_clicks')
    .select(['contact_id', 'url', 'clicks'])
    .where('broadcast', '=', seq)
    .where(
      'contact_id',
      'in',
      rows.flatMap(({ contact_id: contactId }) => contactId ?? []),
    )
    .orderBy('clicks', 'desc')
    .orderBy('url')
    .execute()
}

/** A link of a broadcast that was clicked. */
export interface ClickedLink {
  url: string
  clicks: number
  /** Number of contacts who clicked the link. */
  uniqueClicks: number
}

/** Lists links, most clicked first. */
async function listClickedLinks(
  db: Db,
  { teamId, id, offset, limit }: BroadcastRef & { offset: number; limit: number },
): Promise<Page<ClickedLink>> {
  const rows = await db
    .selectFrom('broadcast_links as l')
    .innerJoin('broadcasts as b', 'b.seq', 'l.broadcast')
    .select(['l.url', 'l.clicks', 'l.unique_clicks'])
    .where('b.team_id', '=', teamId)
    .where('b.id', '=', id)
    .orderBy('l.clicks', 'desc')
    .orderBy('l.url')
    .limit(limit + 1)
    .offset(offset)
    .execute()
  const items = rows.map(({ url, clicks, unique_clicks: uniqueClicks }) => ({ url, clicks, uniqueClicks }))
  return { items: items.slice(0, limit), hasMore: rows.length > limit }
}

/** Counts the recipients that opened, clicked and unsubscribed. */
async function broadcastReach(db: Db, { id }: { id: string }): Promise<BroadcastReach> {
  const count = async (column: 'opens' | 'clicks' | 'unsubscribed'): Promise<number> => {
    const row = await db
      .selectFrom('broadcast_recipients as r')
      .innerJoin('broadcasts as b', 'b.seq', 'r.broadcast')
      .select((one) => one.fn.countAll<number>().as('n'))
      .where('b.id', '=', id)
      // Written as literals, because the planner uses a partial index only if the condition isn't a bound parameter.
      .where(
        column === 'unsubscribed'
          ? sql<boolean>`r.unsubscribed = 1`
          : sql<boolean>`${sql.ref(`r.${column}`)} > 0`,
      )
      .executeTakeFirstOrThrow()
    return Number(row.n)
  }
  return {
    opened: await count('opens'),
    clicked: await count('clicks'),
    unsubscribed: await count('unsubscribed'),
  }
}

/** Records that someone unsubscribed with the link in an email. Does nothing if the email isn't part of a broadcast. */
export async function recordUnsubscribe(db: Db, emailId: string): Promise<void> {
  const email = await db
    .selectFrom('emails as e')
    .innerJoin('broadcasts as b', 'b.id', 'e.broadcast_id')
    .select(['b.seq', 'e.contact_id'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  if (!email?.contact_id) return
  await db
    .updateTable('broadcast_recipients')
    .set({ unsubscribed: 1 })
    .where('broadcast', '=', email.seq)
    .where('contact_id', '=', email.contact_id)
    .execute()
}

/**
 * Part of `recordHit`: counts an open or click of a broadcast's email by a person.
 * @param hit link: null for an open
 */
export function createHitCounter(
  db: Connection,
): (hit: { broadcastId: string; contactId: string; link: string | null }) => void {
  const find = db.prepare<[string], number>('select seq from broadcasts where id = ?').pluck()
  const open = db.prepare(
    'update broadcast_recipients set opens = opens + 1 where broadcast = ? and contact_id = ?',
  )
  const click = db.prepare(
    'update broadcast_recipients set clicks = clicks + 1 where broadcast = ? and contact_id = ?',
  )
  const ofContact = db
    .prepare<[number, string, string], number>(
      `insert into broadcast_clicks (broadcast, contact_id, url, clicks) values (?, ?, ?, 1)
       on conflict (broadcast, contact_id, url) do update set clicks = broadcast_clicks.clicks + 1 returning clicks`,
    )
    .pluck()
  const ofAll = db.prepare(
    `insert into broadcast_links (broadcast, url, clicks, unique_clicks) values (?, ?, 1, ?)
     on conflict (broadcast, url) do update set clicks = broadcast_links.clicks + 1,
       unique_clicks = broadcast_links.unique_clicks + excluded.unique_clicks`,
  )
  return ({ broadcastId, contactId, link }) => {
    const seq = find.get(broadcastId)
    if (seq === undefined) return
    if (link === null) return void open.run(seq, contactId)
    click.run(seq, contactId)
    ofAll.run(seq, link, ofContact.get(seq, contactId, link) === 1 ? 1 : 0)
  }
}

export const methods = {
  reads: {
    countBroadcast,
    recentEmails,
    broadcastOutcomes,
    broadcastReach,
    listBroadcastRecipients,
    listClickedLinks,
  },
  writes: { saveBroadcastCounts },
}
