/** Reads and writes CSV (RFC 4180 §2) as spreadsheets and other services do. Pure. */

/** A record and its position. */
export interface CsvRecord {
  /** Line number of its first line, from 1. */
  line: number
  cells: string[]
  /** False when the text ends within quotes. */
  closed: boolean
  /**
   * Offset of the end of the record in the text (UTF-16 units), including its line end, and the number of the next
   * line.
   */
  end: number
  next: number
}

/** Maximum cells per line; further ones are ignored. */
const MAX_CELLS = 200

/** Spreadsheets write semicolons in locales with a decimal comma. */
const SEPARATORS = [',', ';', '\t'] as const

/**
 * Guesses the separator: the one that occurs most in the first line, including within quotes; a comma when there is
 * none.
 */
export function guessSeparator<const T extends string>(text: string, separators: readonly [T, ...T[]]): T {
  const [first] = /^[^\r\n]{0,10000}/.exec(text)!
  const count = (mark: string): number => first.split(mark).length
  return separators.reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}

/** Options for reading CSV. */
export interface CsvFormat {
  /** Default: the most frequent separator of the first line. */
  separator?: string
  /** Number of the first line. Default: 1. */
  line?: number
}

/** Reads records with any line ends. Skips empty lines and a byte order mark. */
export function* readCsv(source: string, format: CsvFormat = {}): Generator<CsvRecord> {
  const start = source.startsWith('\ufeff') ? 1 : 0
  const separator = format.separator ?? guessSeparator(source.slice(start, 10_000), SEPARATORS)
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
    if (quoted !== undefined) line += breaks(source.slice(at, end))
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

/** Finds the quote that closes the one at `open`; the end of the text when there is none. */
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

/**
 * Characters that make a spreadsheet treat a cell as a formula, including full-width signs, which East Asian versions
 * accept.
 */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/

/**
 * Writes one record, including its line end. Prefixes an apostrophe to cells that a spreadsheet would run as a formula:
 * strangers choose their own addresses, which may begin with `=`. `parseCell` removes it.
 */
export function formatCsvRecord(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const safe = FORMULA.test(cell) ? `'${cell}` : cell
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${written.join(',')}\r\n`
}

/** Returns a cell's text without surrounding spaces and the apostrophe of `formatCsvRecord`. */
export function parseCell(cell: string): string {
  const text = cell.trim()
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text
}
