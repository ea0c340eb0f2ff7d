/** Reads a whole CSV file of contacts at once, with the columns and rules of imports. Pure. */
import type { PropertyType } from '../mail/audience.ts'
import { parseCell, readCsv, guessSeparator } from '../mail/csv.ts'
import { SEPARATORS, type Service } from '../mail/contact-import.ts'
import type { ImportPlan } from '../storage/storage.ts'
import { findColumns, guessColumns } from './import-columns.ts'
import { parseRows } from './import-rows.ts'
import { SeenAddresses } from './seen.ts'

/** A contact in a row of a file. */
export interface FileContact {
  line: number
  email: string
  firstName?: string | undefined
  lastName?: string | undefined
  /** Whether the contact opts out of everything. */
  unsubscribed?: true | undefined
  /** By key. */
  properties: Record<string, string | number>
  /** All cells, by column name in lower case. */
  cells: Map<string, string>
}

/** Contents of a CSV file of contacts. */
export interface ContactFile {
  /** The service that exported the file; null if unknown. */
  service: Service | null
  /** Column names in lower case. */
  columns: string[]
  properties: { key: string; type: PropertyType }[]
  contacts: FileContact[]
  failed: { line: number; reason: string }[]
}

/** Number of rows used to guess the columns, the same as for a preview. */
const LOOKED_AT = 100

/**
 * Reads a file. Refuses: `import_no_email_column`.
 *
 * @param options ignored: columns that aren't contact properties, in lower case. optOut: the column of opt-outs;
 * default: guessed
 */
export function readContactFile(
  text: string,
  options: { ignored?: readonly string[]; optOut?: string } = {},
): ContactFile {
  const separator = guessSeparator(text.replace(/^\uFEFF/, ''), SEPARATORS)
  const [head, ...records] = [...readCsv(text, { separator })]
  const names = (head?.cells ?? []).map(parseCell)
  const columns = names.map((name) => name.toLowerCase())
  const samples = records.slice(0, LOOKED_AT).map(({ cells }) => cells.map(parseCell))
  const { service, map } = guessColumns(names, samples)
  const kept = map.properties.filter(({ column }) => !options.ignored?.includes(column.toLowerCase()))
  const optOut = names.find((name) => name.toLowerCase() === options.optOut) ?? map.unsubscribed
  const { properties, ...places } = findColumns(names, { ...map, unsubscribed: optOut, properties: kept })
  // Values are returned by key, not by the label under which they are stored.
  const labeled = properties.map(({ key, at, type }) => ({ key, at, type, label: key }))
  const plan: ImportPlan = { ...places, properties: labeled, segmentIds: [], topics: [] }
  const seen = new SeenAddresses()
  const contacts: FileContact[] = []
  const failed: ContactFile['failed'] = []
  for (const record of records) {
    const { rows, failed: rejected } = parseRows([record], plan, seen)
    failed.push(...rejected.map(({ line, reason }) => ({ line, reason })))
    for (const { again: _, ...row } of rows) {
      const cells = new Map(columns.map((name, at) => [name, parseCell(record.cells[at] ?? '')]))
      contacts.push({ ...row, line: record.line, properties: row.properties ?? {}, cells })
    }
  }
  return { service, columns, properties: labeled.map(typeOfProperty), contacts, failed }
}

const typeOfProperty = ({ key, type }: { key: string; type: string }): ContactFile['properties'][number] => ({
  key,
  type: type === 'number' ? 'number' : 'string',
})
