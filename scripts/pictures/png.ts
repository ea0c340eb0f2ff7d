/** Shrinks screenshots by using a palette of 256 colors instead of 24 bits per pixel (PNG, ISO/IEC 15948). */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const MOST_COLOURS = 256

interface Dots {
  width: number
  height: number
  /** Three bytes per pixel, row by row. */
  rgb: Uint8Array
}

/**
 * Returns the same picture in fewer bytes. Replaces colors outside the palette with the nearest one. Throws on anything
 * but 8-bit RGB or RGBA.
 */
export function compressPng(png: Buffer): Buffer {
  const { width, height, rgb } = decode(png)
  const palette = paletteOf(rgb)
  const index = indexer(palette)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0, from = 0, to = 0; y < height; y++) {
    rows[to++] = 0 // No filter, because the indices of adjacent pixels are unrelated.
    for (let x = 0; x < width; x++, from += 3)
      rows[to++] = index((rgb[from]! << 16) | (rgb[from + 1]! << 8) | rgb[from + 2]!)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))
  const parts = [
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
  ]
  return Buffer.concat([SIGNATURE, ...parts, chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

function decode(png: Buffer): Dots {
  const header = png.subarray(16, 29)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const channels = header[9] === 2 ? 3 : header[9] === 6 ? 4 : 0
  if (header[8] !== 8 || channels === 0 || header[12] !== 0)
    throw new Error('expected an 8-bit RGB or RGBA picture')
  const data: Buffer[] = []
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const rows = unfilter(inflateSync(Buffer.concat(data)), width * channels, channels)
  const rgb = new Uint8Array(width * height * 3)
  for (let from = 0, to = 0; from < rows.length; from += channels, to += 3)
    rgb.set(rows.subarray(from, from + 3), to)
  return { width, height, rgb }
}

/** Reverses the five filters of clause 9. */
function unfilter(raw: Buffer, stride: number, step: number): Uint8Array {
  const height = raw.length / (stride + 1)
  const rows = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x >= step ? rows[at - step]! : 0
      const up = y > 0 ? rows[at - stride]! : 0
      const corner = x >= step && y > 0 ? rows[at - stride - step]! : 0
      const guess = [0, left, up, (left + up) >> 1, filter === 4 ? paeth(left, up, corner) : 0][filter]!
      rows[at] = raw[y * (stride + 1) + 1 + x]! + guess
    }
  }
  return rows
}

function paeth(a: number, b: number, c: number): number {
  const guess = a + b - c
  const [pa, pb, pc] = [Math.abs(guess - a), Math.abs(guess - b), Math.abs(guess - c)]
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c
}

/** Number of palette entries reserved for groups of similar colors. The rest are for the most common colors. */
const GROUPS = 200

/** Groups colors by the upper four bits of each channel. */
const groupOf = (colour: number) => colour & 0xf0f0f0

/**
 * Builds the palette: first the most common color of each group of similar colors, then the most common of the rest.
 * Without groups, shades of gray would fill the palette, and small colored text would turn gray.
 */
function paletteOf(rgb: Uint8Array): number[] {
  const counts = new Map<number, number>()
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour)
  const groups = new Map<number, number>()
  for (const colour of sorted) if (!groups.has(groupOf(colour))) groups.set(groupOf(colour), colour)
  const chosen = new Set([...groups.values()].slice(0, GROUPS))
  for (const colour of sorted) if (chosen.size < MOST_COLOURS) chosen.add(colour)
  return [...chosen]
}

/** Returns a function that maps a color to the index of the nearest palette entry. */
function indexer(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, i) => [colour, i]))
  const far = (a: number, b: number) =>
    ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2
  return (colour) => {
    const found = known.get(colour)
    if (found !== undefined) return found
    let best = 0
    for (let i = 1; i < palette.length; i++)
      if (far(palette[i]!, colour) < far(palette[best]!, colour)) best = i
    known.set(colour, best)
    return best
  }
}
