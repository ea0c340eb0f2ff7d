import { generateKeyPair, hash, randomInt } from 'node:crypto'
import type { DkimKey } from '../storage/storage.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function random(length: number): string {
  return Array.from({ length }, () => base62[randomInt(base62.length)]!).join('')
}

/**
 * A new API key as its holder keeps it: `re_`, eight characters that tell keys apart in logs, `_`, and 32 random
 * characters (190 bits). Clients look at nothing but the `re_` (reference: wire format §1.1).
 */
export function newToken(): string {
  return `re_${random(8)}_${random(32)}`
}

/**
 * The part of a token that people may see: `re_` and the eight characters that tell keys apart. The 190 bits after them are all
 * that makes a key secret. Null for a token of any other form, none of which may be shown.
 */
export function prefixOf(token: string): string | null {
  return /^(re_[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/.exec(token)?.[1] ?? null
}

/** What is stored of a token. It has more entropy than can be guessed, so that one plain SHA-256 is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token)
}

/** A key pair: PKCS #8, and what `p=` of the record says (RFC 6376 §3.6.1, RFC 8463 §4.2). */
export interface KeyPair {
  privateKey: Uint8Array
  publicKey: string
}

/** Makes a key pair for signing a domain's mail. */
export type KeyGenerator = (algorithm: DkimKey['algorithm']) => Promise<KeyPair>

/** RSA has 2048 bits (RFC 8301 §3.2), and is made off the event loop: it takes 100–500 ms of processor time. */
export const generateDkimKey: KeyGenerator = (algorithm) =>
  new Promise((resolve, reject) => {
    const encodings = {
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    } as const
    const done = (error: Error | null, publicKey: Buffer, privateKey: Buffer): void => {
      if (error) return reject(error)
      // The record of an Ed25519 key holds its 32 bytes without the SubjectPublicKeyInfo around them.
      const published = algorithm === 'rsa-sha256' ? publicKey : publicKey.subarray(-32)
      resolve({ privateKey: new Uint8Array(privateKey), publicKey: published.toString('base64') })
    }
    if (algorithm === 'rsa-sha256') generateKeyPair('rsa', { modulusLength: 2048, ...encodings }, done)
    else generateKeyPair('ed25519', encodings, done)
  })
