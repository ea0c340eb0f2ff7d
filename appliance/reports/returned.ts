/** Builds the part of a report with the returned message (RFC 3461 §4.3, RFC 6522 §3). Pure. */
import { isAscii } from 'node:buffer'
import type { EnvelopeDsn, ReportKind } from '../mail/dsn.ts'
import { encodeQuotedPrintable } from '../mime/transfer.ts'
import { choosePlainEncoding, type Part } from './mime.ts'

/**
 * Maximum size of a message that is returned completely, in bytes: without RET (text but no attachments), and with
 * RET=FULL.
 */
export const MAX_RETURNED_SIZE_DEFAULT = 64 * 1024
export const MAX_RETURNED_SIZE_REQUESTED = 1024 * 1024
/** Maximum size of a returned header section, in bytes. */
const MOST_HEADER = 64 * 1024

/**
 * Returns the whole message or its header section. Only failures return a body (RFC 3461 §4.3), because after a delay
 * or success the sender has lost nothing. A header section with UTF-8 has its own media types (RFC 6532 §3.7, RFC 6533
 * §4.3). It is encoded in 7 bits, because the servers on the way back may not support SMTPUTF8 (RFC 6533 §4.5).
 */
export function buildReturnedMessagePart(
  original: Uint8Array,
  kind: ReportKind,
  ret: EnvelopeDsn['ret'],
): Part {
  const bytes = Buffer.from(original.buffer, original.byteOffset, original.byteLength)
  const gap = bytes.indexOf('\r\n\r\n')
  const header = gap < 0 ? bytes : bytes.subarray(0, gap + 2)
  const utf8 = !isAscii(header)
  const most = ret === 'FULL' ? MAX_RETURNED_SIZE_REQUESTED : MAX_RETURNED_SIZE_DEFAULT
  if (kind === 'failed' && ret !== 'HDRS' && bytes.length <= most)
    return part(utf8 ? 'message/global' : 'message/rfc822', 'Undelivered message', bytes)
  return part(utf8 ? 'message/global-headers' : 'text/rfc822-headers', 'Message header', shortened(header))
}

function part(type: string, description: string, body: Buffer): Part {
  const header = [`Content-Type: ${type}`, `Content-Description: ${description}`]
  return type.startsWith('message/global')
    ? { header, encoding: 'quoted-printable', body: Buffer.from(encodeQuotedPrintable(body)) }
    : { header, encoding: choosePlainEncoding(body), body }
}

/** Shortens a header at a field boundary. */
function shortened(header: Buffer): Buffer {
  if (header.length <= MOST_HEADER) return header
  for (
    let end = header.lastIndexOf('\r\n', MOST_HEADER);
    end > 0;
    end = header.lastIndexOf('\r\n', end - 1)
  ) {
    const next = header[end + 2]
    if (next !== 0x20 && next !== 0x09) return header.subarray(0, end + 2)
  }
  return Buffer.from('')
}
