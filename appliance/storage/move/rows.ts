/** Rows that are being moved from one engine to the other, and their digests. Pure. */
import { createHash } from 'node:crypto'

/** A column's value, which is the same on both engines. */
export type Value = string | number | Uint8Array | null

/** The values of a row in the order of the table's columns. */
export type Row = readonly Value[]

/** A part of a table in the order of its key. Never empty. */
export interface Batch {
  rows: readonly Row[]
  /** The key of the first and of the last row. */
  first: Row
  last: Row
}

/** SHA-256 of rows. It depends on their order, and on the type and length of each value. */
export class RowDigest {
  readonly #hash = createHash('sha256')

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      this.#hash.update(`row ${row.length}\n`)
      for (const value of row) this.#addValue(value)
    }
  }

  /** Returns the digest of all rows so far, in hex. */
  hex(): string {
    return this.#hash.copy().digest('hex')
  }

  #addValue(value: Value): void {
    if (value === null) this.#hash.update('null\n')
    else if (typeof value === 'number') this.#hash.update(`number ${value}\n`)
    else {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value
      this.#hash.update(`${typeof value === 'string' ? 'text' : 'bytes'} ${bytes.length}\n`)
      this.#hash.update(bytes)
    }
  }
}

/** Returns the digest of one row. */
export function computeRowDigest(row: Row | undefined): string {
  const digest = new RowDigest()
  if (row) digest.add([row])
  return digest.hex()
}

/** Estimates the bytes of a row. */
export const estimateRowSize = (row: Row): number =>
  row.reduce<number>(
    (sum, value) => sum + (typeof value === 'object' ? (value?.length ?? 0) : String(value).length),
    0,
  )
