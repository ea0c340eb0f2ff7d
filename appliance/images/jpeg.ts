/**
 * Parses JPEG (ITU-T T.81): segments of a marker, a length and data. Scans are followed by coded data up to the next
 * marker.
 */

const START = 0xd8
const END = 0xd9
const SCAN = 0xda
const APP0 = 0xe0
const APP1 = 0xe1
const APP2 = 0xe2
const APP14 = 0xee
const APP15 = 0xef
const COMMENT = 0xfe

/** Frame headers, which contain the size: SOF0 to SOF15, without the three other markers among them. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** Drops application segments except those for color: JFIF, an ICC profile, and Adobe's. */
function isKept(marker: number, segment: Buffer): boolean {
  if (marker === COMMENT) return false
  if (marker < APP0 || marker > APP15) return true
  if (marker === APP2) return segment.toString('latin1', 4, 15) === 'ICC_PROFILE'
  return marker === APP0 || marker === APP14
}

/**
 * Returns the end of the coded data that begins at `at`. In this data, 0xff starts a marker unless a zero or a restart
 * marker follows.
 */
function afterScan(bytes: Buffer, at: number): number {
  let end = at
  for (;;) {
    end = bytes.indexOf(0xff, end)
    if (end < 0) return bytes.length
    const next = bytes[end + 1] ?? 0
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return end
    end += next === 0xff ? 1 : 2
  }
}

/**
 * Returns the orientation of a photo (TIFF tag 0x0112), 1 to 8. Returns 1 (not rotated) if the segment has no valid
 * value.
 */
function orientationOf(exif: Buffer): number {
  if (exif.toString('latin1', 4, 10) !== 'Exif\0\0') return 1
  const tiff = exif.subarray(10)
  const little = tiff.toString('latin1', 0, 2) === 'II'
  const short = (at: number): number =>
    at + 2 > tiff.length ? 0 : little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at)
  const long = (at: number): number =>
    at + 4 > tiff.length ? 0 : little ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at)
  const directory = long(4)
  for (let entry = 0; entry < Math.min(short(directory), 100); entry++) {
    const at = directory + 2 + 12 * entry
    if (short(at) === 0x0112) return Math.min(8, Math.max(1, short(at + 8)))
  }
  return 1
}

/** Builds an Exif segment with only the orientation. Without it, photos would be rotated. */
const exifOf = (orientation: number): Buffer =>
  Buffer.concat([
    Buffer.from('ffe10022457869660000', 'hex'),
    Buffer.from('4d4d002a00000008', 'hex'),
    Buffer.from(`00010112000300000001000${orientation}000000000000`, 'hex'),
  ])

export function readJpeg(bytes: Buffer): { width: number; height: number; body: Buffer } | undefined {
  const parts: Buffer[] = [Buffer.from([0xff, START])]
  let size: { width: number; height: number } | undefined
  let at = 2
  for (;;) {
    if (bytes.readUInt8(at) !== 0xff) return undefined
    const marker = bytes.readUInt8(at + 1)
    if (marker === 0xff) {
      at += 1
      continue
    }
    if (marker === END) break
    const segment = at + 2 + bytes.readUInt16BE(at + 2)
    const end = marker === SCAN ? afterScan(bytes, segment) : segment
    if (end > bytes.length || segment < at + 4) return undefined
    const content = bytes.subarray(at, end)
    if (isFrame(marker)) size ??= { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    const turned = marker === APP1 ? orientationOf(content) : 1
    if (turned > 1) parts.push(exifOf(turned))
    else if (isKept(marker, content)) parts.push(content)
    at = end
  }
  if (!size) return undefined
  // Data after the end isn't part of the image. Phones put videos there.
  return { ...size, body: Buffer.concat([...parts, Buffer.from([0xff, END])]) }
}
