/** Converts CSV rows to contacts. Pure. */
import { parseMailbox } from '../mail/address.ts'
import { parseCell } from '../mail/csv.ts'
import type { CsvRecord } from '../mail/csv.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type { ImportPlan, ImportReject, ImportRow } from '../storage/storage.ts'
import type { PropertyValue } from '../mail/audience.ts'
import type { SeenAddresses } from './seen.ts'
import { MAX_NAME_LENGTH, MAX_VALUE_LENGTH, unprintableCharacters } from './values.ts'

/** The number of rows that were read, the contacts in them, and the rejected rows. */
export interface ParsedRows {
  total: number
  rows: ImportRow[]
  failed: ImportReject[]
}

/** Reads rows. Skips rows whose cells are all empty. */
export function parseRows(records: readonly CsvRecord[], plan: ImportPlan, seen: SeenAddresses): ParsedRows {
  const read: ParsedRows = { total: 0, rows: [], failed: [] }
  for (const record of records) {
    if (record.cells.every((cell) => cell.trim() === '')) continue
    read.total += 1
    const row = rowOf(record.cells, plan)
    if (typeof row === 'string') read.failed.push(rejectOf(record, row))
    else read.rows.push(seen.add(toSuppressionKey(row.email)) ? { ...row, again: true } : row)
  }
  return read
}

/** Maximum number of characters of a rejected row that are kept. */
const MAX_REJECT = 4000

function rejectOf({ line, cells }: CsvRecord, reason: string): ImportReject {
  let left = MAX_REJECT
  const kept = cells.map((cell) => {
    const text = cell.slice(0, left).toWellFormed()
    left -= text.length
    return text
  })
  return { line, reason, cells: kept }
}

/** Returns the row, or why it was rejected. */
function rowOf(cells: readonly string[], plan: ImportPlan): ImportRow | string {
  const cell = (at: number | null): string => (at === null ? '' : parseCell(cells[at] ?? ''))
  const mailbox = parseMailbox(cell(plan.email))
  if (mailbox?.name !== '') return cell(plan.email) === '' ? 'no email address' : 'not an email address'
  const firstName = cell(plan.firstName)
  const lastName = cell(plan.lastName)
  for (const name of [firstName, lastName])
    if (name.length > MAX_NAME_LENGTH || unprintableCharacters.test(name))
      return `a name longer than ${MAX_NAME_LENGTH} characters, or with control characters`
  const row: ImportRow = { email: mailbox.address }
  if (firstName !== '') row.firstName = firstName
  if (lastName !== '') row.lastName = lastName
  if (plan.unsubscribed !== null && isOptOut(cell(plan.unsubscribed))) row.unsubscribed = true
  if (plan.properties.length === 0) return row
  const properties = propertiesOf(plan, cell)
  return typeof properties === 'string' ? properties : { ...row, properties }
}

/** Recognizes opt-outs. Other services write the time or the reason. */
const isOptOut = (cell: string): boolean =>
  /^(true|1|yes|unsubscribed|blocklisted|cleaned|\d{4}-\d\d-\d\d.*)$/i.test(cell)

function propertiesOf(
  { properties }: ImportPlan,
  cell: (at: number) => string,
): Record<string, PropertyValue> | string {
  const values: Record<string, PropertyValue> = {}
  for (const { at, label, key, type } of properties) {
    const text = cell(at)
    if (text === '') continue
    const value = valueOf(type, text)
    if (value === undefined) return `${key}: ${EXPECTED[type]}`
    values[label] = value
  }
  return values
}

const EXPECTED = {
  string: `longer than ${MAX_VALUE_LENGTH} characters, or with NUL characters`,
  number: 'not a number, or too large',
  boolean: 'neither true nor false',
}

function valueOf(type: ImportPlan['properties'][number]['type'], text: string): PropertyValue | undefined {
  if (type === 'number') {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
    return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined
  }
  if (type === 'boolean') {
    if (/^(true|1|yes)$/i.test(text)) return 'true'
    return /^(false|0|no)$/i.test(text) ? 'false' : undefined
  }
  return text.length > MAX_VALUE_LENGTH || text.includes('\0') ? undefined : text.toWellFormed()
}
