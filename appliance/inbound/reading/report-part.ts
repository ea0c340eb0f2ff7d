/** Finds the attached report in mail about DMARC (RFC 9990 §3.2, RFC 7489 §7.2.1.1) or TLS (RFC 8460 §5.3). Pure. */
import type { ReturnedMailKind } from '../../mail/returned.ts'
import { decodeBytes, getField, getDecodedField, type Part, type ParsedMessage } from './parts.ts'

/** Largest encoded report that is read, in octets. */
const MAX_ENCODED = 16 * 1024 * 1024
/** Octets at the start of a file that identify its format. */
const START = 3000

export interface FoundReport {
  kind: Extract<ReturnedMailKind, 'dmarc-aggregate' | 'tls-report'>
  /** Decoded from base64, still compressed. */
  report: Uint8Array
}

/**
 * Returns the report in a message, or undefined. Identifies files by their first octets: reporters declare them as
 * application/octet-stream, x-zip-compressed or text, and omit file names.
 */
export function findReport(message: ParsedMessage): FoundReport | undefined {
  const about = aboutOf(message)
  for (const part of message.parts) {
    const kind = kindOf(part, about)
    if (kind !== undefined) return { kind, report: decodeBytes(part, MAX_ENCODED) }
  }
  return undefined
}

/** The report type that the message's own header suggests. */
interface About {
  dmarc: boolean
  tls: boolean
}

function aboutOf({ fields, contentType }: ParsedMessage): About {
  const subject = getDecodedField(fields, 'subject') ?? ''
  const type = contentType.parameters.get('report-type')?.toLowerCase()
  const tls = type === 'tlsrpt' || getField(fields, 'tls-report-domain') !== undefined
  // RFC 9990 §3.2: "Report Domain: … Submitter: … Report-ID: …".
  return { tls, dmarc: !tls && /report.{0,3}domain\s?:|\bdmarc\b/i.test(subject) }
}

function kindOf(part: Part, about: About): FoundReport['kind'] | undefined {
  if (part.type === 'application/tlsrpt+gzip' || part.type === 'application/tlsrpt+json') return 'tls-report'
  if (part.type.startsWith('message/') || part.type === 'text/html') return undefined
  const start = decodeBytes(part, START)
  if (isPacked(start)) {
    if (about.tls) return 'tls-report'
    return about.dmarc || isReportName(nameOf(part)) ? 'dmarc-aggregate' : undefined
  }
  const text = textStart(start)
  if (/^\s{0,200}</.test(text) && /<(?:[\w-]{1,40}:)?(?:feedback|report_metadata)[\s>]/.test(text))
    return 'dmarc-aggregate'
  return /^\s{0,200}\{/.test(text) && /"(?:organization-name|date-range)"\s{0,20}:/.test(text)
    ? 'tls-report'
    : undefined
}

/** Recognizes gzip (RFC 1952 §2.3.1) and ZIP. */
const isPacked = (bytes: Uint8Array): boolean => isGzip(bytes) || isZip(bytes)
export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b
export const isZip = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4

/** Drops zeros, because UTF-16 has one in every second octet of such text. */
const textStart = (bytes: Buffer): string =>
  bytes.toString('latin1').replaceAll(/\0|^\xff\xfe|^\xfe\xff|^\xef\xbb\xbf/g, '')

function nameOf({ parameters, fields }: Part): string {
  const disposition = getField(fields, 'content-disposition') ?? ''
  return parameters.get('name') ?? /filename\*?=\s?"?([^";]{1,300})/i.exec(disposition)?.[1] ?? ''
}

/** `receiver!domain!begin!end[!id].xml.gz` (RFC 9990 §3.2, RFC 7489 §7.2.1.1). */
const isReportName = (name: string): boolean => /^[^!\s]{1,255}![^!\s]{1,255}!\d{8,12}!\d{8,12}/.test(name)
