/** Deletes data after its retention period, in steps that never block the writer for long. Deletes only final data. */
import { sql } from 'kysely'
import { isPostgres } from './connection.ts'
import { firstIdAt } from '../mail/ids.ts'
import { isRead } from './events.ts'
import { selectRequestIds } from './logs.ts'
import type { Db } from './schema.ts'
import type { Connection } from './sqlite/connection.ts'

/** One step of deleting data older than `before` (Unix milliseconds), oldest first. */
export interface PurgeArgs {
  before: number
  /** Maximum number of rows to examine. */
  most: number
  /** Position at which the previous step ended; undefined for the first step. */
  after?: string | undefined
  /** For `purgeBodies`: number of bytes of messages after which the step stops. */
  enough?: number | undefined
}

export interface PurgeResult {
  /** Number of emails, attempts or events that were deleted, or of emails whose bodies were deleted. */
  count: number
  /** Bytes of deleted messages. */
  bytes: number
  /** Position after which the next step begins; null if there are no more steps. */
  next: string | null
}

/** The server's disk usage in bytes. */
export interface DiskUsage {
  /** Size of the database without free pages. */
  database: number
  /** Size of the database's free pages. */
  free: number
  /** Size of messages in files. */
  files: number
}

/** The result of a step, and the emails whose messages are in files. The engine deletes those after the commit. */
export interface PurgeRowsResult extends PurgeResult {
  files: string[]
}

/** Maximum bytes of messages per step. Deleting a row touches each of its pages. */
const MOST_BYTES = 2_000_000

const flag = (value: number | boolean): boolean => Boolean(value)

/**
 * Returns an expression that is 1 if no delivery of an email is queued and no report about it is due, because a report
 * would quote the email.
 */
const final = (emailId: string) => sql<number>`(
  not exists (select 1 from deliveries d where d.email_id = ${sql.ref(emailId)} and d.expires_at is not null)
  and not exists (select 1 from reports r where r.email_id = ${sql.ref(emailId)} and r.done_at is null))`

/** A message that may be deleted. */
interface Candidate {
  email_id: string
  size: number
  in_file: number
  final: number
}

/** Selects candidates in order until their bytes reach `enough`. Returns them and the last position. */
function choose(
  rows: Candidate[],
  most: number,
  enough = Infinity,
): { chosen: Candidate[]; next: string | null; bytes: number } {
  const chosen: Candidate[] = []
  let inDatabase = 0
  let bytes = 0
  let last: string | null = null
  for (const row of rows) {
    if (inDatabase >= MOST_BYTES || bytes >= enough) return { chosen, next: last, bytes }
    last = row.email_id
    if (!flag(row.final)) continue
    chosen.push(row)
    bytes += row.size
    if (!flag(row.in_file)) inDatabase += row.size
  }
  return { chosen, next: rows.length < most ? null : last, bytes }
}

const filesOf = (rows: Candidate[]): string[] =>
  rows.filter((row) => flag(row.in_file)).map((row) => row.email_id)

async function dropBodies(db: Db, emailIds: string[]): Promise<void> {
  if (emailIds.length === 0) return
  await db.deleteFrom('messages').where('email_id', 'in', emailIds).execute()
}

/**
 * Deletes HTML, text and message of final emails. `most` limits the number of emails; a step ends early at two megabytes of
 * messages.
 */
async function purgeBodies(
  db: Db,
  { before, most, after = '', enough }: PurgeArgs,
): Promise<PurgeRowsResult> {
  const rows: Candidate[] = await db
    .selectFrom('messages as m')
    .innerJoin('emails as e', 'e.id', 'm.email_id')
    .select(['m.email_id', 'e.size', sql<number>`(m.body is null)`.as('in_file')])
    .select(final('m.email_id').as('final'))
    .where('m.email_id', '>', after)
    .where('m.email_id', '<', firstIdAt(before))
    .orderBy('m.email_id')
    .limit(most)
    .execute()
  const { chosen, next, bytes } = choose(rows, most, enough)
  await dropBodies(
    db,
    chosen.map((row) => row.email_id),
  )
  return { count: chosen.length, bytes, next, files: filesOf(chosen) }
}

/**
 * For emails of domains that don't keep bodies, deletes HTML, text, message, subject, headers, attachment names and logged
 * requests. `before` is compared with the time of acceptance; `after` is unused.
 */
