/**
 * Return paths: the envelope senders of outgoing mail. Each email has its own (VERP), so that a bounce identifies its
 * email even when it quotes nothing. A MAC prevents forgery: email ids can be guessed in part, and recipients see the
 * ID of their own email. Pure except for the key.
 */
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

const SHAPE =
  /^bounce\+([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})(?:-([0-9a-f])([0-9a-f]{20}))?@([^@]+)$/

/**
 * Hexadecimal digits of the MAC. A guess costs a RCPT command at a listener that bans guessers (RFC 2104 §5: at least 80
 * bits).
 */
const MAC_DIGITS = 20

/** A key for return paths. */
export interface ReturnPathKey {
  /** 0 to 15; part of the address. */
  number: number
  /** At least 32 random octets. Node takes three times as long over a MAC whose key is a Uint8Array. */
  secret: KeyObject
}

/** A parsed return path. Anyone can forge one; check with `isSignedBy`. */
export interface ReturnPath {
  emailId: string
  host: string
  /** Key number and MAC; null in old return paths without one. */
  proof: { key: number; mac: string } | null
}

const macOf = ({ secret }: ReturnPathKey, emailId: string, host: string): string =>
  createHmac('sha256', secret)
    .update(`return-path\n${emailId}\n${host.toLowerCase()}`)
    .digest('hex')
    .slice(0, MAC_DIGITS)

/**
 * Creates the return path of an email: `bounce+<32 hex>-<key number><20 hex>@<host>`. It has 61 octets before the `@`;
 * RFC 5321 §4.5.3.1.1 allows 64. Hex digits, because some servers change letter case.
 * @param host where reports go, such as `send.example.com`
 */
export function createReturnPath(key: ReturnPathKey, emailId: string, host: string): string {
  return `bounce+${emailId.replaceAll('-', '')}-${key.number.toString(16)}${macOf(key, emailId, host)}@${host}`
}

/** Returns the host that receives a domain's bounces: `send` and `example.com` make `send.example.com`. */
export function getReturnPathHost(domain: { name: string; returnPath: string }): string {
  return `${domain.returnPath}.${domain.name}`
}

/** Parses an address as a return path; undefined for any other address. In lower case. */
export function parseReturnPath(address: string): ReturnPath | undefined {
  const match = SHAPE.exec(address.toLowerCase())
  if (!match) return undefined
  const [key, mac] = [match[6], match[7]]
  const proof = key === undefined || mac === undefined ? null : { key: Number.parseInt(key, 16), mac }
  return { emailId: match.slice(1, 6).join('-'), host: match[8]!, proof }
}

/** Whether the return path was created with this key. Compares in constant time. */
export function isSignedBy(key: ReturnPathKey, { emailId, host, proof }: ReturnPath): boolean {
  if (proof?.key !== key.number) return false
  return timingSafeEqual(Buffer.from(proof.mac), Buffer.from(macOf(key, emailId, host)))
}
