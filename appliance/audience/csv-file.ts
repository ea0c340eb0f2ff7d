/** Reads a stored CSV file of contacts in UTF-8, from any row, without loading it into memory. */
import { type FileHandle, open } from 'node:fs/promises'
import { type CsvRecord, readCsv } from '../mail/csv.ts'
import { refuse } from '../mail/refusals.ts'

/** Maximum number of bytes per read, and maximum size of a row. */
const WINDOW = 256 * 1024
const MAX_ROW = 1024 * 1024

/** Consecutive rows. */
export interface CsvRows {
  records: CsvRecord[]
  /** Where the next row begins: the byte offset and line number. */
  end: number
  line: number
}

export interface CsvPosition {
  offset: number
  line: number
  separator: string
  /** Byte offset of the end of the last row to read. Default: the end of the file. */
  until?: number
}

/** An open CSV file with a position. Skips a byte order mark. */
export class CsvFile {
  readonly #file: FileHandle
  readonly #separator: string
  /** Text that was read but not returned yet, starting at offset `#offset`. */
  #text = ''
  /** Bytes of an incomplete character after `#text`. */
  #rest = Buffer.alloc(0)
  #offset: number
  #line: number
  /** Offset of the next read. */
  #next: number
  #ended = false
  readonly #until: number

  private constructor(file: FileHandle, { offset, line, separator, until = Infinity }: CsvPosition) {
    this.#until = until
    this.#file = file
    this.#separator = separator
    this.#offset = offset
    this.#next = offset
    this.#line = line
  }

  static async open(path: string, place: CsvPosition): Promise<CsvFile> {
    return new CsvFile(await open(path, 'r'), place)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /** Returns the text at the current position, up to a few hundred kilobytes. */
  async beginning(): Promise<string> {
    await this.#read()
    return this.#text.replace(/^\ufeff/, '')
  }

  /**
   * Reads up to `most` rows; none at the end of the file. Skips empty lines.
   *
   * Refuses: `import_unreadable` if a row is too long or its quotes are not closed.
   */
  async next(most: number): Promise<CsvRows> {
    for (;;) {
      const records = this.#parse(most)
      if (records.length > 0 || this.#ended) return this.#give(records)
      if (Buffer.byteLength(this.#text) > MAX_ROW)
        throw refuse('import_unreadable', {
          line: this.#line,
          problem: `the row is longer than ${MAX_ROW / 1024 / 1024} MB, or a quotation mark in it is not closed`,
        })
      await this.#read()
    }
  }

  /** Parses complete rows from the text. The last row may continue in the file, so it isn't returned. */
  #parse(most: number): CsvRecord[] {
    const records: CsvRecord[] = []
    const format = { separator: this.#separator, line: this.#line }
    if (this.#text.length > 0)
      for (const record of readCsv(this.#text, format)) {
        if (!this.#ended && record.end >= this.#text.length) break
        if (!record.closed && records.length > 0) break
        if (!record.closed)
          throw refuse('import_unreadable', { line: record.line, problem: 'a quotation mark is not closed' })
        records.push(record)
        if (records.length === most) break
      }
    return records
  }

  #give(records: CsvRecord[]): CsvRows {
    const last = records.at(-1)
    const used = last ? this.#text.slice(0, last.end) : this.#text
    this.#offset += Buffer.byteLength(used)
    this.#line = last?.next ?? this.#line
    this.#text = this.#text.slice(used.length)
    return { records, end: this.#offset, line: this.#line }
  }

  async #read(): Promise<void> {
    const buffer = Buffer.allocUnsafe(WINDOW)
    const most = Math.min(WINDOW, this.#until - this.#next)
    const { bytesRead } = await this.#file.read(buffer, 0, most, this.#next)
    this.#next += bytesRead
    this.#ended = bytesRead === 0
    const bytes = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)])
    const whole = this.#ended ? bytes.length : countCompleteUtf8Bytes(bytes)
    this.#text += bytes.toString('utf8', 0, whole)
    this.#rest = Buffer.from(bytes.subarray(whole))
  }
}

/** Returns how many of the bytes form complete UTF-8 characters (RFC 3629 §3). */
export function countCompleteUtf8Bytes(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > 0 && bytes.length - start < 4 && (bytes[start]! & 0xc0) === 0x80) start--
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? start : bytes.length
}
