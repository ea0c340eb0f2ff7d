/** The suppression list of a team. */
import type { Selectable } from 'kysely'
import { hashAddress, createErasedSuppressionKey } from '../mail/erasure.ts'
import { type EventData, toLastEvent } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { formatReply } from '../mail/reply.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type { Cause, SuppressionOrigin } from '../mail/verdict.ts'
import { createEventRecorder, type OtherEvent, recordOtherEvents } from './events.ts'
import { contains, type Page, type PageArgs, readPage } from './lists.ts'
import type { Db, SuppressionsTable } from './schema.ts'
import type { Connection } from './connection.ts'
import { getErasureKey } from './erasures/scan.ts'

export interface Suppression {
  id: string
  teamId: string
  /** The address as first added, with its domain in A-labels. */
  email: string
  origin: SuppressionOrigin
  /** ID of the email that bounced or had a complaint; null if the address was added manually. */
  sourceId: string | null
  /** The reason as one sentence; null if none was given. */
  reason: string | null
  /** The reply of the mail server as one line; null if there was none. */
  reply: string | null
  /** When the address was last removed before it was added again (Unix milliseconds); null if never. */
  removedAt: number | null
  createdAt: number
}

/** An entry to add. The storage sets `removedAt` if the address was on the list before. */
export type NewSuppression = Omit<Suppression, 'removedAt' | 'reason' | 'reply'> &
  Partial<Pick<Suppression, 'reason' | 'reply'>>

/** A complaint about an email. */
export interface Complaint {
  teamId: string
  /** The email that was complained about. */
  emailId: string
  deliveryId: string
  /** One sentence that says who reported it. */
  reason: string
  /** Whether to add the address to the list. */
  suppress: boolean
}

/** Identifies an entry by ID, or by address ignoring case. */
export type SuppressionRef = { id: string } | { email: string }

const toSuppression = (row: Selectable<SuppressionsTable>): Suppression => ({
  id: row.id,
  teamId: row.team_id,
  email: row.email,
  origin: row.origin,
  sourceId: row.source_id,
  reason: row.reason,
  reply: row.reply,
  removedAt: row.removed_at,
  createdAt: row.created_at,
})

const toRow = (one: NewSuppression, teamId: string, removedAt: number | null): SuppressionsTable => ({
  id: one.id,
  team_id: teamId,
  address: toSuppressionKey(one.email),
  email: one.email,
  origin: one.origin,
  source_id: one.sourceId,
  created_at: one.createdAt,
  reason: one.reason ?? null,
  reply: one.reply ?? null,
  removed_at: removedAt,
})

const tellOf =
  (type: OtherEvent['type']) =>
  ({ teamId, id, email, origin, sourceId, createdAt }: Suppression): OtherEvent => ({
    teamId,
    type,
    data: { suppression: { id, email, origin, sourceId, createdAt } },
  })

/**
 * Adds the missing entries, all or none, at most 500. Returns the stored entry for each address, in the order given;
 * for an address that was already suppressed, this is the older entry. Records `suppression.added` for each new entry
 * unless `quiet`. The unique address prevents duplicates.
 */
async function addSuppressions(
  db: Db,
  {
    teamId,
    suppressions,
    quiet = false,
  }: { teamId: string; suppressions: NewSuppression[]; quiet?: boolean },
  now: number,
): Promise<Suppression[]> {
  if (suppressions.length === 0) return []
  const keys = suppressions.map(({ email }) => toSuppressionKey(email))
  const removed = await db
    .selectFrom('unsuppressed')
    .select(['address', 'removed_at'])
    .where('team_id', '=', teamId)
    .where('address', 'in', keys)
    .execute()
  const removedAt = new Map(removed.map((row) => [row.address, row.removed_at]))
  await db
    .insertInto('suppressions')
    .values(suppressions.map((one, at) => toRow(one, teamId, removedAt.get(keys[at]!) ?? null)))
    .onConflict((conflict) => conflict.columns(['team_id', 'address']).doNothing())
    .execute()
  const stored = await storedOf(db, teamId, keys)
  const fresh = new Set(suppressions.map(({ id }) => id))
  const added = [...stored.values()].filter(({ id }) => fresh.has(id))
  if (!quiet) recordOtherEvents(db, added.map(tellOf('suppression.added')), now)
  return keys.map((key) => stored.get(key)!)
}

/** Reads the entries of some addresses by `toSuppressionKey`, in one read of the unique index. */
async function storedOf(db: Db, teamId: string, keys: string[]): Promise<Map<string, Suppression>> {
  const secret = await getErasureKey(db)
  const hashed = new Map(
    keys.map((key) => [createErasedSuppressionKey(hashAddress(secret, teamId, key)), key]),
  )
  const rows = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('address', 'in', [...new Set(keys), ...hashed.keys()])
    .execute()
  return new Map(rows.map((row) => [hashed.get(row.address) ?? row.address, toSuppression(row)]))
}

