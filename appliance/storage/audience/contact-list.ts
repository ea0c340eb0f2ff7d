/** Lists of contacts, and the search in them. All are read by keyset. */
import { type SqlBool, sql } from 'kysely'
import { like, lowered, type Page, type PageArgs, pageOf } from '../lists.ts'
import type { Db } from '../schema.ts'
import { type Contact, toContact } from './contact-rows.ts'

/** Which contacts. */
export interface ContactFilter {
  /** Members of this segment. */
  segmentId?: string | undefined
  unsubscribed?: boolean | undefined
}

/** A page of contacts, newest first. */
async function listContacts(
  db: Db,
  { teamId, segmentId, unsubscribed, ...page }: PageArgs & ContactFilter,
): Promise<Page<Contact>> {
  if (segmentId !== undefined) return listMembers(db, { teamId, segmentId, unsubscribed, ...page })
  const query = db.selectFrom('contacts').selectAll().where('team_id', '=', teamId)
  return pageOf(
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
  return pageOf(
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

/** A search looks at so many contacts: some 30 ms. */
const SCANNED = 20_000

export interface ContactsFound {
  items: Contact[]
  /** The contact after which the search goes on; null: all were looked at. */
  next: string | null
}

/**
 * Contacts whose address or name contains a text, in any case of ASCII letters, newest first. Each call looks at a bounded
 * number of contacts.
 */
async function searchContacts(
  db: Db,
  {
    teamId,
    segmentId,
    unsubscribed,
    text,
    after,
    limit,
  }: Omit<PageArgs, 'before'> & ContactFilter & { text: string },
): Promise<ContactsFound> {
  const scan = segmentId === undefined ? scanOfTeam(db, teamId) : scanOfSegment(db, segmentId)
  const end = await scan(after)
  const query = db.selectFrom('contacts').selectAll('contacts').where('contacts.team_id', '=', teamId)
  let within = query
  if (segmentId !== undefined)
    within = within
      .innerJoin('contact_segments', 'contact_segments.contact_id', 'contacts.id')
      .where('contact_segments.segment_id', '=', segmentId)
  const column = segmentId === undefined ? 'id' : 'contact_id'
  if (end !== undefined) within = within.where(sql<SqlBool>`${sql.ref(column)} >= ${end}`)
  if (unsubscribed !== undefined) within = within.where(isUnsubscribed(unsubscribed))
  const pattern = `%${lowered(text)}%`
  const found = within.where((row) =>
    row.or(['email', 'first_name', 'last_name'].map((name) => like(`contacts.${name}`, pattern))),
  )
  const { items, hasMore } = await pageOf(found, { limit, after }, toContact, column)
  return { items, next: hasMore ? items.at(-1)!.id : (end ?? null) }
}

type Scan = (after: string | undefined) => Promise<string | undefined>

/** The id of the last contact that a search may look at; undefined: it may look at all that are left. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listContacts, searchContacts },
}
