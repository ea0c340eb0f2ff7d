/** Lists and searches of contacts. All use keyset pagination. */
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Subscription } from '../../mail/audience.ts'
import type { Rules } from '../../mail/rules.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { like, escapeLike, type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db, Tables } from '../schema.ts'
import { type Contact, toContact } from './contact-rows.ts'
import { buildCondition, isSuppressed, findMatchingSegments, getSegmentRules } from './rules.ts'

/** A filter for contacts. */
export interface ContactFilter {
  /** Selects members of this segment. */
  segmentId?: string | undefined
  unsubscribed?: boolean | undefined
}

/**
 * Lists a page of contacts, newest first. For a segment with rules, it may examine all contacts; use `searchContacts`
 * to limit the work.
 */
async function listContacts(
  db: Db,
  { teamId, segmentId, unsubscribed, ...page }: PageArgs & ContactFilter,
  now: number,
): Promise<Page<Contact>> {
  const rules = segmentId === undefined ? undefined : await getSegmentRules(db, teamId, segmentId)
  if (segmentId !== undefined && !rules) return listMembers(db, { teamId, segmentId, unsubscribed, ...page })
  let query = db.selectFrom('contacts').selectAll().where('team_id', '=', teamId)
  if (rules) query = query.where(await buildCondition(db, teamId, rules, now))
  return readPage(
    unsubscribed === undefined ? query : query.where(isUnsubscribed(unsubscribed)),
    page,
    toContact,
  )
}

const isUnsubscribed = (unsubscribed: boolean) =>
  unsubscribed
    ? sql<SqlBool>`contacts.unsubscribed_at is not null`
    : sql<SqlBool>`contacts.unsubscribed_at is null`

async function listMembers(
  db: Db,
  { teamId, segmentId, unsubscribed, ...page }: PageArgs & ContactFilter & { segmentId: string },
): Promise<Page<Contact>> {
  const query = membersOf(db, teamId, segmentId)
  return readPage(
    unsubscribed === undefined ? query : query.where(isUnsubscribed(unsubscribed)),
    page,
    toContact,
    'contact_id',
  )
}

const membersOf = (db: Db, teamId: string, segmentId: string) =>
  db
    .selectFrom('contact_segments')
    .innerJoin('contacts', (join) =>
      join.onRef('contacts.id', '=', 'contact_segments.contact_id').on('contacts.team_id', '=', teamId),
    )
    .selectAll('contacts')
    .where('contact_segments.segment_id', '=', segmentId)
    .where('contact_segments.team_id', '=', teamId)

/** Number of contacts that one search step examines, which takes about 30 ms. */
const SCANNED = 20_000

/** The conditions of a search. */
export interface ContactConditions extends ContactFilter {
  /** Part of the address or of a name. A full address finds only that contact. */
  text?: string | undefined
  /** Selects contacts with this explicit choice for a topic, made by themselves or by someone else. */
  topic?: { id: string; subscription: Subscription } | undefined
  suppressed?: boolean | undefined
  rules?: Rules | undefined
}

export interface ContactSearchResult {
  items: Contact[]
  /** ID of the contact after which the search continues; null if all were examined. */
  next: string | null
}

type SearchArgs = Omit<PageArgs, 'before'> & ContactConditions

/**
 * Searches contacts, newest first. Ignores the case of ASCII letters. Each call examines a limited number of contacts.
 */
async function searchContacts(
  db: Db,
  { after, limit, ...conditions }: SearchArgs,
  now: number,
): Promise<ContactSearchResult> {
  const { query, end, column } = await buildSearchQuery(db, { after, ...conditions }, now)
  const { items, hasMore } = await readPage(query.selectAll('contacts'), { limit, after }, toContact, column)
  return { items, next: hasMore ? items.at(-1)!.id : (end ?? null) }
}