/** Returns which of `addresses` are suppressed, as given. Their domains must be A-labels; case is ignored. */
async function findSuppressed(
  db: Db,
  { teamId, addresses }: { teamId: string; addresses: string[] },
): Promise<(Suppression & { address: string })[]> {
  if (addresses.length === 0) return []
  const found = await storedOf(db, teamId, addresses.map(toSuppressionKey))
  return addresses.flatMap((address) => {
    const suppression = found.get(toSuppressionKey(address))
    return suppression ? [{ ...suppression, address }] : []
  })
}

async function getSuppression(
  db: Db,
  { teamId, ref }: { teamId: string; ref: SuppressionRef },
): Promise<Suppression | undefined> {
  if ('email' in ref) {
    const key = toSuppressionKey(ref.email)
    return (await storedOf(db, teamId, [key])).get(key)
  }
  const row = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id', '=', ref.id)
    .executeTakeFirst()
  return row && toSuppression(row)
}

/** Lists entries. `search` selects addresses that contain this text, ignoring case. */
async function listSuppressions(
  db: Db,
  {
    teamId,
    origin,
    search,
    ...page
  }: PageArgs & { origin?: SuppressionOrigin | undefined; search?: string | undefined },
): Promise<Page<Suppression>> {
  let query = db.selectFrom('suppressions').selectAll().where('team_id', '=', teamId)
  if (origin !== undefined) query = query.where('origin', '=', origin)
  if (search !== undefined) query = query.where(contains('address', toSuppressionKey(search)))
  return readPage(query, page, toSuppression)
}

/**
 * Removes existing entries in one transaction and returns them in the order given. Stores the time of removal, in case
 * the address is added again. Records `suppression.removed`.
 */
async function removeSuppressions(
  db: Db,
  { teamId, refs }: { teamId: string; refs: SuppressionRef[] },
  now: number,
): Promise<Suppression[]> {
  const removed: Suppression[] = []
  for (const ref of refs) {
    const found = await getSuppression(db, { teamId, ref })
    if (!found) continue
    await db.deleteFrom('suppressions').where('id', '=', found.id).execute()
    await db
      .insertInto('unsuppressed')
      .values({ team_id: teamId, address: toSuppressionKey(found.email), removed_at: now })
      .onConflict((conflict) => conflict.columns(['team_id', 'address']).doUpdateSet({ removed_at: now }))
      .execute()
    removed.push(found)
  }
  recordOtherEvents(db, removed.map(tellOf('suppression.removed')), now)
  return removed
}

/** An address of a team to look up on the suppression list. */
interface Listed {
  teamId: string
  address: string
}

/**
 * Looks up addresses on the suppression lists of their teams, by address and, for erased ones, by hash. Returns the
 * reason for each in the order given; undefined if it isn't suppressed.
 */
export function createSuppressionLookup(
  db: Connection,
): (asked: readonly Listed[]) => (SuppressionOrigin | undefined)[] {
  const one = db
    .prepare<[string, string], SuppressionOrigin>(
      'select origin from suppressions where team_id = ? and address = ?',
    )
    .pluck()
  const many = db.prepare<[string], { at: number; origin: SuppressionOrigin }>(
    `select cast(asked.value ->> 0 as integer) as at, origin from json_each(?) as asked
     cross join suppressions where team_id = asked.value ->> 1 and address = asked.value ->> 2`,
  )
  // Checks whether teams have erased entries. Hashes are hexadecimal, so all sort before this letter. Few teams have
  // any, and computing a hash takes 25 microseconds.
  const withErased = db
    .prepare<[string, string, string], string>(
      `select value from json_each(?) where exists (
         select 1 from suppressions where team_id = value and address >= ? and address < ?)`,
    )
    .pluck()
  const erased = [createErasedSuppressionKey(''), createErasedSuppressionKey('g')] as const
  // The key was created by a migration and never changes.
  const key = db.prepare<[], Buffer>("select value from secrets where name = 'erasures'").pluck().get()!
  return (asked) => {
    const teams = withErased.all(JSON.stringify([...new Set(asked.map(({ teamId }) => teamId))]), ...erased)
    const [only] = asked
    if (asked.length === 1 && teams.length === 0)
      return [one.get(only!.teamId, toSuppressionKey(only!.address))]
    const keys = asked.flatMap(({ teamId, address }, at) => {
      const hashed = teams.includes(teamId)
        ? [[at, teamId, createErasedSuppressionKey(hashAddress(key, teamId, address))]]
        : []
      return [[at, teamId, toSuppressionKey(address)], ...hashed]
    })
    const origins = new Map(many.all(JSON.stringify(keys)).map(({ at, origin }) => [at, origin]))
    return asked.map((_, at) => origins.get(at))
  }
}

