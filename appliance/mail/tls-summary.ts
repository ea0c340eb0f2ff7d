/** Summarizes in plain words how other servers reach a domain over TLS, from the rows of TLS reports. Pure. */
import type { TlsRow } from './domain-report.ts'

/** Sessions that failed for the same reason. */
export interface TlsFailureSummary {
  /** Result type (RFC 8460 §4.3). */
  type: string
  sessions: number
  /** MX hosts where it happened; at most ten. */
  mxHosts: string[]
  meaning: string
  nextStep: string
}

export interface TlsSummary {
  sessions: number
  failed: number
  /** Sessions by the type of the applied policy. */
  policies: { type: TlsRow['policyType']; sessions: number; failed: number }[]
  /** Sorted by number of sessions. */
  failures: TlsFailureSummary[]
}

const RENEW = 'Check the certificate of the MX host: its names, its chain and its end.'
const STS = 'Check the MTA-STS policy file and the web server that it is on.'
const DANE = 'Check the TLSA records of the MX host, and DNSSEC of their zone.'

/** The result types of RFC 8460 §4.3. */
const MEANINGS: Record<string, readonly [meaning: string, nextStep: string]> = {
  'starttls-not-supported': [
    'The MX host did not offer STARTTLS.',
    'Enable STARTTLS on the MX host, or see whether a firewall removes it.',
  ],
  'certificate-host-mismatch': ['The certificate is for another name.', RENEW],
  'certificate-expired': ['The certificate has expired.', RENEW],
  'certificate-not-trusted': ['The certificate is not signed by a trusted authority.', RENEW],
  'validation-failure': ['The TLS session failed for another reason.', RENEW],
  'tlsa-invalid': ['A TLSA record is not valid.', DANE],
  'dnssec-invalid': ['DNSSEC did not validate.', DANE],
  'dane-required': ['DANE was required, and there was no usable TLSA record.', DANE],
  'sts-policy-fetch-error': ['The MTA-STS policy could not be fetched.', STS],
  'sts-policy-invalid': ['The MTA-STS policy is not valid.', STS],
  'sts-webpki-invalid': ['The certificate of the MTA-STS policy host is not valid.', STS],
}

const sum = (rows: readonly TlsRow[]): number => rows.reduce((all, { sessions }) => all + sessions, 0)
const failedOf = (rows: readonly TlsRow[]): TlsRow[] => rows.filter(({ failure }) => failure !== '')

export function summarizeTls(rows: readonly TlsRow[]): TlsSummary {
  const failed = failedOf(rows)
  const policies = [...Map.groupBy(rows, ({ policyType }) => policyType)].map(([type, of]) => ({
    type,
    sessions: sum(of),
    failed: sum(failedOf(of)),
  }))
  const failures = [...Map.groupBy(failed, ({ failure }) => failure)].map(([type, of]) => {
    const [meaning, nextStep] = MEANINGS[type] ?? ['The reporter gave no known reason.', RENEW]
    const hosts = new Set(of.map(({ receivingMx }) => receivingMx).filter((host) => host !== ''))
    return { type, sessions: sum(of), mxHosts: [...hosts].slice(0, 10), meaning, nextStep }
  })
  const bySessions = <T extends { sessions: number }>(list: T[]): T[] =>
    list.toSorted((a, b) => b.sessions - a.sessions)
  return {
    sessions: sum(rows),
    failed: sum(failed),
    policies: bySessions(policies),
    failures: bySessions(failures),
  }
}

/** Returns the next step for a domain, in a sentence. */
export function describeTlsNextStep({ sessions, failures }: TlsSummary): string {
  if (sessions === 0)
    return 'If the domain receives mail, publish the record below. Reports arrive once a day from servers that send to it.'
  return failures[0]?.nextStep ?? 'Nothing to do: all reported sessions used TLS.'
}
