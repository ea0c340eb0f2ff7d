/**
 * Tokens in links to the preference page. A token identifies the person and the email that contained the link. It is
 * encrypted and authenticated (AES-256-CTR under a synthetic IV from HMAC-SHA256, as in RFC 5297), so opening one needs
 * no look-up, and nobody else can create or read one. The same target always gives the same token. Tokens never expire.
 * Pure, apart from the secret.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'

/** Path of URLs with tokens; people and one-click use the same link (RFC 8058 §3.1). */
export const PREFERENCES_PATH = '/u/'

/** Data in a token: the person whose preferences a link opens, and the email with the link. */
export interface PreferencesTarget {
  /** Team of the email. All IDs here are UUIDs. */
  teamId: string
  /** ID of the contact with the address; null if the recipient is not a contact. */
  contactId: string | null
  /** The recipient, with the domain in A-labels, so that the link works after the contact is deleted. */
  address: string
  /** The topic that one-click opts out of; null for all email. */
  topicId: string | null
  /** The email that contained the link; null if there is none. */
  sourceId: string | null
}

export interface PreferencesTokens {
  /** Creates a URL-safe token of at least 130 characters. */
  sign(target: PreferencesTarget): string
  /** Decodes a token; undefined if this server didn't create it. */
  open(token: string): PreferencesTarget | undefined
}

const VERSION = 1
/** Lengths of a UUID and of the synthetic IV, in octets. */
const ID = 16
const IV = 16
/** Maximum length of an accepted token. An address has at most 320 characters. */
const MOST = 1000

/**
 * Creates the tokens.
 *
 * @param secret at least 32 random octets; the same for all nodes of a storage
 */
export function createPreferencesTokens(secret: Uint8Array): PreferencesTokens {
  const derive = (purpose: string): KeyObject =>
    createSecretKey(createHmac('sha256', secret).update(`preferences ${purpose}`).digest())
  const [macKey, key] = [derive('authentication'), derive('encryption')]
  const ivOf = (plain: Uint8Array): Buffer =>
    createHmac('sha256', macKey).update(plain).digest().subarray(0, IV)
  return {
    sign(target) {
      const plain = encode(target)
      const iv = ivOf(plain)
      return Buffer.concat([iv, createCipheriv('aes-256-ctr', key, iv).update(plain)]).toString('base64url')
    },
    open(token) {
      if (token.length > MOST) return undefined
      const bytes = Buffer.from(token, 'base64url')
      // Accepts only the canonical spelling: base64 may have unused bits at the end (RFC 4648 §3.5).
      if (bytes.length <= IV || bytes.toString('base64url') !== token) return undefined
      const iv = bytes.subarray(0, IV)
      const plain = createDecipheriv('aes-256-ctr', key, iv).update(bytes.subarray(IV))
      return timingSafeEqual(iv, ivOf(plain)) ? decode(plain) : undefined
    },
  }
}

/** Encodes one octet with the version and flags for the IDs that are present, then these IDs, then the address. */
function encode({ teamId, contactId, topicId, sourceId, address }: PreferencesTarget): Buffer {
  const optional = [contactId, topicId, sourceId]
  const present = optional.reduce((flags, id, at) => (id === null ? flags : flags | (1 << at)), 0)
  const ids = [teamId, ...optional.filter((id) => id !== null)]
  return Buffer.concat([
    Buffer.from([(VERSION << 4) | present]),
    ...ids.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex')),
    Buffer.from(address, 'utf8'),
  ])
}

/** Decodes a token's contents; undefined for tokens of another program version. */
function decode(plain: Buffer): PreferencesTarget | undefined {
  const [head = 0] = plain
  if (head >> 4 !== VERSION) return undefined
  let at = 1
  const next = (): string => {
    const hex = plain.subarray(at, (at += ID)).toString('hex')
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }
  const optional = (flag: number): string | null => ((head & (1 << flag)) === 0 ? null : next())
  const teamId = next()
  const [contactId, topicId, sourceId] = [optional(0), optional(1), optional(2)]
  return { teamId, contactId, topicId, sourceId, address: plain.subarray(at).toString('utf8') }
}