async function purgeUnkeptBodies(db: Db, { before, most }: PurgeArgs): Promise<PurgeRowsResult> {
  const rows: Candidate[] = await db
    .selectFrom('bodies_due as b')
    .innerJoin('emails as e', 'e.id', 'b.email_id')
    .leftJoin('messages as m', 'm.email_id', 'b.email_id')
    .select(['b.email_id', 'e.size', sql<number>`(m.email_id is not null and m.body is null)`.as('in_file')])
    .select(final('b.email_id').as('final'))
    .where('e.created_at', '<', before)
    // Keep content that a report will quote until the report is created.
    .where(
      sql<boolean>`not exists (select 1 from reports r where r.email_id = b.email_id and r.done_at is null)`,
    )
    // Keep rows of an erasure until nothing is queued, because no trigger adds them again.
    .where((where) =>
      where.or([
        where('b.erased', '=', 0),
        sql<boolean>`not exists (select 1 from deliveries d where d.email_id = b.email_id and d.expires_at is not null)`,
      ]),
    )
    .orderBy('b.email_id')
    .limit(most)
    .execute()
  const { chosen, next, bytes } = choose(rows, most)
  const ids = chosen.map((row) => row.email_id)
  await dropBodies(db, ids)
  if (ids.length > 0) {
    await db
      .updateTable('emails')
      .set({ subject: '', headers: '[]', attachments: '[]' })
      .where('id', 'in', ids)
      .execute()
    await db
      .updateTable('request_logs')
      .set({ request_body: null })
      .where('id', 'in', selectRequestIds(ids))
      .execute()
  }
  // Emails that are still queued are removed here, too: they are added again when their last delivery ends.
  const looked = next === null ? rows : rows.filter((row) => row.email_id <= next)
  if (looked.length > 0)
    await db
      .deleteFrom('bodies_due')
      .where(
        'email_id',
        'in',
        looked.map((row) => row.email_id),
      )
      .execute()
  return { count: chosen.length, bytes, next, files: filesOf(chosen) }
}

async function purgeAttempts(db: Db, { before, most, after = '' }: PurgeArgs): Promise<PurgeResult> {
  const rows = await db
    .selectFrom('attempts as a')
    .select(['a.id', final('a.email_id').as('final')])
    .where('a.id', '>', after)
    .where('a.id', '<', firstIdAt(before))
    .orderBy('a.id')
    .limit(most)
    .execute()
  const ids = rows.filter((row) => flag(row.final)).map((row) => row.id)
  if (ids.length > 0) await db.deleteFrom('attempts').where('id', 'in', ids).execute()
  return { count: ids.length, bytes: 0, next: rows.length < most ? null : rows.at(-1)!.id }
}

/** Deletes events, except those that a consumer hasn't read yet. */
async function purgeEvents(db: Db, { before, most, after = '' }: PurgeArgs): Promise<PurgeResult> {
  const rows = await db
    .selectFrom('events as v')
    .select(['v.id', final('v.email_id').as('final')])
    .select(isRead('v').as('read'))
    .where('v.id', '>', after)
    .where('v.id', '<', firstIdAt(before))
    .orderBy('v.id')
    .limit(most)
    .execute()
  const ids = rows.filter((row) => flag(row.final) && flag(row.read)).map((row) => row.id)
  if (ids.length > 0) await db.deleteFrom('events').where('id', 'in', ids).execute()
  return { count: ids.length, bytes: 0, next: rows.length < most ? null : rows.at(-1)!.id }
}

/**
 * An expression that is 1 if all events of an email are counted by tag. After the email's deletion, the remaining events
 * could never be counted.
 */
const countedByTag = sql<number>`(e.tags = '[]' or not exists (
  select 1 from events v where v.email_id = e.id and not ${isRead('v', 'tags')}))`.as('counted_by_tag')

/** Maximum number of emails per step, regardless of the number of their rows. */
const MOST_EMAILS = 100

/**
 * Deletes final emails with all related data. `most` limits the number of rows of recipients and events, but at least one
 * email is deleted.
 */
