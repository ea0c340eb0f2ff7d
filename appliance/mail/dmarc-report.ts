/** DMARC aggregate reports (RFC 9990, RFC 7489 Appendix C) after parsing. All texts are untrusted. Types only. */

/** A result of SPF or DKIM (RFC 8601 §2.7); `unknown` for any other value. */
export const AUTH_RESULTS = [
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
  'unknown',
] as const
export type AuthResult = (typeof AUTH_RESULTS)[number]

/** The receiver's action (RFC 9990 §3.1.1.8); `unknown` for any other value. */
export const DISPOSITIONS = ['none', 'pass', 'quarantine', 'reject', 'unknown'] as const
export type Disposition = (typeof DISPOSITIONS)[number]

export interface DkimOutcome {
  domain: string
  /** The selector; empty if missing. RFC 9990 requires it, but many reports lack it. */
  selector: string
  result: AuthResult
}

export interface SpfOutcome {
  domain: string
  scope: 'mfrom' | 'helo' | 'unknown'
  result: AuthResult
}

/** Messages of one source with the same result. */
export interface DmarcRecord {
  sourceIp: string
  /** Number of messages. */
  count: number
  disposition: Disposition
  /** Whether DKIM or SPF passed with an aligned domain. */
  dkimAligned: boolean
  spfAligned: boolean
  /** Why the disposition differs from the policy, in lower case: `mailing_list`, `local_policy`, … */
  reasons: { type: string; comment: string }[]
  headerFrom: string
  envelopeFrom: string
  envelopeTo: string
  dkim: DkimOutcome[]
  spf: SpfOutcome[]
}

/** The policy that the receiver found (RFC 9990 §3.1.1.7); missing values are empty. */
export interface PublishedPolicy {
  domain: string
  p: string
  sp: string
  np: string
  adkim: string
  aspf: string
  pct: string
  fo: string
  testing: string
  discoveryMethod: string
}

export interface DmarcReport {
  organization: string
  email: string
  contact: string
  reportId: string
  /** Unix milliseconds; `begin` is not after `end`. */
  begin: number
  end: number
  errors: string[]
  generator: string
  version: string
  policy: PublishedPolicy
  records: DmarcRecord[]
  /** Records without an IP address or count, or beyond the limit. */
  skipped: number
}
