/**
 * Reads TOML data files, shipped or written by the operator. Validates the whole file and reports all errors at once.
 */
import { readFileSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import { formatConfigError, sortConfigErrors, type ConfigError } from './complaint.ts'
import { findKeyLines, findLine } from './locate.ts'

/** A data file is invalid. The message has one line per complaint, with file and line. */
export class InvalidTable extends Error {
  constructor(what: string, complaints: readonly ConfigError[]) {
    super(
      [`${what} could not be loaded:`, ...sortConfigErrors(complaints).map(formatConfigError)].join('\n  '),
    )
    this.name = 'InvalidTable'
  }
}

/** Records an error in a key of a file (`rule[3].text`), or in the file as a whole. */
export type ReportError = (key: string | null, message: string) => void

/**
 * Reads a file.
 * @param what subject of the error message, such as `The blocklists`
 * @param read extracts the data from the document, and reports all errors
 * @throws InvalidTable
 */
export function readTables<T>(
  what: string,
  file: string,
  read: (document: Record<string, unknown>, complain: ReportError) => T,
): T {
  const complaints: ConfigError[] = []
  const complain = (line: number | null, key: string | null, message: string): void =>
    void complaints.push({ file, line, variable: null, key, message })
  const found = readToml(file, (line, message) => complain(line, null, message))
  // Computed for the first complaint only, because shipped files have none.
  let lines: Map<string, number> | undefined
  const value =
    found &&
    read(found.document, (key, message) => {
      lines ??= findKeyLines(found.text)
      complain(key === null ? null : (findLine(lines, key) ?? null), key, message)
    })
  if (value === undefined || complaints.length > 0) throw new InvalidTable(what, complaints)
  return value
}

function readToml(
  file: string,
  complain: (line: number | null, message: string) => void,
): { document: Record<string, unknown>; text: string } | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    return { document: parse(text), text }
  } catch (error) {
    if (error instanceof TomlError) {
      const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
      complain(error.line, `not TOML at column ${error.column}: ${reason}.`)
    } else {
      // Report any reason to the person who specified the file.
      complain(null, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`)
    }
    return undefined
  }
}
