/** Contact imports: their state and the order in which they run. For their rows, see import-rows.ts. */
import { type Selectable, sql } from 'kysely'
import type { Encoding, ImportStatus, ConflictAction, Separator } from '../../mail/contact-import.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { RequestedChoice } from './choices.ts'
import type { ContactImportsTable } from './tables.ts'

/** How a file is imported. Fields are mapped to columns by index from 0; null if there is no such column. */
export interface ImportPlan {
  email: number
  firstName: number | null
  lastName: number | null
  unsubscribed: number | null
  /**
   * `label` is the label of the contact property. With `boolean`, values are parsed as true or false and stored as
   * text.
   */
  properties: { at: number; label: string; key: string; type: 'string' | 'number' | 'boolean' }[]
  segmentIds: string[]
  topics: RequestedChoice[]
  /** Who started the import: an address, or the name of an API key; undefined in old imports. */
  by?: string | undefined
  /** How the people agreed to get mail, in the importer's words; undefined if not given. */
  consent?: string | undefined
}

export interface ContactImport {
  id: string
  teamId: string
  status: ImportStatus | 'draft'
  /** The API key or user that started the import. */
  source: string | null
  fileName: string
  /** SHA-256 of the uploaded file, in hex. */
  fileSha256: string
  /** Size of the file in UTF-8. */
  bytes: number
  encoding: Encoding
  separator: Separator
  columns: string[]
  /** The mapping of columns; null for a draft. */
  plan: ImportPlan | null
  onConflict: ConflictAction
  /** Position of the next row in the file, in bytes, and its line number. */
  processed: number
  line: number
  counts: ImportCounts
  error: string | null
  createdAt: number
  completedAt: number | null
  /** Number of contacts that an undo has removed. */
  undone: number
  /** When the undo was completed; null if the import wasn't undone. */
  undoneAt: number | null
}

/**
 * Numbers of rows. `kept` is the number of contacts that had already opted out; `rejects` is the number of stored
 * failed rows.
 */
export interface ImportCounts {
  total: number
  created: number
  updated: number
  skipped: number
  failed: number
  duplicates: number
  kept: number
  rejects: number
}

const toImport = (row: Selectable<ContactImportsTable>): ContactImport => {
  const { total, created, updated, skipped, failed, duplicates, kept, rejects } = row
  return {
    id: row.id,
    teamId: row.team_id,
    status: row.status,
    source: row.source,
    fileName: row.file_name,
    fileSha256: row.file_sha256,
    bytes: row.bytes,
    encoding: row.encoding,
    separator: row.separator,
    columns: JSON.parse(row.columns) as string[],
    plan: row.settings === null ? null : (JSON.parse(row.settings) as ImportPlan),
    onConflict: row.on_conflict,
    processed: row.processed,
    line: row.line,
    counts: { total, created, updated, skipped, failed, duplicates, kept, rejects },
    error: row.error,
    createdAt: row.created_at,
    completedAt: row.completed_at,
    undone: row.undone,
    undoneAt: row.undone_at,
  }
}

/** An import to store. */
export type NewContactImport = Omit<ContactImport, 'counts' | 'error' | 'completedAt' | 'undone' | 'undoneAt'>

/** Stores an import. Returns false and stores nothing if the team already has `most` unfinished imports. */
async function createContactImport(
  db: Db,
  { made, most }: { made: NewContactImport; most: number },
  now: number,
): Promise<boolean> {
  const { n } = await db
    .selectFrom('contact_imports')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', made.teamId)
    .where('status', 'in', ['draft', 'queued', 'in_progress'])
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return false
  await db
    .insertInto('contact_imports')
    .values({
      id: made.id,
      team_id: made.teamId,
      status: made.status,
      source: made.source,
      file_name: made.fileName,
      file_sha256: made.fileSha256,
      bytes: made.bytes,
      encoding: made.encoding,
      separator: made.separator,
      columns: JSON.stringify(made.columns),
      settings: made.plan && JSON.stringify(made.plan),
      on_conflict: made.onConflict,
      processed: made.processed,
      line: made.line,
      error: null,
      turn_at: now,
      created_at: made.createdAt,
      completed_at: null,
      undo_after: null,
      undone_at: null,
    })
    .execute()
  return true
}

