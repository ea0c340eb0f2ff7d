/** Lists as text, one record in each line (RFC 4180 §2), as spreadsheets and other services write and read them. Pure. */

/** One record, and where it begins. */
export interface CsvRecord {
  /** Number of its first line, from 1. */
  line: number
  cells: string[]
  /** False when the text ends within its quotation marks. */
  closed: boolean
  /** Where it ends in the text, its line end included (UTF-16 units), and the number of the line after it. */
  end: number
  next: number
}

/** Cells of a line that are read; the rest of the line is passed over. */
const MAX_CELLS = 200

/** Spreadsheets write semicolons where the comma is the decimal mark. */
const SEPARATORS = [',', ';', '\t'] as const

/** The separator that the first line has most of, quotation marks and all; a comma where it has none. */
export function separatorOf<const T extends string>(text: string, separators: readonly [T, ...T[]]): T {
  const [first] = /^[^\r\n]{0,10000}/.exec(text)!
  const count = (mark: string): number => first.split(mark).length
  return separators.reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}

/** How a text is read. */
export interface CsvFormat {
  /** Default: the separator that the first line has most of. */
  separator?: string
  /** Number of the first line. Default: 1. */
  line?: number
}

/** Reads records, whatever ends their lines; empty lines are left out, and so is a byte order mark. */
export function* readCsv(source: string, format: CsvFormat = {}): Generator<CsvRecord> {
  const start = source.startsWith('\ufeff') ? 1 : 0
  const separator = format.separator ?? separatorOf(source.slice(start, 10_000), SEPARATORS)
  const plain = new RegExp(`[^\\r\\n${separator}]*`, 'y')
  const until = (from: number): number => {
    plain.lastIndex = from
    plain.exec(source)
    return plain.lastIndex
  }
  let line = format.line ?? 1
  let record: CsvRecord = { line, cells: [], closed: true, end: 0, next: line }
  for (let at = start; at < source.length;) {
    const quoted = source[at] === '"' ? closingOf(source, at) : undefined
    const end = until(quoted === undefined ? at : Math.min(quoted + 1, source.length))
    const cell =
      quoted === undefined ? source.slice(at, end) : source.slice(at + 1, quoted).replaceAll('""', '"')
    record.cells.push(cell)
    record.closed &&= quoted === undefined || quoted < source.length
    line += breaks(source.slice(at, end))
    at = record.cells.length < MAX_CELLS ? end : endOfLine(source, end)
    if (source[at] === separator) {
      at += 1
      if (at < source.length && source[at] !== '\r' && source[at] !== '\n') continue
      record.cells.push('')
    }
    at += source.startsWith('\r\n', at) ? 2 : 1
    line += 1
    record.end = Math.min(at, source.length)
    record.next = line
    if (!isEmpty(record)) yield record
    record = { line, cells: [], closed: true, end: 0, next: line }
  }
}

/** Where the quotation mark stands that closes the one at `open`; the end of the text where none does. */
function closingOf(source: string, open: number): number {
  for (let at = open + 1; ; at += 2) {
    at = source.indexOf('"', at)
    if (at === -1) return source.length
    if (source[at + 1] !== '"') return at
  }
}

function endOfLine(source: string, from: number): number {
  const end = /[\r\n]/g
  end.lastIndex = from
  return end.exec(source)?.index ?? source.length
}

const breaks = (text: string): number => text.split('\n').length - 1

const isEmpty = ({ cells }: CsvRecord): boolean => cells.length === 1 && cells[0]!.trim() === ''

/** What makes a spreadsheet take a cell for a formula; in East Asia the full-width signs, too. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/

/**
 * Writes one record, its line end included. A cell that a spreadsheet would run gets an apostrophe in front: an address may begin with `=`, and
 * strangers choose addresses. `plainCell` takes it away again.
 */
export function csvRecord(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const safe = FORMULA.test(cell) ? `'${cell}` : cell
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${written.join(',')}\r\n`
}

/** What a cell says: without spaces around it and without the apostrophe of `csvRecord`. */
export function plainCell(cell: string): string {
  const text = cell.trim()
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text
}
