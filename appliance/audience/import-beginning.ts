/** Reads the beginning of an uploaded file: its header row and the rows of the preview. */
import { SEPARATORS, type Separator } from '../mail/contact-import.ts'
import { type CsvRecord, parseCell, guessSeparator } from '../mail/csv.ts'
import { refuse } from '../mail/refusals.ts'
import type { ContactImport } from '../storage/storage.ts'
import { CsvFile } from './csv-file.ts'

/** Number of rows used for guessing columns, and maximum numbers of rows and characters shown. */
const LOOKED_AT = 100
export const SHOWN = 20
const SHOWN_CELL = 200
/** Maximum number of characters of a file name. */
const MAX_FILE_NAME = 200

/** Shortens the first rows of a file for the preview. */
export const shortenRows = (rows: readonly string[][]): string[][] =>
  rows.slice(0, SHOWN).map((row) => row.map((cell) => cell.slice(0, SHOWN_CELL).toWellFormed()))

/** Strips folders and control characters from a file name. */
export const readFileName = (name: string): string =>
  name
    .replaceAll(/\p{Cc}|^.*[/\\]/gu, '')
    .slice(0, MAX_FILE_NAME)
    .toWellFormed() || 'contacts.csv'

/** Reads the first line, and finds the start of the second. Refuses: `import_unreadable`, `import_no_email_column`. */
export async function headOf(
  path: string,
): Promise<{ separator: Separator; columns: string[]; end: number; line: number }> {
  const separator = guessSeparator(await beginningOf(path), SEPARATORS)
  const file = await CsvFile.open(path, { offset: 0, line: 1, separator })
  try {
    const { records, end, line } = await file.next(1)
    const columns = (records[0]?.cells ?? []).map((cell) =>
      parseCell(cell).slice(0, SHOWN_CELL).toWellFormed(),
    )
    if (columns.length === 0) throw refuse('import_no_email_column')
    return { separator, columns, end, line }
  } finally {
    await file.close()
  }
}

async function beginningOf(path: string): Promise<string> {
  const file = await CsvFile.open(path, { offset: 0, line: 1, separator: ',' })
  try {
    return await file.beginning()
  } finally {
    await file.close()
  }
}

export async function firstRows(
  path: string,
  { processed: offset, line, separator }: ContactImport,
): Promise<string[][]> {
  const file = await CsvFile.open(path, { offset, line, separator })
  try {
    const { records } = await file.next(LOOKED_AT)
    return records.map(({ cells }: CsvRecord) => cells.map(parseCell))
  } finally {
    await file.close()
  }
}
