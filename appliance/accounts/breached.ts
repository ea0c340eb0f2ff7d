/** The passwords that everybody tries first, from lists of published breaches. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Sorted prefixes of hashes, four octets each, most significant first; scripts/breached-passwords.ts makes it. */
const SHIPPED = join(import.meta.dirname, '..', '..', 'config', 'breached-passwords.bin')

/** Whether a text, in lower case, is among them. One in 140 000 other texts is taken for one of them: its owner chooses another. */
export type Breached = (text: string) => boolean

/** The first 32 bits of the SHA-256 of a text: what stands for it in the list. */
export function prefixOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}

/** A password without the digits and signs that people put around a word: `2024Summer!` is `Summer`. */
export function coreOf(password: string): string {
  return password.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
}

/**
 * Reads the list.
 * @param file by default the one that comes with the program
 */
export function loadBreached(file = SHIPPED): Breached {
  const bytes = readFileSync(file)
  const count = Math.floor(bytes.length / 4)
  return (text) => {
    const wanted = prefixOf(text)
    let [low, high] = [0, count - 1]
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = bytes.readUInt32BE(middle * 4)
      if (found === wanted) return true
      if (found < wanted) low = middle + 1
      else high = middle - 1
    }
    return false
  }
}
