/** Reads uploaded images: detects their type from the bytes, and removes metadata. Pure. */
import { IMAGE_TYPES, type ImageType, MAX_IMAGE } from '../mail/image.ts'
import { refuse } from '../mail/refusals.ts'
import { readGif } from './gif.ts'
import { readJpeg } from './jpeg.ts'
import { readPng } from './png.ts'
import { readWebp } from './webp.ts'

/** An image without its metadata. */
export interface CleanImage {
  type: ImageType
  /** Pixels. */
  width: number
  height: number
  body: Uint8Array
}

/** Reads one format. Throws a RangeError if the bytes end too soon. Returns undefined if they are invalid. */
type Reader = (bytes: Buffer) => Omit<CleanImage, 'type'> | undefined

const startsWith = (bytes: Buffer, start: string, at = 0): boolean =>
  bytes.toString('latin1', at, at + start.length) === start

const FORMATS: { type: ImageType; is: (bytes: Buffer) => boolean; read: Reader }[] = [
  { type: 'image/png', is: (bytes) => startsWith(bytes, '\x89PNG\r\n\x1a\n'), read: readPng },
  { type: 'image/jpeg', is: (bytes) => startsWith(bytes, '\xff\xd8\xff'), read: readJpeg },
  {
    type: 'image/gif',
    is: (bytes) => startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a'),
    read: readGif,
  },
  {
    type: 'image/webp',
    is: (bytes) => startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8),
    read: readWebp,
  },
]

/**
 * Reads an image regardless of its declared type, and removes its metadata: place and time of a photo, camera,
 * thumbnails and comments. Refuses: `image_invalid`, `image_too_large`, `body_too_large`.
 */
export function cleanImage(bytes: Buffer): CleanImage {
  if (bytes.length > MAX_IMAGE.bytes) throw refuse('body_too_large', { limit: MAX_IMAGE.bytes })
  const format = FORMATS.find(({ is }) => is(bytes))
  if (!format) throw refuse('image_invalid', { types: Object.values(IMAGE_TYPES).join(', ') })
  const read = readWhole(format.read, bytes)
  if (!read || read.width < 1 || read.height < 1)
    throw refuse('image_invalid', { types: Object.values(IMAGE_TYPES).join(', ') })
  const { width, height } = read
  if (Math.max(width, height) > MAX_IMAGE.side || width * height > MAX_IMAGE.pixels)
    throw refuse('image_too_large', { width, height, side: MAX_IMAGE.side })
  return { ...read, type: format.type }
}

function readWhole(read: Reader, bytes: Buffer): ReturnType<Reader> {
  try {
    return read(bytes)
  } catch (error) {
    // Node throws this when the bytes end in the middle of a number.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
