/** Codes that change every half minute (RFC 6238), as the apps of phones make them. Pure but for the randomness of a secret. */
import { Secret, TOTP } from 'otpauth'
import { randomBytes } from 'node:crypto'

/** RFC 6238 §4.1: the default time step X, in seconds. Apps know no other well. */
const STEP_SECONDS = 30
const DIGITS = 6
/** RFC 4226 §4 recommends a shared secret of 160 bits. */
const SECRET_BYTES = 20
/** RFC 6238 §5.2: one step each way, for clocks that differ and people who type. */
const WINDOW = 1

/** A fresh shared secret. */
export const newTotpSecret = (): Uint8Array => new Uint8Array(randomBytes(SECRET_BYTES))

/** The secret as people type it, in base32, and as the link that apps read from a QR code. */
export function describeSecret(
  secret: Uint8Array,
  { account, issuer }: { account: string; issuer: string },
): { secret: string; uri: string } {
  const totp = totpOf(secret, { label: account, issuer })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/**
 * The time step that a code belongs to, at `now` (Unix milliseconds) or one step around it; undefined for a wrong code. The
 * caller sees to it that no step is taken twice (RFC 6238 §5.2: a code is accepted once).
 */
export function totpStep(secret: Uint8Array, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totpOf(secret).validate({ token, timestamp: now, window: WINDOW })
  return delta === null ? undefined : Math.floor(now / 1000 / STEP_SECONDS) + delta
}

function totpOf(secret: Uint8Array, named: { label?: string; issuer?: string } = {}): TOTP {
  const { buffer, byteOffset, byteLength } = secret
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
  const kept = new Secret({ buffer: bytes })
  return new TOTP({ ...named, secret: kept, algorithm: 'SHA1', digits: DIGITS, period: STEP_SECONDS })
}
