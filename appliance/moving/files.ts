/** Reads exported files, and serves their content in the form of the hosted service's API. Pure. */
import { readCsv, type CsvRecord } from '../mail/csv.ts'
import { HostedError, type HostedClient, type HostedObject } from './hosted.ts'
import type { ObjectKind } from './report.ts'

/** A file that the operator gives. */
export interface ExportFile {
  /** File name as given, for messages. */
  name: string
  bytes: Uint8Array
}

/** A problem with an object of an export, or a difference here. */
export interface ExportRemark {
  kind: ObjectKind
  what: string
  text: string
}

/** Content of exported files. */
export interface Export {
  /** Lists and objects by path, such as `/templates` and `/templates/1`. */
  content: Map<string, HostedObject[] | HostedObject>
  /** Objects that can't be moved. */
  problems: ExportRemark[]
  /** Differences here for objects that are moved. */
  notes: ExportRemark[]
}

/** Maximum size of a file, in octets. */
export const MAX_EXPORT = 64 * 1024 * 1024
/** Maximum nesting depth. No export has more than ten levels. */
const MAX_DEPTH = 64

/** Creates an export without content. */
export const newExport = (): Export => ({ content: new Map(), problems: [], notes: [] })

/** Adds an object to a list, and under its own path. Returns the object with an ID, which is new if it had none. */
export function addObject({ content }: Export, path: string, object: HostedObject): HostedObject {
  const list = content.get(path) ?? []
  if (!Array.isArray(list)) throw new Error(`${path} is not a list`)
  const stored = { id: String(list.length + 1), ...object }
  list.push(stored)
  content.set(path, list)
  content.set(`${path}/${String(stored.id)}`, stored)
  return stored
}

/**
 * Serves an export like the API. Lists that the export doesn't have are empty. `base` says where the export comes from.
 */
export function serveExport({ content }: Export, base: string): HostedClient {
  return {
    base,
    async *list(path) {
      const found = content.get(path) ?? []
      // The API lists the newest object first, so the objects of an export are served in reverse order.
      if (Array.isArray(found)) yield* found.toReversed()
    },
    get(path) {
      const found = content.get(path)
      if (found === undefined || Array.isArray(found))
        return Promise.reject(new HostedError(`The files have no ${path}.`, 404))
      return Promise.resolve(found)
    },
  }
}

/** Decodes a text file. */
export function decodeTextFile({ name, bytes }: ExportFile): string {
  if (bytes.length > MAX_EXPORT)
    throw new HostedError(`${name} is larger than ${MAX_EXPORT / 1024 / 1024} MB. Split it.`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new HostedError(`${name} is not text in UTF-8.`, null, { cause: error })
  }
}

/** A JSON value of a file and the line on which it begins, from 1. */
export interface JsonDocument {
  line: number
  value: HostedObject
}

/**
 * Reads the objects of a file: one, or several in sequence, as a shell loop writes them. Refuses invalid JSON and
 * values other than objects, with the line.
 */
export function parseJsonFile(file: ExportFile): JsonDocument[] {
  const text = decodeTextFile(file)
  const found: JsonDocument[] = []
  let line = 1
  for (let from = 0; ;) {
    const start = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0)
    if (start >= text.length) break
    line += breaksIn(text, from, start)
    if (text[start] !== '{') throw new HostedError(`${file.name}, line ${line}: expected a JSON object.`)
    from = endOf(text, start, { file: file.name, line })
    found.push({ line, value: parse(text.slice(start, from), { file: file.name, line }) })
    line += breaksIn(text, start, from)
  }
  if (found.length === 0) throw new HostedError(`${file.name} is empty.`)
  return found
}

const breaksIn = (text: string, from: number, to: number): number =>
  text.slice(from, to).split('\n').length - 1

/** Returns the quote that closes the string at `open`; -1 if there is none. */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
  return -1
}

/** Returns the end of the object that begins at `start`. */
function endOf(text: string, start: number, from: { file: string; line: number }): number {
  const mark = /["{}[\]]/g
  mark.lastIndex = start
  let depth = 0
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    const [sign] = found
    if (sign === '"') {
      const end = closingQuote(text, found.index)
      if (end === -1) break
      mark.lastIndex = end + 1
    } else if (sign === '{' || sign === '[') {
      if (++depth > MAX_DEPTH)
        throw new HostedError(
          `${from.file}, line ${from.line + breaksIn(text, start, found.index)}: more than ${MAX_DEPTH} levels of nesting.`,
        )
    } else if (--depth === 0) return mark.lastIndex
  }
  return text.length
}

function parse(text: string, { file, line }: { file: string; line: number }): HostedObject {
  try {
    return JSON.parse(text) as HostedObject
  } catch (error) {
    const at = /line (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
    throw new HostedError(
      `${file}, line ${line + Number(at ?? 1) - 1}: invalid JSON, or the file is incomplete.`,
      null,
      {
        cause: error,
      },
    )
  }
}

/** A row of a table, with its cells by column name. */
export interface TableRow {
  line: number
  cells: Map<string, string>
}

/** Reads a table with a header line, separated by commas, semicolons or tabs. Column names are in lower case. */
export function parseTable(file: ExportFile): { columns: string[]; rows: TableRow[] } {
  const [head, ...records]: CsvRecord[] = [...readCsv(decodeTextFile(file))]
  if (!head) throw new HostedError(`${file.name} is empty.`)
  const columns = head.cells.map((cell) => cell.trim().toLowerCase())
  const rows = records.map(({ line, cells, closed }) => {
    if (!closed) throw new HostedError(`${file.name}, line ${line}: a quotation mark is not closed.`)
    return { line, cells: new Map(columns.map((name, at) => [name, (cells[at] ?? '').trim()])) }
  })
  return { columns, rows }
}
