/**
 * Unpacks reports: gzip (RFC 1952), ZIP or plain. Limits are enforced while inflating; declared sizes are not trusted.
 * Pure and synchronous: unpack large reports in a thread.
 */
import { gunzipSync } from 'node:zlib'
import { inflateWith, problem, type Unpacked } from './inflate.ts'
import { isGzip, isZip } from './report-part.ts'
import { unzipOne } from './zip.ts'

export interface UnpackLimits {
  /** Largest packed and largest unpacked size, in octets. */
  packed: number
  unpacked: number
  /** Maximum number of unpacked octets per packed octet. */
  ratio: number
}

const REPORT_LIMITS: UnpackLimits = {
  packed: 10 * 1024 * 1024,
  unpacked: 50 * 1024 * 1024,
  ratio: 200,
}

/** Up to this size in octets, any ratio is allowed. */
const SMALL = 1024 * 1024

/** Unpacks one level. Nested archives are not reports. */
export function unpackReport(bytes: Uint8Array, limits: UnpackLimits = REPORT_LIMITS): Unpacked {
  if (bytes.length > limits.packed) return problem('too-large')
  const most = Math.min(limits.unpacked, Math.max(SMALL, bytes.length * limits.ratio))
  const found = inflate(bytes, most)
  if (found.kind === 'unpacked' && (isGzip(found.bytes) || isZip(found.bytes))) return problem('dangerous')
  return found
}

function inflate(bytes: Uint8Array, most: number): Unpacked {
  if (isZip(bytes)) return unzipOne(bytes, most)
  if (!isGzip(bytes)) return { kind: 'unpacked', bytes }
  return inflateWith(() => gunzipSync(bytes, { maxOutputLength: most }))
}
