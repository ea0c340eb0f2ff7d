/**
 * Erases rejected import rows with an address. Rows that are still in files are skipped when they are written
 * (import-rows.ts).
 */
import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import type { PhaseResult, ErasureContext } from './scan.ts'

/** Number of rows examined in one step. A row has up to 4 KB. */
const ROWS = 500

export async function importsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const [importId = '', line = 0] = after === '' ? [] : (JSON.parse(after) as [string, number])
  const rows = await db
    .selectFrom('contact_import_rejects as r')
    .innerJoin('contact_imports as i', 'i.id', 'r.import_id')
    .select(['r.import_id', 'r.line', 'r.cells'])
    .where('i.team_id', '=', scan.teamId)
    .where(sql<boolean>`(r.import_id, r.line) > (${importId}, ${line})`)
    .orderBy('r.import_id')
    .orderBy('r.line')
    .limit(ROWS)
    .execute()
  const found = rows.filter(({ cells }) => scan.eraser.finds(cells))
  for (const [id, rejects] of scan.write ? Map.groupBy(found, (row) => row.import_id) : [])
    await removeRejects(
      db,
      id,
      rejects.map((row) => row.line),
    )
  const last = rows.at(-1)
  return {
    counts: { import_rejects: found.length },
    next: rows.length < ROWS ? null : JSON.stringify([last!.import_id, last!.line]),
  }
}

async function removeRejects(db: Db, id: string, lines: number[]): Promise<void> {
  await db
    .deleteFrom('contact_import_rejects')
    .where('import_id', '=', id)
    .where('line', 'in', lines)
    .execute()
  await db
    .updateTable('contact_imports')
    .set((row) => ({ rejects: row('rejects', '-', lines.length) }))
    .where('id', '=', id)
    .execute()
}
