/** Reports of other servers about a domain, as they are kept: what DMARC and TLS reports say, summed up. Texts are a stranger's. Pure vocabulary. */
import type { AuthResult, Disposition, PublishedPolicy } from './dmarc-report.ts'
import type { TlsPolicyResult } from './received-tls-report.ts'

/** `dmarc`: an aggregate report (RFC 9990, RFC 7489) · `tls`: a TLS report (RFC 8460). */
export type DomainReportKind = 'dmarc' | 'tls'

/** Messages that fared alike, of one source address. */
export interface DmarcRow {
  sourceIp: string
  headerFrom: string
  disposition: Disposition
  dkimAligned: boolean
  spfAligned: boolean
  /** The signature that says most: an aligned one that passes, one that passes, or the first. Empty: none. */
  dkimDomain: string
  dkimResult: AuthResult
  /** The envelope sender's domain, or the EHLO name. Empty: unknown. */
  spfDomain: string
  spfResult: AuthResult
  /** Why the disposition differs from the policy: `mailing_list`, `forwarded`, …; empty: it does not. */
  reason: string
  messages: number
}

/** Sessions that fared alike. */
export interface TlsRow {
  policyType: TlsPolicyResult['type']
  /** Result type (RFC 8460 §4.3); empty: they succeeded. */
  failure: string
  receivingMx: string
  reason: string
  sessions: number
}

/** What a report says, ready to be kept. */
export interface ReadDomainReport {
  kind: DomainReportKind
  /** As the report names itself; not verified. */
  organization: string
  reportId: string
  policyDomain: string
  /** The DMARC policy that the reporter found; null in TLS reports. */
  policy: PublishedPolicy | null
  /** Unix milliseconds. */
  begin: number
  end: number
  /** Messages that DMARC was checked of, or sessions; and those of them that failed. */
  total: number
  failed: number
  /** Records that could not be read, or were too many. Their messages are not in the rows. */
  skipped: number
  /** Empty in TLS reports. */
  dmarc: DmarcRow[]
  /** Empty in DMARC reports. */
  tls: TlsRow[]
}
