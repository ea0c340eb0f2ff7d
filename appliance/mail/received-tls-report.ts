/** TLS reports of other servers (RFC 8460 §4) after parsing. All texts are untrusted. Types only. */

export interface TlsFailure {
  /** RFC 8460 §4.3, in lower case: `certificate-expired`, `starttls-not-supported`, … */
  type: string
  sendingIp: string
  receivingIp: string
  receivingMx: string
  receivingHelo: string
  sessions: number
  reason: string
  information: string
}

export interface TlsPolicyResult {
  type: 'tlsa' | 'sts' | 'no-policy-found' | 'unknown'
  domain: string
  strings: string[]
  mxHosts: string[]
  successful: number
  failed: number
  failures: TlsFailure[]
}

export interface ReceivedTlsReport {
  organization: string
  contact: string
  reportId: string
  /** Unix milliseconds; `begin` is not after `end`. */
  begin: number
  end: number
  policies: TlsPolicyResult[]
}
