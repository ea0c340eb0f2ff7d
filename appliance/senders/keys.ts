import { createHash, generateKeyPair, randomInt } from 'node:crypto'

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

/** What is stored of a token. It has more entropy than can be guessed, so that one plain SHA-256 is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Makes the key pair of a domain: PKCS #8 and the base64 of the SubjectPublicKeyInfo for `p=` (RFC 6376 §3.6.1). */
export type KeyGenerator = () => Promise<{ privateKey: Uint8Array; publicKey: string }>

/** RSA with 2048 bits (RFC 8301 §3.2), made off the event loop: it takes 100–500 ms of processor time. */
export const generateRsaKey: KeyGenerator = () =>
  new Promise((resolve, reject) => {
    generateKeyPair(
      'rsa',
      {
        modulusLength: 2048,
        publicKeyEncoding: { type: 'spki', format: 'der' },
        privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      },
      (error, publicKey, privateKey) => {
        if (error) reject(error)
        else resolve({ privateKey: new Uint8Array(privateKey), publicKey: publicKey.toString('base64') })
      },
    )
  })