/** Counts matching contacts among the limited number that one call examines. */
async function countMatching(
  db: Db,
  { after, ...conditions }: Omit<SearchArgs, 'limit'>,
  now: number,
): Promise<{ count: number; next: string | null }> {
  const { query, end, column } = await buildSearchQuery(db, { after, ...conditions }, now, true)
  let within = query.select(sql<number>`count(*)`.as('n'))
  if (after !== undefined) within = within.where(sql<SqlBool>`${sql.ref(column)} < ${after}`)
  const { n } = await within.executeTakeFirstOrThrow()
  return { count: Number(n), next: end ?? null }
}

interface Matching {
  query: SelectQueryBuilder<Tables, 'contacts', object>
  /** ID of the last contact that the query examines; undefined if it examines all that are left. */
  end: string | undefined
  /** Name of the column that cursors refer to. */
  column: string
}

/**
 * Builds the query for one step.
 * @param always whether to limit the number of examined contacts even if an index finds the matching ones
 */
export async function buildSearchQuery(
  db: Db,
  { teamId, segmentId: asked, unsubscribed, after, ...others }: Omit<SearchArgs, 'limit'>,
  now: number,
  always = false,
): Promise<Matching> {
  const own = asked === undefined ? undefined : await getSegmentRules(db, teamId, asked)
  const segmentId = own ? undefined : asked
  const key = await addressOf(db, teamId, others.text)
  const text = key === undefined ? others.text : undefined
  const unindexed = await unindexedOf(db, { teamId, ...others, text }, own, now)
  const indexed = unindexed.length === 0 && (!segmentId || unsubscribed === undefined)
  const scan = segmentId === undefined ? scanOfTeam(db, teamId) : scanOfSegment(db, segmentId)
  const end = key !== undefined || (indexed && !always) ? undefined : await scan(after)
  const column = segmentId === undefined ? 'contacts.id' : 'contact_id'
  let query: Matching['query'] = db.selectFrom('contacts').where('contacts.team_id', '=', teamId)
  if (segmentId !== undefined)
    query = query
      .innerJoin('contact_segments', 'contact_segments.contact_id', 'contacts.id')
      .where('contact_segments.segment_id', '=', segmentId)
  if (key !== undefined) query = query.where('contacts.address_key', '=', key)
  if (end !== undefined) query = query.where(sql<SqlBool>`${sql.ref(column)} >= ${end}`)
  if (unsubscribed !== undefined) query = query.where(isUnsubscribed(unsubscribed))
  for (const condition of unindexed) query = query.where(condition)
  return { query, end, column }
}

/**
 * Returns the key of the contact with this full address, which the index finds immediately among millions. Undefined if
 * there is none.
 */
async function addressOf(db: Db, teamId: string, text: string | undefined): Promise<string | undefined> {
  if (text === undefined || !/^[^\s@]+@[^\s@]+$/.test(text)) return undefined
  const key = toSuppressionKey(text)
  const row = await db
    .selectFrom('contacts')
    .select('id')
    .where('team_id', '=', teamId)
    .where('address_key', '=', key)
    .executeTakeFirst()
  return row && key
}

/**
 * Returns the conditions that no index supports.
 * @param own the rules of the segment
 */
async function unindexedOf(
  db: Db,
  {
    teamId,
    text,
    topic,
    suppressed,
    rules,
  }: Pick<SearchArgs, 'teamId' | 'text' | 'topic' | 'suppressed' | 'rules'>,
  own: Rules | undefined,
  now: number,
): Promise<Expression<SqlBool>[]> {
  const conditions: Expression<SqlBool>[] = []
  if (topic !== undefined) conditions.push(hasChosen(topic))
  if (suppressed !== undefined)
    conditions.push(suppressed ? isSuppressed : sql<SqlBool>`not (${isSuppressed})`)
  for (const one of [own, rules]) if (one) conditions.push(await buildCondition(db, teamId, one, now))
  if (text === undefined) return conditions
  const pattern = `%${escapeLike(text)}%`
  const names = ['email', 'first_name', 'last_name'].map((name) => like(`contacts.${name}`, pattern))
  return [...conditions, sql<SqlBool>`(${sql.join(names, sql` or `)})`]
}

