import { generateKeyPair, hash, randomInt } from 'node:crypto'
import type { DkimKey } from '../storage/storage.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function random(length: number): string {
  return Array.from({ length }, () => base62[randomInt(base62.length)]!).join('')
}

/**
 * Generates an API key: `re_`, eight characters that identify it in logs, `_`, and 32 random characters (190 bits).
 * Clients only check for `re_` (reference: wire format §1.1).
 */
export function generateApiKey(): string {
  return `re_${random(8)}_${random(32)}`
}

/**
 * Returns the public part of a token: `re_` and the eight characters that identify the key. Only the 190 bits after
 * them are secret. Null if the token has any other format; such a token must not be shown at all.
 */
export function getTokenPrefix(token: string): string | null {
  return /^(re_[0-9A-Za-z]{8})_[0-9A-Za-z]{32}$/.exec(token)?.[1] ?? null
}

/** Hashes a token for storage. The token has too much entropy to be guessed, so plain SHA-256 is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token)
}

/** A key pair: the private key as PKCS #8, and the `p=` tag of the record (RFC 6376 §3.6.1, RFC 8463 §4.2). */
export interface KeyPair {
  privateKey: Uint8Array
  publicKey: string
}

/** Generates a DKIM key pair. */
export type KeyGenerator = (algorithm: DkimKey['algorithm']) => Promise<KeyPair>

/**
 * Generates a key pair; RSA keys have 2048 bits (RFC 8301 §3.2). Runs off the event loop, because it takes 100–500 ms
 * of CPU time.
 */
export const generateDkimKey: KeyGenerator = (algorithm) =>
  new Promise((resolve, reject) => {
    const encodings = {
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    } as const
    const done = (error: Error | null, publicKey: Buffer, privateKey: Buffer): void => {
      if (error) return reject(error)
      // The record of an Ed25519 key contains its 32 octets without the SubjectPublicKeyInfo header (RFC 8463 §4.2).
      const published = algorithm === 'rsa-sha256' ? publicKey : publicKey.subarray(-32)
      resolve({ privateKey: new Uint8Array(privateKey), publicKey: published.toString('base64') })
    }
    if (algorithm === 'rsa-sha256') generateKeyPair('rsa', { modulusLength: 2048, ...encodings }, done)
    else generateKeyPair('ed25519', encodings, done)
  })
