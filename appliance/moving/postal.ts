/**
 * Reads tables of Postal's database, as `mysql --batch` prints them: `suppressions` of a mail server's message
 * database, and `domains` of the main one. Postal has no other export. Pure.
 */
import { newExport, parseTable, addObject, type Export, type ExportFile, type TableRow } from './files.ts'
import { HostedError } from './hosted.ts'

/** Reads the files. Refuses other tables. */
export function readPostal(files: readonly ExportFile[], now: number): Export {
  const found = newExport()
  for (const file of files) {
    const { columns, rows } = parseTable(file)
    if (columns.includes('address')) for (const row of rows) suppress(found, row, { file: file.name, now })
    else if (columns.includes('name'))
      for (const { cells } of rows) addObject(found, '/domains', { name: cells.get('name') ?? '' })
    else
      throw new HostedError(
        `${file.name}, line 1: expected a column address (suppressions) or name (domains), as mysql --batch prints them.`,
      )
  }
  return found
}

function suppress(found: Export, { line, cells }: TableRow, from: { file: string; now: number }): void {
  const [email, reason] = [cells.get('address') ?? '', cells.get('reason') ?? '']
  const what = `${from.file}, line ${line}`
  // The time at which Postal removes the entry.
  const keptUntil = timeOf(cells.get('keep_until'))
  if (keptUntil !== null && keptUntil <= from.now)
    return void found.problems.push({ kind: 'suppressions', what, text: 'it has expired in Postal' })
  const type = cells.get('type') ?? ''
  if (type !== '' && type !== 'recipient')
    return void found.problems.push({ kind: 'suppressions', what, text: 'its type is not recipient' })
  const origin = /fail|bounce/i.test(reason) ? 'bounce' : 'manual'
  const at = timeOf(cells.get('timestamp'))
  addObject(found, '/suppressions', {
    email,
    origin,
    created_at: at === null ? null : new Date(at).toISOString(),
  })
}

/** Parses Unix time in seconds, with a fraction; null for NULL. Returns milliseconds. */
function timeOf(cell: string | undefined): number | null {
  return cell !== undefined && /^\d{1,11}(\.\d+)?$/.test(cell) ? Math.floor(Number(cell) * 1000) : null
}
