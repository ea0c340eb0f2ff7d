/** When to ask the authority for which certificate: pure decisions. All times are Unix milliseconds. */
import type { X509Certificate } from 'node:crypto'
import { OID } from '../wire/der.ts'
import type { RenewalWindow } from './client.ts'

/** A certificate that should be there. */
export interface Wanted {
  /** The first of its names; the certificate is kept and shown under it. */
  id: string
  names: readonly string[]
}

/** What is remembered of a certificate over restarts, so that no authority is asked too often. */
export interface Attempts {
  /** Failed ones since the last success. */
  failures: number
  failedAt: number | null
  /** What the last failure said. */
  error: string | null
  /** Not before this time, unless a person asks. */
  retryAt: number
  /** The authority that gave the certificate that is kept. */
  directory: string | null
  /** When it is renewed. */
  renewAt: number | null
  /** When the authority is asked again for its opinion of that (RFC 9773 §4.3). */
  askAt: number
  /** When the certificate that is kept was had; 0: not known. */
  hadAt: number
}

/** Of a certificate that was never tried. */
export const UNTRIED: Attempts = {
  ...{ failures: 0, failedAt: null, error: null, retryAt: 0 },
  ...{ directory: null, renewAt: null, askAt: 0, hadAt: 0 },
}

/**
 * What is remembered without what a clock wrote that was ahead: a machine that starts before it is told the time fails in
 * another year, and would wait for that year.
 */
export function withoutFuture(tried: Attempts, now: number): Attempts {
  const failed = tried.failedAt !== null && tried.failedAt > now
  const asked = tried.askAt > now + LONGEST_WAIT
  return { ...tried, ...(failed && { failedAt: null, retryAt: 0 }), ...(asked && { askAt: 0 }) }
}

/** The names that a certificate is for. */
export const namesIn = ({ subjectAltName = '' }: X509Certificate): string[] =>
  subjectAltName.split(', ').flatMap((one) => (one.startsWith('DNS:') ? [one.slice(4).toLowerCase()] : []))

/** Whether the kept certificate is the one that is wanted: its names, its authority. */
export function fits(
  wanted: Wanted,
  kept: X509Certificate | undefined,
  tried: Attempts,
  directory: string,
): boolean {
  if (!kept || tried.directory !== directory) return false
  const names = namesIn(kept)
  return wanted.names.every((name) => names.includes(name.toLowerCase()))
}

/**
 * When the certificate is to be asked for: the past for now.
 * @param kept what there is of it
 */
export function dueAt(
  wanted: Wanted,
  kept: X509Certificate | undefined,
  tried: Attempts,
  directory: string,
): number {
  if (!fits(wanted, kept, tried, directory)) return tried.retryAt
  return Math.max(tried.renewAt ?? twoThirds(kept!), tried.retryAt)
}

/** Whether the authority is to be asked for its opinion: never about a certificate that has ended (RFC 9773 §4.3). */
export function isToBeAsked(kept: X509Certificate, { askAt }: Attempts, now: number): boolean {
  return askAt <= now && now < Date.parse(kept.validTo)
}

/**
 * Whether a certificate was had so recently that it is not renewed, whoever says so: a day ago, or a tenth of its life. A clock
 * that is wrong by months and an authority whose opinion makes no sense would have it renewed in every round.
 */
export function isFresh(kept: X509Certificate, { hadAt }: Attempts, now: number): boolean {
  const life = Date.parse(kept.validTo) - Date.parse(kept.validFrom)
  // What was had in the future was written by such a clock.
  return hadAt <= now && now < hadAt + Math.min(24 * HOUR, life / 10)
}

/** Two thirds of its life, where the authority has no opinion. */
export function twoThirds(certificate: X509Certificate): number {
  const [begins, ends] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return begins + ((ends - begins) * 2) / 3
}

/**
 * A moment of the window that the authority suggests, by chance (RFC 9773 §4.2), but never so late that the certificate ends.
 * @param random from 0 up to 1
 */
export function momentIn(
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
 * How long to wait after a failure: 10 minutes, doubled by each further one up to a day. Let's Encrypt takes five failures
 * an hour for each name; this makes three of them at most.
 * @param asked what the authority asked for, in milliseconds
 * @param random from 0 up to 1; spreads the waits over a tenth
 */
export function waitAfter(failures: number, asked: number, random: number): number {
  const own = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(20, failures - 1))
  return Math.max(asked, own * (1 + random / 10))
}

/** How long the authority's opinion of the renewal holds: between a minute and a day, six hours where it does not say (RFC 9773 §4.3). */
export const opinionHolds = (retryAfter: number): number =>
  retryAfter === 0 ? 6 * HOUR : Math.min(24 * HOUR, Math.max(60_000, retryAfter))

/** RFC 9773 §4.1: the key identifier of the issuer and the serial number; undefined where the certificate names no issuer key. */
export function certificateId({ raw, serialNumber }: X509Certificate): string | undefined {
  const at = raw.indexOf(OID.authorityKeyIdentifier)
  if (at < 0) return undefined
  // OCTET STRING, SEQUENCE, [0]: each with a length of one octet, as key identifiers are short (RFC 5280 §4.2.1.1).
  const value = raw.subarray(at + OID.authorityKeyIdentifier.length)
  if (value[0] !== 0x04 || value[2] !== 0x30 || value[4] !== 0x80) return undefined
  const keyId = value.subarray(6, 6 + value[5]!)
  const serial = Buffer.from(serialNumber.length % 2 ? `0${serialNumber}` : serialNumber, 'hex')
  // The encoding of a positive INTEGER begins with a clear bit (X.690 §8.3).
  const integer = serial[0]! & 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial
  return `${keyId.toString('base64url')}.${integer.toString('base64url')}`
}
