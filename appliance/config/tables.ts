/** Reads TOML files of data: tables that come with the program or that the operator wrote, checked whole, with every complaint at once. */
import { readFileSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import { formatComplaint, sortComplaints, type Complaint } from './complaint.ts'
import { keyLines, locate } from './locate.ts'

/** A file of data cannot be used; the message has one line for each complaint, each with the file and the line. */
export class TableRefused extends Error {
  constructor(what: string, complaints: readonly Complaint[]) {
    super([`${what} could not be loaded:`, ...sortComplaints(complaints).map(formatComplaint)].join('\n  '))
    this.name = 'TableRefused'
  }
}

/** Notes what is wrong with a key of a file (`rule[3].text`), or with the file as a whole. */
export type Complain = (key: string | null, message: string) => void

/**
 * Reads a file and everything in it.
 * @param what begins the sentence of a refusal: `The blocklists`
 * @param read takes what it needs out of the document, complains of the rest
 * @throws TableRefused
 */
export function readTables<T>(
  what: string,
  file: string,
  read: (document: Record<string, unknown>, complain: Complain) => T,
): T {
  const complaints: Complaint[] = []
  const complain = (line: number | null, key: string | null, message: string): void =>
    void complaints.push({ file, line, variable: null, key, message })
  const found = readToml(file, (line, message) => complain(line, null, message))
  // Found when the first complaint needs it: the files that come with the program give rise to none.
  let lines: Map<string, number> | undefined
  const value =
    found &&
    read(found.document, (key, message) => {
      lines ??= keyLines(found.text)
      complain(key === null ? null : (locate(lines, key) ?? null), key, message)
    })
  if (value === undefined || complaints.length > 0) throw new TableRefused(what, complaints)
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
      // Whatever the reason, it is for the person who wrote the file's name.
      complain(null, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`)
    }
    return undefined
  }
}
