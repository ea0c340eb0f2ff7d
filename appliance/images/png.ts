/** Parses PNG (ISO/IEC 15948): chunks of a length, a name, data and a checksum. */

/** Chunks that change how the image looks. All others are dropped: texts, times, Exif, and unknown ones. */
const KEPT = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'sBIT',
  'bKGD',
  'pHYs',
  'acTL',
  'fcTL',
  'fdAT',
])

const SIGNATURE = 8
/** Bytes of length, name and checksum of a chunk. */
const AROUND = 12

export function readPng(bytes: Buffer): { width: number; height: number; body: Buffer } | undefined {
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  const parts = [bytes.subarray(0, SIGNATURE)]
  let at = SIGNATURE
  for (;;) {
    const length = bytes.readUInt32BE(at)
    const name = bytes.toString('latin1', at + 4, at + 8)
    const end = at + AROUND + length
    if (end > bytes.length) return undefined
    if (KEPT.has(name)) parts.push(bytes.subarray(at, end))
    // Data after the end isn't part of the image.
    if (name === 'IEND') break
    at = end
  }
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), body: Buffer.concat(parts) }
}
