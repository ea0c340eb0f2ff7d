import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { ReplyReader } from '../../../appliance/delivery/reply-reader.ts'
import { costOf } from '../../world/cost.ts'

/** Feeds text in chunks of `size`. Returns the replies, or the error. */
function read(text: string | Buffer, size = 1_000_000): unknown {
  const reader = new ReplyReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    const complaint = reader.feed(bytes.subarray(at, at + size))
    if (complaint) return complaint
  }
  return Array.from({ length: reader.waiting }, () => reader.take())
}

describe('ReplyReader with valid input', () => {
  const text =
    '220 mx\r\n250-first\r\n250-8BITMIME\r\n250 PIPELINING\r\n550-5.1.1 no\r\n550 5.1.1 such user\r\n354\r\n'
  const replies = [
    { code: 220, enhanced: null, text: 'mx' },
    { code: 250, enhanced: null, text: 'first\n8BITMIME\nPIPELINING' },
    { code: 550, enhanced: '5.1.1', text: 'no\nsuch user' },
    { code: 354, enhanced: null, text: '' },
  ]
  test('reads replies split into chunks of any size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), (size) => void expect(read(text, size)).toEqual(replies)),
    )
  })

  test('reads replies with bare line feeds', () => {
    expect(read(text.replaceAll('\r', ''))).toEqual(replies)
  })

  test('reads replies as UTF-8, or as Latin-1 if invalid', () => {
    expect(read('550 grüße\r\n')).toEqual([{ code: 550, enhanced: null, text: 'grüße' }])
    expect(read(Buffer.from('550 gr\xfc\xdfe\r\n', 'latin1'))).toEqual([
      { code: 550, enhanced: null, text: 'grüße' },
    ])
  })

  test('returns a reply only once it is complete', () => {
    expect(read('250-go\r\n250')).toEqual([])
    expect(read('250 ok')).toEqual([])
  })
})

describe('ReplyReader with invalid input', () => {
  test.each([
    ['HTTP/1.1 400 Bad Request\r\n', /not an SMTP reply: "HTTP/],
    ['\r\n', /not an SMTP reply/],
    ['199 x\r\n', /not an SMTP reply/],
    ['2500 x\r\n', /not an SMTP reply/],
    ['25\r\n', /not an SMTP reply/],
    ['250-a\r\n550 b\r\n', /two codes, 250 and 550/],
  ])('rejects %j, which is not an SMTP reply', (text, complaint) => {
    expect(read(text)).toMatch(complaint)
  })

  test.each([
    ['an endless line', 'x'.repeat(10_000_000), 65_536, /line of more than 4096 bytes/],
    ['a long line', `250 ${'x'.repeat(5000)}\r\n`, 1000, /line of more than 4096 bytes/],
    ['an endless reply', '250-x\r\n'.repeat(1_000_000), 65_536, /does not end/],
    ['endless blank lines', '\r\n'.repeat(5_000_000), 65_536, /not an SMTP reply/],
    ['endless unexpected replies', '250 ok\r\n'.repeat(1_000_000), 65_536, /unexpected replies/],
  ])('rejects %s, in less than a second', async (_, text, size, complaint) => {
    const cost = await costOf(() => expect(read(text, size)).toMatch(complaint))
    expect(cost).toBeLessThan(1000)
  })
})
