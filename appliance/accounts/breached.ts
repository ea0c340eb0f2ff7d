/** Checks passwords against lists of published breaches. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Sorted hash prefixes, four octets each, big-endian; scripts/breached-passwords.ts generates the file. */
const SHIPPED = join(import.meta.dirname, '..', '..', 'config', 'breached-passwords.bin')

/**
 * Reports whether a lowercase password is on the list of breached passwords. One in 140,000 other passwords is a false
 * positive, and its owner has to choose another.
 */
export type BreachedPasswordCheck = (text: string) => boolean

/** Returns the first 32 bits of a password's or word's SHA-256. The list consists of such prefixes. */
export function hashPrefix(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}

/** Strips the digits and symbols that people put around a word: `2024Summer!` becomes `Summer`. */
export function trimNonLetters(password: string): string {
  return password.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
}

/**
 * Loads the list of breached passwords.
 * @param file default: the shipped one
 */
export function loadBreachedPasswords(file = SHIPPED): BreachedPasswordCheck {
  const bytes = readFileSync(file)
  const count = Math.floor(bytes.length / 4)
  return (text) => {
    const wanted = hashPrefix(text)
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
