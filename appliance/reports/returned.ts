/** Builds the part of a report with the returned message (RFC 3461 §4.3, RFC 6522 §3). Pure. */
import { isAscii } from 'node:buffer'
import type { EnvelopeDsn, ReportKind } from '../mail/dsn.ts'
import { quotedPrintable } from '../mime/transfer.ts'
import { plainEncoding, type Part } from './mime.ts'

/** Largest message that is returned whole, in bytes: without RET (text but no attachments), and with RET=FULL. */
export const WHOLE_UNASKED = 64 * 1024
export const WHOLE_ASKED = 1024 * 1024
/** Largest header section that is returned, in bytes. */
const MOST_HEADER = 64 * 1024

/**
 * Returns the whole message or its header section. Only failures return a body (RFC 3461 §4.3), because after a delay
 * or success the sender has lost nothing. A header section with UTF-8 has its own media types (RFC 6532 §3.7, RFC 6533
 * §4.3). It is encoded in 7 bits, because it is unknown whether servers on the way back support SMTPUTF8 (RFC 6533
 * §4.5).
 */
export function returnedPart(original: Uint8Array, kind: ReportKind, ret: EnvelopeDsn['ret']): Part {
  const bytes = Buffer.from(original.buffer, original.byteOffset, original.byteLength)
  const gap = bytes.indexOf('\r\n\r\n')
  const header = gap < 0 ? bytes : bytes.subarray(0, gap + 2)
  const utf8 = !isAscii(header)
  const most = ret === 'FULL' ? WHOLE_ASKED : WHOLE_UNASKED
  if (kind === 'failed' && ret !== 'HDRS' && bytes.length <= most)
    return part(utf8 ? 'message/global' : 'message/rfc822', 'Undelivered message', bytes)
  return part(utf8 ? 'message/global-headers' : 'text/rfc822-headers', 'Message header', shortened(header))
}

function part(type: string, description: string, body: Buffer): Part {
  const header = [`Content-Type: ${type}`, `Content-Description: ${description}`]
  return type.startsWith('message/global')
    ? { header, encoding: 'quoted-printable', body: Buffer.from(quotedPrintable(body)) }
    : { header, encoding: plainEncoding(body), body }
}

/** Cuts a header between fields. */
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
