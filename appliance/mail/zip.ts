/**
 * Finds the files of a ZIP archive. Declared sizes are not trusted: inflate with a limit. Pure.
 */
import { crc32 } from 'node:zlib'

/** Record signatures (APPNOTE §4.3.16, §4.3.12, §4.3.7). */
const END = 0x06054b50
const ENTRY = 0x02014b50
const LOCAL = 0x04034b50
/** Maximum distance of the end record from the end of the file: its 22 octets and a comment. */
const MOST_END = 22 + 0xffff
const MOST_NAME = 1024

/** A file of an archive. */
export interface ZipEntry {
  name: string
  encrypted: boolean
  /** Compression method. 0: stored, 8: deflated. */
  method: number
  crc: number
  packedSize: number
  offset: number
}

/**
 * Lists the files of an archive, without folders and macOS metadata; undefined if the directory is invalid or too
 * large.
 *
 * @param most maximum number of entries
 */
export function listZipEntries(file: Buffer, most: number): ZipEntry[] | undefined {
  const end = findEnd(file)
  if (end < 0) return undefined
  const count = file.readUInt16LE(end + 10)
  if (count > most) return undefined
  const entries: ZipEntry[] = []
  let at = file.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (at + 46 > file.length || file.readUInt32LE(at) !== ENTRY) return undefined
    const nameLength = file.readUInt16LE(at + 28)
    const name = file.toString('latin1', at + 46, at + 46 + Math.min(nameLength, MOST_NAME))
    if (!name.endsWith('/') && !name.startsWith('__MACOSX/')) entries.push(readEntry(file, at, name))
    at += 46 + nameLength + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  return entries
}

/** Returns the packed bytes of a file; undefined if they aren't in the archive. */
export function getPackedBytes(file: Buffer, { offset, packedSize }: ZipEntry): Buffer | undefined {
  if (offset + 30 > file.length || file.readUInt32LE(offset) !== LOCAL) return undefined
  // APPNOTE §4.3.7: the lengths of the name and extra field may differ from those in the directory.
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28)
  return start + packedSize > file.length ? undefined : file.subarray(start, start + packedSize)
}

/** Whether unpacked bytes match the checksum of the packed file. */
export const isIntact = (bytes: Uint8Array, { crc }: ZipEntry): boolean => crc32(bytes) === crc

function findEnd(file: Buffer): number {
  for (let at = file.length - 22; at >= Math.max(0, file.length - MOST_END); at--)
    if (file[at] === 0x50 && file.readUInt32LE(at) === END) return at
  return -1
}

function readEntry(file: Buffer, at: number, name: string): ZipEntry {
  return {
    name,
    encrypted: (file.readUInt16LE(at + 8) & 1) === 1,
    method: file.readUInt16LE(at + 10),
    crc: file.readUInt32LE(at + 16),
    packedSize: file.readUInt32LE(at + 20),
    offset: file.readUInt32LE(at + 42),
  }
}
