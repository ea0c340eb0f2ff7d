/**
 * Seals values with AES-256-GCM (NIST SP 800-38D): `sealed:1:<key id>:<base64url of nonce, ciphertext and tag>`. The
 * place where a value is stored and everything before the last colon are authenticated as well, so that a value copied
 * to another place can't be opened.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Length of a master key in bytes. */
export const KEY_BYTES = 32

const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = '1'
const FORM = /^sealed:([^:]*):([^:]*):([A-Za-z0-9_-]*)$/

/** A stored secret can't be opened. The message says where it is stored, but never contains its value. */
class SecretRefused extends Error {
  override name = 'SecretRefused'
}

/** Seals and opens values with one master key. */
export interface Sealer {
  /** Identifies the key without revealing anything about it: 16 hex digits. */
  keyId: string
  /**
   * Seals a value.
   * @param place where the value is stored; it can't be opened for any other place
   */
  seal(value: Uint8Array, place: string): string
  /**
   * Opens a sealed value.
   * @throws SecretRefused if the value is not sealed, was changed or moved, or is sealed with another key
   */
  open(sealed: string, place: string): Buffer
}

/** Creates a sealer. Throws `RangeError` if the key is not `KEY_BYTES` long. */
export function createSealer(masterKey: Uint8Array): Sealer {
  if (masterKey.length !== KEY_BYTES) throw new RangeError(`A master key has ${KEY_BYTES} bytes.`)
  // Derives two independent keys (RFC 5869), so that the key id reveals nothing about the encryption key.
  const derive = (use: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `posthaste master key: ${use}`, bytes))
  const key = derive('seal', KEY_BYTES)
  const keyId = derive('id', 8).toString('hex')
  const begin = `sealed:${VERSION}:${keyId}:`
  const context = (place: string): Buffer => Buffer.from(`${begin}${place}`)

  return {
    keyId,
    seal(value, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context(place))
      const sealed = Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
      return begin + sealed.toString('base64url')
    },
    open(text, place) {
      const bytes = readSealed(text, place, keyId)
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const tag = bytes.subarray(bytes.length - TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(context(place)).setAuthTag(tag)
      const value = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
      try {
        return Buffer.concat([value, decipher.final()])
      } catch (error) {
        throw new SecretRefused(`The secret in ${place} cannot be decrypted: it was changed or moved.`, {
          cause: error,
        })
      }
    },
  }
}

/** Parses a sealed value into nonce, ciphertext and tag. */
function readSealed(text: string, place: string, keyId: string): Buffer {
  const [, version, id, body = ''] = FORM.exec(text) ?? []
  if (version === undefined) throw new SecretRefused(`The secret in ${place} is not encrypted.`)
  if (version !== VERSION)
    throw new SecretRefused(`The secret in ${place} was encrypted by a newer version of Posthaste.`)
  if (id !== keyId)
    throw new SecretRefused(
      `The secret in ${place} is encrypted with the master key ${id}; this process has ${keyId}.`,
    )
  const bytes = Buffer.from(body, 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SecretRefused(`The secret in ${place} is cut off.`)
  return bytes
}
