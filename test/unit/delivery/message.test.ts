import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { dotStuffed, prepareMessage, updateDate, convertToCrlf } from '../../../appliance/delivery/message.ts'
import { costOf } from '../../world/cost.ts'

const wire = (text: string): string => Buffer.concat([...dotStuffed(Buffer.from(text))]).toString()

describe('dot stuffing', () => {
  test.each([
    ['', '.\r\n'],
    ['a\r\n', 'a\r\n.\r\n'],
    ['a', 'a\r\n.\r\n'],
    ['.\r\n', '..\r\n.\r\n'],
    ['..\r\n.a\r\nb.\r\n', '...\r\n..a\r\nb.\r\n.\r\n'],
    ['a\r\n.', 'a\r\n..\r\n.\r\n'],
  ])('dot stuffing turns %j into %j', (text, expected) => {
    expect(wire(text)).toBe(expected)
  })

  test('dot stuffing is reversible byte for byte, also at block boundaries', () => {
    const unstuff = (text: string): string => text.slice(0, -3).replaceAll(/^\./gm, '')
    fc.assert(
      fc.property(
        fc.integer({ min: 65_520, max: 65_540 }),
        fc.array(fc.constantFrom('.', '..', 'a', ''), { maxLength: 20 }),
        (size, lines) => {
          const text = `${'x'.repeat(size)}\r\n${lines.map((line) => `${line}\r\n`).join('')}`
          expect(unstuff(wire(text))).toBe(text)
        },
      ),
    )
  })

  test('dot stuffing of ten megabytes of dots takes less than 5 seconds', async () => {
    let size = 0
    const cost = await costOf(() => {
      for (const block of dotStuffed(Buffer.alloc(9_999_999, '.\r\n'))) size += block.length
    })
    expect(size).toBe(9_999_999 + 3_333_333 + 3)
    expect(cost).toBeLessThan(5000)
  })
})

describe('line endings', () => {
  test('a message that already has CRLF line endings is not copied', async () => {
    const message = Buffer.from('a: b\r\n\r\nc\r\n')
    expect((await convertToCrlf(message)).buffer).toBe(message.buffer)
  })

  test.each([
    ['a\nb\n', 'a\r\nb\r\n'],
    ['a\rb\r', 'a\r\nb\r\n'],
    ['a\r\r\nb', 'a\r\n\r\nb\r\n'],
    ['a\n.\nMAIL FROM:<x>\n', 'a\r\n.\r\nMAIL FROM:<x>\r\n'],
    ['\n', '\r\n'],
    ['no end', 'no end\r\n'],
  ])('normalizes line endings: %j becomes %j', async (text, expected) => {
    expect((await convertToCrlf(Buffer.from(text))).toString()).toBe(expected)
  })

  test('normalizes the line endings of a large message in several turns of the event loop', async () => {
    const line = `${'x'.repeat(76)}\r\n`
    const message = Buffer.from(line.repeat(500_000))
    let turns = 0
    const count = (): void => {
      turns++
      immediate = setImmediate(count)
    }
    let immediate = setImmediate(count)
    expect((await convertToCrlf(message)).buffer).toBe(message.buffer)
    clearImmediate(immediate)
    expect(turns).toBeGreaterThanOrEqual(Math.floor(message.length / (1024 * 1024)))
    const bare = Buffer.concat([message, Buffer.from('bare\nend\r\n')])
    expect((await convertToCrlf(bare)).subarray(-11).toString()).toBe('bare\r\nend\r\n')
  })

  test('prepare() reports 8-bit bytes, and whether the header contains any', async () => {
    const seen = async (text: string): Promise<boolean[]> => {
      const { eightBit, eightBitHeader } = await prepareMessage(Buffer.alloc(0), Buffer.from(text))
      return [eightBit, eightBitHeader]
    }
    expect(await seen('a: b\r\n\r\nc\r\n')).toEqual([false, false])
    expect(await seen('a: b\r\n\r\nü\r\n')).toEqual([true, false])
    expect(await seen('a: ü\r\n\r\nc\r\n')).toEqual([true, true])
  })
})

describe('redate', () => {
  const instant = Date.UTC(2026, 10, 5, 6, 7, 8)
  const redated = (text: string): string => updateDate(Buffer.from(text), instant).toString()

  test('replaces the Date header, but not the same text in the body', () => {
    const old = 'Date: Wed, 18 Nov 2026 12:00:00 +0000'
    expect(redated(`From: a@b.example\r\n${old}\r\nSubject: x\r\n\r\n${old}\r\n`)).toBe(
      `From: a@b.example\r\nDate: Thu, 05 Nov 2026 06:07:08 +0000\r\nSubject: x\r\n\r\n${old}\r\n`,
    )
  })

  test.each([
    'From: a\r\n\r\nbody\r\nDate: Wed, 18 Nov 2026 12:00:00 +0000\r\n',
    'From: a\r\nDate: Wed, 18 Nov 2026 12:00:00 +0000 (UTC)\r\n\r\n',
    'From: a\r\nDate: 18 Nov 2026 12:00:00 +0000\r\n\r\n',
    'From: a\r\n',
    '',
  ])('leaves a message unchanged if it has no Date header in our own format: %j', (text) => {
    expect(redated(text)).toBe(text)
  })
})
