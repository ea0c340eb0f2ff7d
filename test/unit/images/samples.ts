/** Small images with metadata, as cameras and programs write them. */
import { crc32, deflateSync } from 'node:zlib'

const SECRET = 'GPS 52.5200 13.4050'

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** Returns a PNG with a text chunk, and data after its end. */
export function png(width = 2, height = 1, { extra = true } = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const pixels = deflateSync(Buffer.alloc(Math.min(height, 4) * (Math.min(width, 4) + 1)))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...(extra ? [chunk('tEXt', Buffer.from(`Location\0${SECRET}`)), chunk('eXIf', Buffer.from(SECRET))] : []),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
    ...(extra ? [Buffer.from(`<script>${SECRET}</script>`)] : []),
  ])
}

const segment = (marker: number, data: Buffer): Buffer => {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([head, data])
}

/**
 * Returns a JPEG of 3 × 2 pixels with an Exif segment, a comment, and a video after its end.
 * @param orientation the Exif orientation
 */
export function jpeg(orientation = 1): Buffer {
  const entry = Buffer.from(`011200030000000100${orientation.toString(16).padStart(2, '0')}0000`, 'hex')
  const tiff = Buffer.concat([Buffer.from('4d4d002a000000080001', 'hex'), entry, Buffer.alloc(4)])
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x02\0\0\x01\0\x01\0\0', 'latin1')),
    segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff, Buffer.from(SECRET)])),
    segment(0xfe, Buffer.from(SECRET)),
    segment(0xc0, Buffer.from('08000200030101110011', 'hex')),
    segment(0xda, Buffer.from('0101003f00', 'hex')),
    // A stuffed byte and a restart marker don't end a scan; a comment between two scans is a segment.
    Buffer.from([0x12, 0xff, 0x00, 0xff, 0xd0, 0x34]),
    segment(0xfe, Buffer.from(SECRET)),
    segment(0xda, Buffer.from('0101003f00', 'hex')),
    Buffer.from([0x56, 0xff, 0xd9]),
    Buffer.from(SECRET),
  ])
}

/** Returns an animated GIF of 5 × 4 pixels with a comment and an application extension. */
export const gif = (): Buffer =>
  Buffer.concat([
    Buffer.from('GIF89a\x05\0\x04\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1'),
    Buffer.from('\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0', 'latin1'),
    Buffer.from(`\x21\xfe${String.fromCharCode(SECRET.length)}${SECRET}\0`, 'latin1'),
    Buffer.from(`\x21\xff\x0bXMP DataXMP${String.fromCharCode(SECRET.length)}${SECRET}\0`, 'latin1'),
    Buffer.from('\x21\xf9\x04\0\x0a\0\0\0\x2c\0\0\0\0\x05\0\x04\0\0\x02\x02\x44\x01\0\x3b', 'latin1'),
    Buffer.from(SECRET),
  ])

const riff = (name: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

/** Returns a WebP of 7 × 6 pixels with Exif and XMP. */
export function webp(): Buffer {
  const extended = Buffer.from([0x0c, 0, 0, 0, 6, 0, 0, 5, 0, 0])
  const chunks = Buffer.concat([
    riff('VP8X', extended),
    riff('VP8L', Buffer.from([0x2f, 6, 0x40, 1, 0, 9])),
    riff('EXIF', Buffer.from(SECRET)),
    riff('XMP ', Buffer.from(SECRET)),
  ])
  return riff('RIFF', Buffer.concat([Buffer.from('WEBP'), chunks]))
}

/** Every image, with its type and size. */
export const SAMPLES = [
  ['image/png', png(), 2, 1],
  ['image/jpeg', jpeg(), 3, 2],
  ['image/gif', gif(), 5, 4],
  ['image/webp', webp(), 7, 6],
] as const

/** Text that no cleaned image may contain. */
export const METADATA = SECRET
