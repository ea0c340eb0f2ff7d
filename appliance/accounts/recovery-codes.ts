/** Codes on paper, for the day when the phone is gone. Each opens once. */
import { randomBytes } from 'node:crypto'
import { hashToken } from './tokens.ts'

/** How many are made at a time. */
const CODES = 10
/** Without letters that look like digits, after Crockford: what is misread is read right. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 80 bits: a fast hash of it cannot be searched by whoever gets the database. */
const LENGTH = 16

/** Fresh codes, in four groups of four. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () =>
    // 256 is a multiple of the alphabet's 32: each letter is as likely as the other.
    Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]!)
      .join('')
      .replaceAll(/(.{4})(?=.)/g, '$1-'),
  )
}

/** What is stored of a code, however it was typed; undefined for what cannot be one. */
export function hashRecoveryCode(typed: string): string | undefined {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return code.length === LENGTH && [...code].every((letter) => ALPHABET.includes(letter))
    ? hashToken(code)
    : undefined
}
