/** Parses GIF (87a, 89a): a palette, then blocks, each ending with an empty sub-block. */

const EXTENSION = 0x21
const IMAGE = 0x2c
const TRAILER = 0x3b
const GRAPHIC_CONTROL = 0xf9
const APPLICATION = 0xff

/** Returns the size of a palette in bytes. The flags say whether there is one. */
const paletteOf = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)

/** Returns the end of the sub-blocks that begin at `at`. */
function afterBlocks(bytes: Buffer, at: number): number {
  let end = at
  for (;;) {
    const length = bytes.readUInt8(end)
    end += 1 + length
    if (length === 0) return end
  }
}

/** Drops comments, texts and application data, except the number of repetitions. */
const isKept = (bytes: Buffer, at: number): boolean => {
  const label = bytes.readUInt8(at + 1)
  if (label === GRAPHIC_CONTROL) return true
  return label === APPLICATION && bytes.toString('latin1', at + 3, at + 14) === 'NETSCAPE2.0'
}

export function readGif(bytes: Buffer): { width: number; height: number; body: Buffer } | undefined {
  const size = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  let at = 13 + paletteOf(bytes.readUInt8(10))
  const parts = [bytes.subarray(0, at)]
  for (;;) {
    const kind = bytes.readUInt8(at)
    if (kind === TRAILER) break
    if (kind !== EXTENSION && kind !== IMAGE) return undefined
    // An image has its own palette and the code size before its data.
    const data = kind === EXTENSION ? at + 2 : at + 10 + paletteOf(bytes.readUInt8(at + 9)) + 1
    const end = afterBlocks(bytes, data)
    if (end > bytes.length) return undefined
    if (kind === IMAGE || isKept(bytes, at)) parts.push(bytes.subarray(at, end))
    at = end
  }
  return { ...size, body: Buffer.concat([...parts, Buffer.from([TRAILER])]) }
}
