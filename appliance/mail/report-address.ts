/**
 * Where other servers send reports about a domain (`rua` of DMARC, RFC 9990 §4, and of TLS-RPT, RFC 8460 §3): an address at the host of its
 * return path. The code in it belongs to one domain of one team. It is no secret, as the address is published in DNS. Pure.
 */
import { createHash } from 'node:crypto'
import { returnPathHost } from './return-path.ts'

/** What the address is made of. */
export interface AddressedDomain {
  id: string
  name: string
  /** The label of the return path. */
  returnPath: string
}

/** Hexadecimal digits: nobody comes upon them by trying. */
const CODE = 20
const SHAPE = new RegExp(`^reports-[0-9a-f]{${CODE}}$`)

/** The address for reports, such as `reports-0123456789abcdef0123@send.example.com`. Below the domain, so receivers need no further proof (RFC 9990 §4). */
export function reportAddress(domain: AddressedDomain): string {
  const host = returnPathHost(domain)
  const code = createHash('sha256').update(`reports\n${domain.id}\n${host.toLowerCase()}`).digest('hex')
  return `reports-${code.slice(0, CODE)}@${host}`
}

/** Whether the local part has the shape of an address for reports. */
export const isReportLocal = (local: string): boolean => SHAPE.test(local.toLowerCase())

/** What to publish so that reports come: the values of `_dmarc` and `_smtp._tls` (TXT). */
export const dmarcValue = (domain: AddressedDomain): string =>
  `v=DMARC1; p=none; rua=mailto:${reportAddress(domain)}`
export const tlsRptValue = (domain: AddressedDomain): string =>
  `v=TLSRPTv1; rua=mailto:${reportAddress(domain)}`
