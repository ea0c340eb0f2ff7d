import { createHash, createPrivateKey, type KeyObject, sign as signBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { foldTokens } from '../mail/headers.ts'
import { hashBody, canonicalizeHeader, splitMessage } from './canonical.ts'
import { type Coverage, chooseCoverage } from './fields.ts'

/**
 * Signs with DKIM (RFC 6376): RSA-SHA256 (RFC 8301 §3.1) and Ed25519 (RFC 8463). Omits `l=` so that a signature covers
 * the whole body; otherwise text could be appended (RFC 6376 §8.2).
 */

/** A private key and where its public half is published: `<selector>._domainkey.<domain>` (RFC 6376 §3.6.2.1). */
export interface SigningKey {
  /** Permanent ID of the key, under which the parsed key is cached. */
  id: string
  /** The signing domain, `d=`, in A-labels (RFC 6376 §3.5). */
  domain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS #8, DER. */
  privateKey: Uint8Array
}

export interface Signer {
  /**
   * Creates one DKIM-Signature field per key, including the final CRLF, to prepend to the message. Rejects if a key
   * can't be parsed.
   * @param message RFC 5322 bytes with CRLF line ends, exactly as they will be sent
   * @param now Unix milliseconds, for `t=`
   */
  sign(message: Uint8Array, keys: SigningKey[], now: number): Promise<Uint8Array>
}

/** Maximum number of parsed keys to cache. Parsing one costs more than signing with it. */
const CACHED_KEYS = 2000

/** Creates a signer with its own cache of parsed keys. */
export function createSigner(): Signer {
  const cache = new LRUCache<string, KeyObject>({ max: CACHED_KEYS })

  const keyObject = (key: SigningKey): KeyObject => {
    let object = cache.get(key.id)
    if (!object) {
      object = createPrivateKey({ key: Buffer.from(key.privateKey), format: 'der', type: 'pkcs8' })
      cache.set(key.id, object)
    }
    return object
  }

  return {
    async sign(message, keys, now) {
      const { fields, body } = splitMessage(message)
      const covered = chooseCoverage(fields)
      const hashed = covered.fields.map((field) => `${canonicalizeHeader(field)}\r\n`).join('')
      const bh = await hashBody(body)
      const signatures = keys.map((key) => signature(key, keyObject(key), { covered, hashed, bh, now }))
      return Buffer.from((await Promise.all(signatures)).join(''), 'latin1')
    },
  }
}

interface ToSign {
  covered: Coverage
  /** The covered fields in relaxed form (RFC 6376 §3.4.2). */
  hashed: string
  bh: string
  now: number
}

/**
 * Creates one DKIM-Signature field. The signature covers the selected fields, followed by this field with an empty `b=`
 * (RFC 6376 §3.7).
 */
async function signature(key: SigningKey, object: KeyObject, to: ToSign): Promise<string> {
  const tags = [
    'v=1;',
    ` a=${key.algorithm};`,
    ' c=relaxed/relaxed;',
    ` d=${key.domain};`,
    ` s=${key.selector};`,
    ` t=${Math.floor(to.now / 1000)};`,
    ...to.covered.names.map((name, at) => `${at ? ':' : ' h='}${name}`),
    ';',
    ` bh=${to.bh};`,
  ]
  // The hashed text ends with "b=": verifiers remove the value and the white space around it (RFC 6376 §3.7).
  const unsigned = foldTokens('DKIM-Signature: ', [...tags, ' b='])
  const own = canonicalizeHeader({ name: 'dkim-signature', raw: unsigned })
  const value = await signAsync(key.algorithm, object, Buffer.from(to.hashed + own, 'latin1'))
  return `${foldTokens(unsigned, value.match(/.{1,64}/g) ?? [])}\r\n`
}

/** Signs on libuv's thread pool. An RSA signature would block the event loop for about a millisecond. */
function signAsync(algorithm: SigningKey['algorithm'], key: KeyObject, data: Buffer): Promise<string> {
  // RFC 8463 §3: Ed25519 signs the SHA-256 hash of the data.
  const [digest, input] =
    algorithm === 'rsa-sha256' ? ['sha256', data] : [null, createHash('sha256').update(data).digest()]
  return new Promise((resolve, reject) => {
    signBytes(digest, input, key, (error, value) =>
      error ? reject(error) : resolve(value.toString('base64')),
    )
  })
}