const hasChosen = ({ id, subscription }: NonNullable<ContactConditions['topic']>) =>
  sql<SqlBool>`exists (select 1 from contact_topics as t where t.topic_id = ${id} and t.contact_id = contacts.id
    and t.subscription = ${subscription})`

type Scan = (after: string | undefined) => Promise<string | undefined>

/** Returns the ID of the last contact that a search step may examine; undefined if it may examine all that are left. */
const scanOfTeam =
  (db: Db, teamId: string): Scan =>
  async (after) => {
    let query = db.selectFrom('contacts').select('id').where('team_id', '=', teamId)
    if (after !== undefined) query = query.where('id', '<', after)
    const row = await query.orderBy('id', 'desc').limit(1).offset(SCANNED).executeTakeFirst()
    return row?.id
  }

const scanOfSegment =
  (db: Db, segmentId: string): Scan =>
  async (after) => {
    let query = db.selectFrom('contact_segments').select('contact_id').where('segment_id', '=', segmentId)
    if (after !== undefined) query = query.where('contact_id', '<', after)
    const row = await query.orderBy('contact_id', 'desc').limit(1).offset(SCANNED).executeTakeFirst()
    return row?.contact_id
  }

/** Additional data about the contacts in a list. */
export interface ContactContext {
  /** Segments by contact ID: those without rules, then those with rules, each sorted by name. */
  segments: Map<string, { id: string; name: string }[]>
  /** Keys of the suppressed addresses. */
  suppressed: Set<string>
}

/** Returns the segments of contacts, and which of their addresses are suppressed. */
async function contactContext(
  db: Db,
  { teamId, contacts }: { teamId: string; contacts: { id: string; email: string }[] },
  now: number,
): Promise<ContactContext> {
  if (contacts.length === 0) return { segments: new Map(), suppressed: new Set() }
  const ids = contacts.map(({ id }) => id)
  const rows = await db
    .selectFrom('contact_segments as m')
    .innerJoin('segments as s', 's.id', 'm.segment_id')
    .select(['m.contact_id', 's.id', 's.name'])
    .where('m.contact_id', 'in', ids)
    .where('s.team_id', '=', teamId)
    .where('s.deleted_at', 'is', null)
    .orderBy('s.name')
    .execute()
  const matched = (await findMatchingSegments(db, teamId, ids, now)).flatMap(({ id, name, contactIds }) =>
    contactIds.map((contactId) => ({ contact_id: contactId, id, name })),
  )
  const byContact = Map.groupBy([...rows, ...matched], (row) => row.contact_id)
  return {
    segments: new Map([...byContact].map(([id, all]) => [id, all.map(({ id, name }) => ({ id, name }))])),
    suppressed: await findSuppressedAddresses(
      db,
      teamId,
      contacts.map(({ email }) => toSuppressionKey(email)),
    ),
  }
}

/**
 * Returns which of the given addresses are suppressed.
 * @param keys results of `toSuppressionKey`
 */
export async function findSuppressedAddresses(
  db: Db,
  teamId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db
    .selectFrom('suppressions')
    .select('address')
    .where('team_id', '=', teamId)
    .where('address', 'in', [...new Set(keys)])
    .execute()
  return new Set(rows.map(({ address }) => address))
}

/** Counts the contacts of a team that are on its suppression list. Does one lookup for each entry of the list. */
async function countSuppressedContacts(db: Db, { teamId }: { teamId: string }): Promise<number> {
  const { n } = await db
    .selectFrom('suppressions as u')
    .innerJoin('contacts as c', (join) =>
      join.onRef('c.team_id', '=', 'u.team_id').onRef('c.address_key', '=', 'u.address'),
    )
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('u.team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  return Number(n)
}

export const methods = {
  reads: { listContacts, searchContacts, countMatching, contactContext, countSuppressedContacts },
}
