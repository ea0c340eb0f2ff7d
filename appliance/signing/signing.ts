import { createHash, createPrivateKey, type KeyObject, sign as signBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { fold } from '../mail/headers.ts'
import { bodyHash, relaxedHeader, splitMessage } from './canonical.ts'
import { type Coverage, coverage } from './fields.ts'

/**
 * DKIM (RFC 6376) with RSA and SHA-256 (RFC 8301) and with Ed25519 (RFC 8463). No `l=`: a signature covers the whole
 * body, or text could be added behind it (RFC 6376 §8.2).
 */

/** A private key with the place where its public half is published: `<selector>._domainkey.<domain>`. */
export interface SigningKey {
  /** Names the key for good; the parsed key is cached under it. */
  id: string
  /** The signing domain, `d=`, in A-labels. */
  domain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS #8, DER. */
  privateKey: Uint8Array
}

export interface Signer {
  /**
   * Makes one DKIM-Signature field for each key, complete with CRLF, to be put in front of the message.
   * Rejects when a key cannot be read.
   * @param message RFC 5322 bytes with CRLF line ends, exactly as they will be sent
   * @param now Unix milliseconds, for `t=`
   */
  sign(message: Uint8Array, keys: SigningKey[], now: number): Promise<Uint8Array>
}

/** Parsed keys kept; parsing one costs more than signing with it. */
const CACHED_KEYS = 2000

/** A signer with its own cache of parsed keys. */
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
      const covered = coverage(fields)
      const hashed = covered.fields.map((field) => `${relaxedHeader(field)}\r\n`).join('')
      const bh = await bodyHash(body)
      const signatures = keys.map((key) => signature(key, keyObject(key), { covered, hashed, bh, now }))
      return Buffer.from((await Promise.all(signatures)).join(''), 'latin1')
    },
  }
}

interface ToSign {
  covered: Coverage
  /** The covered fields in relaxed form. */
  hashed: string
  bh: string
  now: number
}

/** One field. What is signed is the covered fields followed by the field itself with an empty `b=` (RFC 6376 §3.7). */
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
  // What is hashed ends with "b=": verifiers delete the value with the white space around it (RFC 6376 §3.7).
  const unsigned = fold('DKIM-Signature: ', [...tags, ' b='])
  const own = relaxedHeader({ name: 'dkim-signature', raw: unsigned })
  const value = await signAsync(key.algorithm, object, Buffer.from(to.hashed + own, 'latin1'))
  return `${fold(unsigned, value.match(/.{1,64}/g) ?? [])}\r\n`
}

/** Signs on libuv's thread pool: an RSA signature costs the event loop about a millisecond otherwise. */
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