/** An address to suppress, and why: it doesn't exist, or its owner complained. */
export interface AddressToSuppress {
  teamId: string
  /** The domain in A-labels. */
  email: string
  origin: Exclude<SuppressionOrigin, 'manual'>
  /** The email that bounced or had a complaint. */
  emailId: string
  /** One sentence. */
  reason: string
  /** The reply of the server as one line; null if there was none. */
  reply: string | null
}

/**
 * Part of `settle` and `complain`: adds an address to the list of its team. An existing entry stays, but a complaint
 * replaces a weaker reason, so that a person who removes the address sees the complaint.
 */
function createSuppress(db: Connection): (suppress: AddressToSuppress, now: number) => void {
  const insert = db.prepare<unknown[], { id: string; email: string; createdAt: number }>(
    `insert into suppressions (id, team_id, address, email, origin, source_id, created_at, reason, reply, removed_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, (select removed_at from unsuppressed where team_id = ? and address = ?))
     on conflict (team_id, address) do update
       set origin = excluded.origin, source_id = excluded.source_id, reason = excluded.reason, reply = excluded.reply
       where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'
     returning id, email, created_at as "createdAt"`,
  )
  const recordEvents = createEventRecorder(db)
  return ({ teamId, email, origin, emailId, reason, reply }, now) => {
    const address = toSuppressionKey(email)
    const id = newId(now)
    const stored = insert.get(
      id,
      teamId,
      address,
      email,
      origin,
      emailId,
      now,
      reason,
      reply,
      teamId,
      address,
    )
    // An existing entry that gets a new reason was already reported when it was added.
    if (stored?.id !== id) return
    const data = { suppression: { ...stored, origin, sourceId: emailId } }
    const about = { emailId: null, deliveryId: null, createdAt: now }
    recordEvents([{ event: { ...about, id: newId(now), teamId, type: 'suppression.added', data } }])
  }
}

/** The result of one delivery that may suppress its address. */
interface News {
  teamId: string
  emailId: string
  cause: Cause
  data: EventData
}

/**
 * Part of `settle`: suppresses an undeliverable address in the same transaction as the bounce, so that no email
 * accepted after this commit is sent there.
 */
export function createBounceSuppressor(db: Connection): (news: News, now: number) => void {
  const suppress = createSuppress(db)
  return ({ teamId, emailId, cause, data }, now) => {
    if (data.bounce?.suppress !== true || data.recipient === undefined) return
    const { note: reason, reply } = cause
    const said = reply && formatReply(reply)
    suppress({ teamId, email: data.recipient, origin: 'bounce', emailId, reason, reply: said }, now)
  }
}

/**
 * Records `email.complained` for a delivery and, if requested, suppresses its address, in one transaction. Also part of
 * `settle`. `known`: there was already a complaint; `unknown`: the team has no such delivery. In both cases, nothing
 * changes.
 */
export function createComplaintRecorder(
  db: Connection,
): (complaint: Complaint, now: number) => 'recorded' | 'known' | 'unknown' {
  const find = db
    .prepare<[string, string, string], string>(
      'select recipient from deliveries where email_id = ? and id = ? and team_id = ?',
    )
    .pluck()
  const before = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and delivery_id = ? and type = 'email.complained'`,
  )
  const recordEvents = createEventRecorder(db)
  const updateEmail = db.prepare('update emails set last_event = ? where id = ?')
  const suppress = createSuppress(db)

  return ({ teamId, emailId, deliveryId, reason, suppress: listed }, now) => {
    const recipient = find.get(emailId, deliveryId, teamId)
    if (recipient === undefined) return 'unknown'
    // Providers may send the same report more than once.
    if (before.get(emailId, deliveryId)) return 'known'
    const type = 'email.complained'
    const data: EventData = { recipient, complaint: { source: reason } }
    recordEvents([{ event: { id: newId(now), teamId, emailId, deliveryId, type, createdAt: now, data } }])
    updateEmail.run(toLastEvent(type), emailId)
    if (listed) suppress({ teamId, email: recipient, origin: 'complaint', emailId, reason, reply: null }, now)
    return 'recorded'
  }
}

export const methods = {
  reads: { findSuppressed, getSuppression, listSuppressions },
  writes: { addSuppressions, removeSuppressions },
  prepared: { complain: createComplaintRecorder },
}
