/**
 * Unpacks reports: gzip (RFC 1952), ZIP or plain. Limits are enforced while inflating; declared sizes are not trusted.
 * Pure and synchronous: unpack large reports in a thread.
 */
import { crc32, inflateRawSync, gunzipSync } from 'node:zlib'
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

/**
 * Why a report can't be read. `dangerous`: it contains something that no report needs, such as a document type or
 * encryption.
 */
export type ReportProblem = 'too-large' | 'damaged' | 'dangerous' | 'not-a-report'
export type Unpacked = { kind: 'unpacked'; bytes: Uint8Array } | { kind: 'problem'; problem: ReportProblem }

export const problem = (problem: ReportProblem): { kind: 'problem'; problem: ReportProblem } => ({
  kind: 'problem',
  problem,
})

/** Runs zlib and turns errors about the input into a problem. */
function inflateWith(run: () => Uint8Array): Unpacked {
  try {
    return { kind: 'unpacked', bytes: run() }
  } catch (error) {
    // zlib has one error code for the limit and several for invalid data.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') return problem('too-large')
    if (code?.startsWith('Z_')) return problem('damaged')
    throw error
  }
}

/** APPNOTE §4.3.16, §4.3.12, §4.3.7. */
const END = 0x06054b50
const ENTRY = 0x02014b50
const LOCAL = 0x04034b50
/** The end record is at most this far from the end of the file: its 22 octets and a comment. */
const MOST_END = 22 + 0xffff
/** Maximum number of entries. Some archives also hold folders or metadata of the packer. */
const MOST_ENTRIES = 16
const MOST_NAME = 1024

interface Entry {
  encrypted: boolean
  method: number
  crc: number
  packedSize: number
  offset: number
}

/**
 * Extracts the only file of an archive. Rejects encryption, several files, and methods other than stored and deflated.
 */
function unzipOne(bytes: Uint8Array, most: number): Unpacked {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = readDirectory(file)
  if (!entries) return problem('damaged')
  const [entry, ...others] = entries
  if (!entry || others.length > 0) return problem('not-a-report')
  if (entry.encrypted) return problem('dangerous')
  const { offset, packedSize } = entry
  if (offset + 30 > file.length || file.readUInt32LE(offset) !== LOCAL) return problem('damaged')
  // APPNOTE §4.3.7: the lengths of the name and extra field may differ from those in the directory.
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28)
  if (start + packedSize > file.length) return problem('damaged')
  const packed = file.subarray(start, start + packedSize)
  const found = unpackEntry(entry, packed, most)
  if (found.kind === 'unpacked' && crc32(found.bytes) !== entry.crc) return problem('damaged')
  return found
}

function unpackEntry({ method }: Entry, packed: Buffer, most: number): Unpacked {
  if (method === 8) return inflateWith(() => inflateRawSync(packed, { maxOutputLength: most }))
  if (method !== 0) return problem('not-a-report')
  return packed.length > most ? problem('too-large') : { kind: 'unpacked', bytes: packed }
}

/**
 * Lists the files of an archive, without folders and macOS metadata; undefined if the directory is invalid or too
 * large.
 */
function readDirectory(file: Buffer): Entry[] | undefined {
  const end = findEnd(file)
  if (end < 0) return undefined
  const count = file.readUInt16LE(end + 10)
  if (count > MOST_ENTRIES) return undefined
  const entries: Entry[] = []
  let at = file.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (at + 46 > file.length || file.readUInt32LE(at) !== ENTRY) return undefined
    const nameLength = file.readUInt16LE(at + 28)
    const name = file.toString('latin1', at + 46, at + 46 + Math.min(nameLength, MOST_NAME))
    if (!name.endsWith('/') && !name.startsWith('__MACOSX/')) entries.push(readEntry(file, at))
    at += 46 + nameLength + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  return entries
}

function findEnd(file: Buffer): number {
  for (let at = file.length - 22; at >= Math.max(0, file.length - MOST_END); at--)
    if (file[at] === 0x50 && file.readUInt32LE(at) === END) return at
  return -1
}

function readEntry(file: Buffer, at: number): Entry {
  return {
    encrypted: (file.readUInt16LE(at + 8) & 1) === 1,
    method: file.readUInt16LE(at + 10),
    crc: file.readUInt32LE(at + 16),
    packedSize: file.readUInt32LE(at + 20),
    offset: file.readUInt32LE(at + 42),
  }
}