async function purgeEmails(db: Db, { before, most, after = '' }: PurgeArgs): Promise<PurgeRowsResult> {
  const rows = await db
    .selectFrom('emails as e')
    .leftJoin('messages as m', 'm.email_id', 'e.id')
    .select(['e.id as email_id', 'e.size', final('e.id').as('final')])
    .select(sql<number>`(m.email_id is not null and m.body is null)`.as('in_file'))
    .select(sql<number>`(m.email_id is not null)`.as('has_body'))
    .select(
      sql<number>`(select count(*) from deliveries where email_id = e.id)
        + (select count(*) from events where email_id = e.id)`.as('rows'),
    )
    .select(countedByTag)
    .where('e.id', '>', after)
    .where('e.id', '<', firstIdAt(before))
    .orderBy('e.id')
    .limit(MOST_EMAILS)
    .execute()
  const within: typeof rows = []
  let belongings = 0
  for (const row of rows) {
    if (within.length > 0 && belongings + Number(row.rows) > most) break
    belongings += Number(row.rows)
    within.push(row)
  }
  const candidates = within.map((row) => ({
    ...row,
    size: flag(row.has_body) ? row.size : 0,
    final: Number(flag(row.final) && flag(row.counted_by_tag)),
  }))
  const { chosen, next, bytes } = choose(
    candidates,
    within.length === rows.length ? MOST_EMAILS : within.length,
  )
  const ids = chosen.map((row) => row.email_id)
  if (ids.length > 0) await db.deleteFrom('emails').where('id', 'in', ids).execute()
  return { count: ids.length, bytes, next, files: filesOf(chosen) }
}

/** Stores the disk usage of a UTC day (`2026-11-20`), and deletes days before `since`. */
async function saveDiskDay(
  db: Db,
  { day, bytes, since }: { day: string; bytes: number; since: string },
): Promise<void> {
  await db
    .insertInto('disk_days')
    .values({ day, bytes })
    .onConflict((conflict) => conflict.column('day').doUpdateSet({ bytes }))
    .execute()
  await db.deleteFrom('disk_days').where('day', '<', since).execute()
}

/** Lists disk usage, oldest first. */
function listDiskDays(db: Db): Promise<{ day: string; bytes: number }[]> {
  return db.selectFrom('disk_days').select(['day', 'bytes']).orderBy('day').execute()
}

/** Sets whether bodies of a domain's future emails are kept. Returns false if the domain doesn't exist. */
async function setKeepBodies(
  db: Db,
  { teamId, domainId, keep }: { teamId: string; domainId: string; keep: boolean },
): Promise<boolean> {
  const updated = await db
    .updateTable('domains')
    .set({ keep_bodies: keep ? 1 : 0 })
    .where('id', '=', domainId)
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Lists the names of domains that don't keep bodies. */
async function domainsWithoutBodies(db: Db, { teamId }: { teamId: string }): Promise<string[]> {
  const rows = await db
    .selectFrom('domains')
    .select('name')
    .where('team_id', '=', teamId)
    .where('keep_bodies', '=', 0)
    .orderBy('name')
    .execute()
  return rows.map((row) => row.name)
}

interface Pages {
  used: number
  free: number
}

async function diskUse(db: Db): Promise<DiskUsage> {
  const pages = isPostgres(db)
    ? await sql<Pages>`select pg_database_size(current_database()) as used, 0 as free`.execute(db)
    : await sql<Pages>`
        select (page_count - freelist_count) * page_size as used, freelist_count * page_size as free
        from pragma_page_count, pragma_freelist_count, pragma_page_size
      `.execute(db)
  const { bytes } = await db
    .selectFrom('messages as m')
    .innerJoin('emails as e', 'e.id', 'm.email_id')
    .select(sql<number | null>`sum(e.size)`.as('bytes'))
    .where('m.body', 'is', null)
    .executeTakeFirstOrThrow()
  const received = await db
    .selectFrom('received_emails')
    .select(sql<number | null>`sum(size)`.as('bytes'))
    .where('in_file', '=', 1)
    .executeTakeFirstOrThrow()
  const [{ used, free }] = pages.rows as [Pages]
  return { database: used, free, files: Number(bytes ?? 0) + Number(received.bytes ?? 0) }
}

/**
 * Releases at most `pages` free pages to the file system. Returns the number of released pages. Does nothing in a database
 * created without `auto_vacuum`: databases from before version 0.1 keep their free pages for reuse.
 */
function createShrink(db: Connection): (args: { pages: number }) => number {
  const free = db.prepare<[], number>('pragma freelist_count').pluck()
  return ({ pages }) => {
    const before = free.get() ?? 0
    db.pragma(`incremental_vacuum(${Math.trunc(pages)})`)
    return before - (free.get() ?? 0)
  }
}

export const methods = {
  reads: { listDiskDays, domainsWithoutBodies, diskUse },
  writes: { purgeAttempts, purgeEvents, saveDiskDay, setKeepBodies },
  prepared: { shrink: createShrink },
  innerWrites: { purgeBodies, purgeUnkeptBodies, purgeEmails },
}
