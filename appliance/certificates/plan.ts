/** Decides when each certificate is requested. Pure. All times are Unix milliseconds. */
import type { X509Certificate } from 'node:crypto'
import { OID } from '../wire/der.ts'
import type { RenewalWindow } from './client.ts'

/** A certificate that should exist. */
export interface WantedCertificate {
  /** The first of its names, which also names the stored certificate. */
  id: string
  names: readonly string[]
}

/** State of a certificate that is kept across restarts, so that no server is asked too often. */
export interface IssuanceState {
  /** Failures since the last success. */
  failures: number
  failedAt: number | null
  /** The last error. */
  error: string | null
  /** Time before which there is no attempt, unless an operator requests one. */
  retryAt: number
  /** The ACME server that issued the stored certificate. */
  directory: string | null
  /** When to renew. */
  renewAt: number | null
  /** When to ask the server again for its renewal window (RFC 9773 §4.3). */
  askAt: number
  /** When the stored certificate was issued to this server; 0 when unknown. */
  hadAt: number
}

/** The state of a certificate that was never requested. */
export const NEVER_REQUESTED: IssuanceState = {
  failures: 0,
  failedAt: null,
  error: null,
  retryAt: 0,
  directory: null,
  renewAt: null,
  askAt: 0,
  hadAt: 0,
}

/**
 * Drops times in the future, which come from a clock that was wrong. Otherwise, a machine that boots with a wrong year
 * could wait until that year.
 */
export function dropFutureTimes(tried: IssuanceState, now: number): IssuanceState {
  const failed = tried.failedAt !== null && tried.failedAt > now
  const asked = tried.askAt > now + LONGEST_WAIT
  return { ...tried, ...(failed && { failedAt: null, retryAt: 0 }), ...(asked && { askAt: 0 }) }
}

/** The names that a certificate is for. */
export const getCertificateNames = ({ subjectAltName = '' }: X509Certificate): string[] =>
  subjectAltName.split(', ').flatMap((one) => (one.startsWith('DNS:') ? [one.slice(4).toLowerCase()] : []))

/** Whether the stored certificate has the wanted names and comes from the wanted ACME server. */
export function matchesWanted(
  wanted: WantedCertificate,
  kept: X509Certificate | undefined,
  tried: IssuanceState,
  directory: string,
): boolean {
  if (!kept || tried.directory !== directory) return false
  const names = getCertificateNames(kept)
  return wanted.names.every((name) => names.includes(name.toLowerCase()))
}

/**
 * Decides when to request the certificate; a time in the past means now.
 * @param kept the stored certificate, if any
 */
export function computeRequestTime(
  wanted: WantedCertificate,
  kept: X509Certificate | undefined,
  tried: IssuanceState,
  directory: string,
): number {
  if (!matchesWanted(wanted, kept, tried, directory)) return tried.retryAt
  return Math.max(tried.renewAt ?? computeDefaultRenewalTime(kept!), tried.retryAt)
}

/** Whether to ask the server for the renewal window; never for an expired certificate (RFC 9773 §4.3). */
export function shouldFetchRenewalWindow(
  kept: X509Certificate,
  { askAt }: IssuanceState,
  now: number,
): boolean {
  return askAt <= now && now < Date.parse(kept.validTo)
}

/**
 * Whether a certificate is too new to renew: less than a day old, or less than a tenth of its lifetime. Protects
 * against a clock that is months off, and against an ACME server that suggests a wrong time. Either would cause a
 * renewal in every round.
 */
export function isTooNewToRenew(kept: X509Certificate, { hadAt }: IssuanceState, now: number): boolean {
  const life = Date.parse(kept.validTo) - Date.parse(kept.validFrom)
  // A time in the future comes from a clock that was wrong.
  return hadAt <= now && now < hadAt + Math.min(24 * HOUR, life / 10)
}

/** Returns the time after two thirds of the lifetime, used when the server suggests no window. */
export function computeDefaultRenewalTime(certificate: X509Certificate): number {
  const [begins, ends] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return begins + ((ends - begins) * 2) / 3
}

/**
 * Picks a random time in the window that the server suggests (RFC 9773 §4.2), but never after the certificate expires.
 * @param random from 0 up to 1
 */
export function pickRenewalTime(
  { start, end }: RenewalWindow,
  certificate: X509Certificate,
  random: number,
): number {
  return Math.min(start + (end - start) * random, Date.parse(certificate.validTo) - HOUR)
}

const HOUR = 3_600_000
const FIRST_WAIT = HOUR / 6
const LONGEST_WAIT = 24 * HOUR

/**
 * Decides how long to wait after a failure: 10 minutes, doubled with each further failure up to a day. Let's Encrypt
 * allows five failures per hour and name; this makes at most three.
 * @param asked the wait that the server asked for, in milliseconds
 * @param random from 0 up to 1; varies the wait by a tenth
 */
export function computeRetryDelay(failures: number, asked: number, random: number): number {
  const own = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(20, failures - 1))
  return Math.max(asked, own * (1 + random / 10))
}

/**
 * Decides how long a renewal window is valid: between a minute and a day, and six hours when the server doesn't say
 * (RFC 9773 §4.3).
 */
export const computeRenewalWindowTtl = (retryAfter: number): number =>
  retryAfter === 0 ? 6 * HOUR : Math.min(24 * HOUR, Math.max(60_000, retryAfter))

/**
 * Builds the certificate identifier from the issuer's key identifier and the serial number (RFC 9773 §4.1); undefined
 * when the certificate names no issuer key.
 */
export function buildCertificateId({ raw, serialNumber }: X509Certificate): string | undefined {
  const at = raw.indexOf(OID.authorityKeyIdentifier)
  if (at < 0) return undefined
  // OCTET STRING, SEQUENCE, [0]: each with a one-octet length, because key identifiers are short (RFC 5280 §4.2.1.1).
  const value = raw.subarray(at + OID.authorityKeyIdentifier.length)
  if (value[0] !== 0x04 || value[2] !== 0x30 || value[4] !== 0x80) return undefined
  const keyId = value.subarray(6, 6 + value[5]!)
  const serial = Buffer.from(serialNumber.length % 2 ? `0${serialNumber}` : serialNumber, 'hex')
  // The encoding of a positive INTEGER starts with a clear bit (X.690 §8.3).
  const integer = serial[0]! & 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial
  return `${keyId.toString('base64url')}.${integer.toString('base64url')}`
}
