/** DMARC and TLS reports about a domain, as stored. Texts are untrusted. Types only. */
import type { AuthResult, Disposition, PublishedPolicy } from './dmarc-report.ts'
import type { TlsPolicyResult } from './received-tls-report.ts'

/** `dmarc`: an aggregate report (RFC 9990, RFC 7489) · `tls`: a TLS report (RFC 8460). */
export type DomainReportKind = 'dmarc' | 'tls'

/** Messages of one source IP with the same result. */
export interface DmarcRow {
  sourceIp: string
  headerFrom: string
  disposition: Disposition
  dkimAligned: boolean
  spfAligned: boolean
  /** The most meaningful signature: an aligned one that passes, any that passes, or the first. Empty for none. */
  dkimDomain: string
  dkimResult: AuthResult
  /** The envelope sender's domain or the EHLO name. Empty when unknown. */
  spfDomain: string
  spfResult: AuthResult
  /** Why the disposition differs from the policy: `mailing_list`, `forwarded`, …; empty when it doesn't. */
  reason: string
  messages: number
}

/** Sessions with the same result. */
export interface TlsRow {
  policyType: TlsPolicyResult['type']
  /** Result type (RFC 8460 §4.3); empty when they succeeded. */
  failure: string
  receivingMx: string
  reason: string
  sessions: number
}

/** A parsed report, ready to be stored. */
export interface ParsedDomainReport {
  kind: DomainReportKind
  /** The organization as claimed in the report; not verified. */
  organization: string
  reportId: string
  policyDomain: string
  /** The DMARC policy that the reporter found; null in TLS reports. */
  policy: PublishedPolicy | null
  /** Unix milliseconds. */
  begin: number
  end: number
  /** Messages checked with DMARC, or TLS sessions; and how many of them failed. */
  total: number
  failed: number
  /** Records that were invalid or too many. Their messages aren't in the rows. */
  skipped: number
  /** Rows of a DMARC report; empty in TLS reports. */
  dmarc: DmarcRow[]
  /** Rows of a TLS report; empty in DMARC reports. */
  tls: TlsRow[]
}