/** Queues a draft. Returns false if it isn't a draft anymore. */
async function startContactImport(
  db: Db,
  { teamId, id, plan, onConflict }: ImportRef & { plan: ImportPlan; onConflict: ConflictAction },
  now: number,
): Promise<boolean> {
  const started = await db
    .updateTable('contact_imports')
    .set({ status: 'queued', settings: JSON.stringify(plan), on_conflict: onConflict, turn_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('status', '=', 'draft')
    .executeTakeFirstOrThrow()
  return started.numUpdatedRows > 0n
}

/** Identifies an import of a team. */
export interface ImportRef {
  teamId: string
  id: string
}

/** Deletes an import that hasn't written anything yet. Returns false if it doesn't exist or has begun. */
async function deleteContactImport(db: Db, { teamId, id }: ImportRef): Promise<boolean> {
  const deleted = await db
    .deleteFrom('contact_imports')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('status', 'in', ['draft', 'queued'])
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

async function getContactImport(db: Db, { teamId, id }: ImportRef): Promise<ContactImport | undefined> {
  const row = await db
    .selectFrom('contact_imports')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toImport(row)
}

/** Lists a page of imports, newest first, without drafts. */
async function listContactImports(
  db: Db,
  { teamId, status, ...page }: PageArgs & { status?: ImportStatus | undefined },
): Promise<Page<ContactImport>> {
  const query = db.selectFrom('contact_imports').selectAll().where('team_id', '=', teamId)
  const within =
    status === undefined ? query.where('status', '!=', 'draft') : query.where('status', '=', status)
  return readPage(within, page, toImport)
}

/**
 * Returns the next import and marks it as begun; undefined if none is waiting. The team whose last turn ended first is
 * next.
 *
 * @param args.among considers only these imports; undefined for all
 */
async function nextContactImport(
  db: Db,
  { among }: { among?: string[] | undefined },
): Promise<ContactImport | undefined> {
  let query = db.selectFrom('contact_imports').selectAll().where('status', 'in', ['queued', 'in_progress'])

  if (among) query = query.where('id', 'in', among)
  const row = await query.orderBy('turn_at').orderBy('id').limit(1).executeTakeFirst()
  if (row?.status === 'queued')
    await db.updateTable('contact_imports').set({ status: 'in_progress' }).where('id', '=', row.id).execute()
  return row && toImport({ ...row, status: 'in_progress' })
}

/** Whether another team waits for its turn. */
async function otherImportsWait(db: Db, { teamId }: { teamId: string }): Promise<boolean> {
  const row = await db
    .selectFrom('contact_imports')
    .select('id')
    .where('status', 'in', ['queued', 'in_progress'])
    .where('team_id', '!=', teamId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Ends the turn of a team: moves all its imports to the end of the queue. */
async function endImportTurn(db: Db, { teamId }: { teamId: string }, now: number): Promise<void> {
  await db
    .updateTable('contact_imports')
    .set({ turn_at: now })
    .where('team_id', '=', teamId)
    .where('status', 'in', ['queued', 'in_progress'])
    .execute()
}

/**
 * Ends an import.
 * @param args error: why it failed; null if it succeeded
 */
async function finishContactImport(
  db: Db,
  { id, error }: { id: string; error: string | null },
  now: number,
): Promise<void> {
  await db
    .updateTable('contact_imports')
    .set({ status: error === null ? 'completed' : 'failed', error, completed_at: now })
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'in_progress'])
    .execute()
}

/** Number of rows that one transaction deletes. */
const SWEPT = 1000

/** Deletes old drafts and lists of rejected rows. Returns whether more are left. */
async function sweepContactImports(
  db: Db,
  { drafts, rejects }: { drafts: number; rejects: number },
): Promise<boolean> {
  await db
    .deleteFrom('contact_imports')
    .where('status', '=', 'draft')
    .where('created_at', '<', drafts)
    .execute()
  const old = await db
    .selectFrom('contact_imports')
    .select(['id', 'team_id'])
    .where('rejects', '>', 0)
    .where('completed_at', '<', rejects)
    .limit(1)
    .executeTakeFirst()
  if (!old) return false
  const gone = await sql`delete from contact_import_rejects where import_id = ${old.id} and line in
    (select line from contact_import_rejects where import_id = ${old.id} order by line limit ${SWEPT})`.execute(
    db,
  )
  if (Number(gone.numAffectedRows ?? 0) < SWEPT)
    await db.updateTable('contact_imports').set({ rejects: 0 }).where('id', '=', old.id).execute()
  return true
}

/** Lists the IDs of all imports that still have a file. */
async function openContactImports(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('contact_imports')
    .select('id')
    .where('status', 'in', ['draft', 'queued', 'in_progress'])
    .execute()
  return rows.map(({ id }) => id)
}

/** A row of a file that couldn't be imported. */
export interface ImportReject {
  line: number
  reason: string
  cells: string[]
}

/**
 * Lists rejected rows in the order of the file.
 * @param args after: line of the last row on the previous page
 */
async function listImportRejects(
  db: Db,
  { teamId, id, after, limit }: ImportRef & { after: number; limit: number },
): Promise<ImportReject[]> {
  const rows = await db
    .selectFrom('contact_import_rejects')
    .select(['line', 'reason', 'cells'])
    .where('import_id', '=', id)
    .where('team_id', '=', teamId)
    .where('line', '>', after)
    .orderBy('line')
    .limit(limit)
    .execute()
  return rows.map(({ line, reason, cells }) => ({ line, reason, cells: JSON.parse(cells) as string[] }))
}

export const methods = {
  reads: { getContactImport, listContactImports, listImportRejects, openContactImports, otherImportsWait },
  writes: {
    createContactImport,
    startContactImport,
    deleteContactImport,
    nextContactImport,
    endImportTurn,
    finishContactImport,
    sweepContactImports,
  },
}
