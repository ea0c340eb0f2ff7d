/** The statements that write the rows of an import. */
import type { OptOut, Subscription } from '../../mail/audience.ts'
import { type Connection, isPostgres } from '../connection.ts'

/** The data of an import that a batch needs. */
export interface ImportState {
  status: string
  created_at: number
  processed: number
  settings: string
  on_conflict: string
  rejects: number
}

/** A contact that existed before the batch, or that the batch has created. */
export interface ExistingContact {
  id: string
  address_key: string
  first_name: string | null
  last_name: string | null
  properties: string
  unsubscribed_at: number | null
  unsubscribed_by: OptOut['origin'] | null
  created_from: string | null
}

/** A contact that the batch has created, and inserts at its end. */
export interface CreatedContact extends ExistingContact {
  email: string
}

/** Number of contacts per insert. On PostgreSQL, the connection combines inserts. */
export const CONTACTS_PER_INSERT = 50

const INSERT = `insert into contacts (id, team_id, email, address_key, first_name, last_name, properties, unsubscribed_at, unsubscribed_by,
       created_by, created_from, created_at, updated_at) values `
const VALUES = `(?, ?, ?, ?, ?, ?, ?, ?, ?, 'import', ?, ?, ?)`

/** Prepares the statements. */
export const prepareStatements = (db: Connection) => ({
  state: db.prepare<[string], ImportState>(
    'select status, created_at, processed, settings, on_conflict, rejects from contact_imports where id = ?',
  ),
  advance: db.prepare(
    `update contact_imports set processed = @to, line = @line, total = total + @total, created = created + @created,
       updated = updated + @updated, skipped = skipped + @skipped, failed = failed + @failed,
       duplicates = duplicates + @duplicates, kept = kept + @kept, rejects = rejects + @rejects where id = @id`,
  ),
  reject: db.prepare(
    `insert into contact_import_rejects (import_id, team_id, line, reason, cells) values (?, ?, ?, ?, ?)
       on conflict (import_id, line) do nothing`,
  ),
  find: db.prepare<[string, string], ExistingContact>(
    `select id, address_key, first_name, last_name, properties, unsubscribed_at, unsubscribed_by, created_from
       from contacts where team_id = ? and address_key in (select value from json_each(?))`,
  ),
  insert: db.prepare(INSERT + VALUES),
  /** Inserts many contacts at once; null to insert them one by one. */
  insertMany: isPostgres(db)
    ? null
    : db.prepare(INSERT + Array.from({ length: CONTACTS_PER_INSERT }, () => VALUES).join(', ')),
  update: db.prepare(
    `update contacts set first_name = ?, last_name = ?, properties = ?, unsubscribed_at = ?, unsubscribed_by = ?, updated_at = ?
       where team_id = ? and id = ?`,
  ),
  join: db.prepare(
    `insert into contact_segments (segment_id, contact_id, team_id, added_at) values (?, ?, ?, ?)
       on conflict (segment_id, contact_id) do nothing`,
  ),
  choice: db.prepare<[string, string], { subscription: Subscription }>(
    'select subscription from contact_topics where topic_id = ? and contact_id = ?',
  ),
  choose: db.prepare(
    `insert into contact_topics (topic_id, contact_id, team_id, subscription, origin, changed_at) values (?, ?, ?, ?, ?, ?)
       on conflict (topic_id, contact_id) do update set subscription = excluded.subscription, origin = excluded.origin,
       changed_at = excluded.changed_at`,
  ),
  consent: db.prepare(
    `insert into consents (id, team_id, contact_id, scope, was, subscription, origin, via, source, at)
       values (?, ?, ?, ?, ?, ?, 'import', 'import', ?, ?)`,
  ),
  count: db.prepare(
    `insert into audience_counts (team_id, noun, subject, n) values (?, ?, ?, ?)
       on conflict (team_id, noun, subject) do update set n = audience_counts.n + excluded.n`,
  ),
  segment: db.prepare(
    'select 1 from segments where id = ? and team_id = ? and deleted_at is null and filter is null',
  ),
  topic: db.prepare('select 1 from topics where id = ? and team_id = ? and deleted_at is null'),
  keepsAny: db.prepare('select 1 from opt_outs where team_id = ? limit 1'),
  kept: db.prepare<[string, string], { scope: string; origin: OptOut['origin']; at: number }>(
    'select scope, origin, at from opt_outs where team_id = ? and address_hash = ?',
  ),
  dropKept: db.prepare('delete from opt_outs where team_id = ? and address_hash = ?'),
  erased: db.prepare<[string, number], { hash: string }>(
    'select hash from erasures where team_id = ? and created_at >= ?',
  ),
  key: db.prepare<[], { value: Uint8Array }>("select value from secrets where name = 'erasures'"),
})
