/**
 * The address for reports about a domain (`rua` of DMARC, RFC 9990 §4, and of TLS-RPT, RFC 8460 §3), at the host of its
 * return path. The code in it identifies the domain and team. It is no secret, because the address is published in DNS.
 * Pure.
 */
import { createHash } from 'node:crypto'
import { getReturnPathHost } from './return-path.ts'

/** The fields that the address is derived from. */
export interface ReportAddressFields {
  id: string
  name: string
  /** The label of the return path. */
  returnPath: string
}

/** Length of the code in hex digits; long enough that it can't be guessed. */
const CODE = 20
const SHAPE = new RegExp(`^reports-[0-9a-f]{${CODE}}$`)

/**
 * Returns the address, such as `reports-0123456789abcdef0123@send.example.com`. It is below the domain, so that
 * receivers need no further authorization (RFC 9990 §4).
 */
export function buildReportAddress(domain: ReportAddressFields): string {
  const host = getReturnPathHost(domain)
  const code = createHash('sha256').update(`reports\n${domain.id}\n${host.toLowerCase()}`).digest('hex')
  return `reports-${code.slice(0, CODE)}@${host}`
}

/** Whether a local part is formatted as an address for reports. */
export const isReportLocal = (local: string): boolean => SHAPE.test(local.toLowerCase())

/** Returns the values of `_dmarc` and `_smtp._tls` (TXT) to publish in order to get reports. */
export const buildDmarcValue = (domain: ReportAddressFields): string =>
  `v=DMARC1; p=none; rua=mailto:${buildReportAddress(domain)}`
export const buildTlsRptValue = (domain: ReportAddressFields): string =>
  `v=TLSRPTv1; rua=mailto:${buildReportAddress(domain)}`
