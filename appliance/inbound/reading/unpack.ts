/**
 * Unpacks reports: gzip (RFC 1952), ZIP or plain. Limits are enforced while inflating; declared sizes are not trusted.
 * Pure and synchronous: unpack large reports in a thread.
 */
import { inflateRawSync, gunzipSync } from 'node:zlib'
import { isIntact, getPackedBytes, listZipEntries, type ZipEntry } from '../../mail/zip.ts'
import { isGzip, isZip } from './report-part.ts'

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
export function unpackReport(bytes: Uint8Array, limits: UnpackLimits = REPORT_LIMITS): UnpackResult {
  if (bytes.length > limits.packed) return createProblem('too-large')
  const most = Math.min(limits.unpacked, Math.max(SMALL, bytes.length * limits.ratio))
  const found = inflate(bytes, most)
  if (found.kind === 'unpacked' && (isGzip(found.bytes) || isZip(found.bytes)))
    return createProblem('dangerous')
  return found
}

function inflate(bytes: Uint8Array, most: number): UnpackResult {
  if (isZip(bytes)) return unzipOne(bytes, most)
  if (!isGzip(bytes)) return { kind: 'unpacked', bytes }
  return inflateWith(() => gunzipSync(bytes, { maxOutputLength: most }))
}

/**
 * Why a report can't be read. `dangerous`: it contains something that no report needs, such as a document type or
 * encryption.
 */
export type ReportProblem = 'too-large' | 'damaged' | 'dangerous' | 'not-a-report'
export type UnpackResult =
  { kind: 'unpacked'; bytes: Uint8Array } | { kind: 'problem'; problem: ReportProblem }

export const createProblem = (problem: ReportProblem): { kind: 'problem'; problem: ReportProblem } => ({
  kind: 'problem',
  problem,
})

/** Runs zlib and turns errors about the input into a problem. */
function inflateWith(run: () => Uint8Array): UnpackResult {
  try {
    return { kind: 'unpacked', bytes: run() }
  } catch (error) {
    // zlib has one error code for the limit and several for invalid data.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') return createProblem('too-large')
    if (code?.startsWith('Z_')) return createProblem('damaged')
    throw error
  }
}

/** Maximum number of entries. Some archives also hold folders or metadata of the packer. */
const MOST_ENTRIES = 16

/**
 * Extracts the only file of an archive. Rejects encryption, several files, and methods other than stored and deflated.
 */
function unzipOne(bytes: Uint8Array, most: number): UnpackResult {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = listZipEntries(file, MOST_ENTRIES)
  if (!entries) return createProblem('damaged')
  const [entry, ...others] = entries
  if (!entry || others.length > 0) return createProblem('not-a-report')
  if (entry.encrypted) return createProblem('dangerous')
  const packed = getPackedBytes(file, entry)
  if (!packed) return createProblem('damaged')
  const found = unpackEntry(entry, packed, most)
  if (found.kind === 'unpacked' && !isIntact(found.bytes, entry)) return createProblem('damaged')
  return found
}

function unpackEntry({ method }: ZipEntry, packed: Buffer, most: number): UnpackResult {
  if (method === 8) return inflateWith(() => inflateRawSync(packed, { maxOutputLength: most }))
  if (method !== 0) return createProblem('not-a-report')
  return packed.length > most ? createProblem('too-large') : { kind: 'unpacked', bytes: packed }
}
