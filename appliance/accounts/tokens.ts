import { createHash, randomBytes } from 'node:crypto'

/** A fresh secret for a cookie or a link: 256 bits in base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** What is stored of such a secret: SHA-256 in hex. It is random, so that a fast hash is as good as a slow one. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Whether a text can be such a secret at all: the rest need not be hashed and looked up. */
export const isToken = (text: string): boolean => text.length > 0 && text.length <= 100
