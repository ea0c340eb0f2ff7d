import { describe, expect, test } from 'vitest'
import { cleanImage } from '../../../appliance/images/images.ts'
import { gif, jpeg, METADATA, png, SAMPLES, webp } from './samples.ts'

const said = (bytes: Buffer): string => {
  try {
    cleanImage(bytes)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

describe.each(SAMPLES)('cleaning %s', (type, bytes, width, height) => {
  test('detects the type of an image and removes its metadata', () => {
    expect(bytes.toString('latin1')).toContain(METADATA)
    const clean = cleanImage(bytes)
    expect(clean).toMatchObject({ type, width, height })
    const text = Buffer.from(clean.body).toString('latin1')
    for (const word of [METADATA, 'script', 'EXIF', 'XMP', 'tEXt']) expect(text).not.toContain(word)
  })

  test('does not change a clean image', () => {
    const { body } = cleanImage(bytes)
    expect(cleanImage(Buffer.from(body)).body).toEqual(body)
  })

  test('rejects an image truncated at any byte', () => {
    const body = Buffer.from(cleanImage(bytes).body)
    const accepted = Array.from({ length: body.length }, (_, end) => end).filter(
      (end) => said(body.subarray(0, end)) === 'accepted',
    )
    expect(accepted).toEqual([])
  })
})

test('removing metadata keeps the pixels', () => {
  expect(cleanImage(png()).body).toEqual(png(2, 1, { extra: false }))
  const scans = Buffer.from([0x12, 0xff, 0x00, 0xff, 0xd0, 0x34, 0xff, 0xda])
  expect(Buffer.from(cleanImage(jpeg()).body).includes(scans)).toBe(true)
  expect(Buffer.from(cleanImage(gif()).body).toString('latin1')).toContain('NETSCAPE2.0')
  expect(Buffer.from(cleanImage(webp()).body).readUInt8(20)).toBe(0)
})

test('removing metadata keeps the orientation of photos', () => {
  const { body } = cleanImage(jpeg(6))
  const exif = Buffer.from(body).indexOf('Exif')
  expect(exif).toBeGreaterThan(0)
  expect(Buffer.from(body).toString('latin1')).not.toContain(METADATA)
  // Cleaning the output again gives the same bytes.
  expect(cleanImage(Buffer.from(body)).body).toEqual(body)
  expect(Buffer.from(cleanImage(jpeg(1)).body).includes('Exif')).toBe(false)
})

test.each([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
  ['HTML', '<html><img src=x onerror=alert(1)>'],
  ['an empty file', ''],
  ['a PDF', '%PDF-1.7'],
  ['a RIFF that is no WebP', 'RIFF\x04\0\0\0WAVE'],
])('rejects %s as an image', (_, text) => {
  expect(said(Buffer.from(text, 'latin1'))).toContain('not an image that emails can show')
})

test('limits the dimensions and size of images', () => {
  expect(said(png(6000, 4000))).toBe('accepted')
  expect(said(png(6001, 1))).toContain('6001 × 1 pixels')
  expect(said(png(6000, 6000))).toContain('25 million')
  expect(said(png(0, 5))).toContain('not an image')
  expect(said(Buffer.alloc(2 * 1024 * 1024 + 1))).toContain('larger than 2097152 bytes')
})
