/** Time-based one-time passwords (RFC 6238), as in authenticator apps. No I/O; only new secrets are random. */
import { Secret, TOTP } from 'otpauth'
import { randomBytes } from 'node:crypto'

/** The default time step X in seconds (RFC 6238 §4.1), the only one that all apps support. */
const STEP_SECONDS = 30
const DIGITS = 6
/** The recommended length of 160 bits (RFC 4226 §4). */
const SECRET_BYTES = 20
/**
 * Steps accepted before and after the current one, for clocks that differ and people who type slowly (RFC 6238 §5.2).
 */
const WINDOW = 1

/** Generates a secret. */
export const newTotpSecret = (): Uint8Array => new Uint8Array(randomBytes(SECRET_BYTES))

/** Formats a secret as base32 for typing, and as a link for a QR code. */
export function formatTotpSecret(
  secret: Uint8Array,
  { account, issuer }: { account: string; issuer: string },
): { secret: string; uri: string } {
  const totp = totpOf(secret, { label: account, issuer })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/**
 * Returns the time step of a code, at `now` (Unix milliseconds) or one step around it; undefined for a wrong code. The
 * caller must not accept a step twice (RFC 6238 §5.2).
 */
export function findTotpStep(secret: Uint8Array, code: string, now: number): number | undefined {
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
