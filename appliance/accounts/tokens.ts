import { createHash, randomBytes } from 'node:crypto'

/** Generates a secret for a cookie or link: 256 bits in base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Hashes a secret of a cookie or link for storage: SHA-256 in hex. A fast hash is enough for a random value. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Whether a text has the format of such a secret. Any other text need not be looked up. */
export const isToken = (text: string): boolean => text.length > 0 && text.length <= 100
