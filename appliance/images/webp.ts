/** Parses WebP (RFC 9649): chunks of a name, a length and data, in a RIFF container. */

const KEPT = new Set(['VP8 ', 'VP8L', 'VP8X', 'ANIM', 'ANMF', 'ALPH', 'ICCP'])
/** The flags of VP8X for Exif and XMP. */
const METADATA_BITS = 0x08 | 0x04
const HEADER = 12

/** Returns the size from the first chunk that has it; undefined if the chunk is invalid. */
function sizeOf(name: string, chunk: Buffer): { width: number; height: number } | undefined {
  if (name === 'VP8X') return { width: chunk.readUIntLE(12, 3) + 1, height: chunk.readUIntLE(15, 3) + 1 }
  if (name === 'VP8 ' && chunk.toString('hex', 11, 14) === '9d012a')
    return { width: chunk.readUInt16LE(14) & 0x3fff, height: chunk.readUInt16LE(16) & 0x3fff }
  if (name === 'VP8L' && chunk.readUInt8(8) === 0x2f) {
    const bits = chunk.readUInt32LE(9)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return undefined
}

export function readWebp(bytes: Buffer): { width: number; height: number; body: Buffer } | undefined {
  const whole = 8 + bytes.readUInt32LE(4)
  if (whole > bytes.length) return undefined
  const parts: Buffer[] = []
  let size: { width: number; height: number } | undefined
  for (let at = HEADER; at < whole;) {
    const name = bytes.toString('latin1', at, at + 4)
    const length = bytes.readUInt32LE(at + 4)
    // Chunks have an even length, but the last may lack its padding.
    const end = at + 8 + length + (length % 2)
    if (at + 8 + length > whole) return undefined
    const chunk = Buffer.from(bytes.subarray(at, Math.min(end, whole)))
    size ??= sizeOf(name, chunk)
    if (name === 'VP8X') chunk.writeUInt8(chunk.readUInt8(8) & ~METADATA_BITS, 8)
    if (KEPT.has(name)) parts.push(chunk)
    at = end
  }
  if (!size) return undefined
  const head = Buffer.from(bytes.subarray(0, HEADER))
  const body = Buffer.concat([head, ...parts])
  body.writeUInt32LE(body.length - 8, 4)
  return { ...size, body }
}
