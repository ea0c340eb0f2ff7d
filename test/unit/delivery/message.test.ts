import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dotStuffed, prepare, withCrlf } from '../../../appliance/delivery/message.ts'

const wire = (text: string): string => Buffer.concat([...dotStuffed(Buffer.from(text))]).toString()

describe('dot stuffing', () => {
  test.each([
    ['', '.\r\n'],
    ['a\r\n', 'a\r\n.\r\n'],
    ['a', 'a\r\n.\r\n'],
    ['.\r\n', '..\r\n.\r\n'],
    ['..\r\n.a\r\nb.\r\n', '...\r\n..a\r\nb.\r\n.\r\n'],
    ['a\r\n.', 'a\r\n..\r\n.\r\n'],
  ])('%j becomes %j', (text, expected) => {
    expect(wire(text)).toBe(expected)
  })

  test('a receiver gets every message back byte for byte, across the limits of blocks too', () => {
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

  test('ten megabytes of dots take well under a second', () => {
    const started = performance.now()
    let size = 0
    for (const block of dotStuffed(Buffer.alloc(9_999_999, '.\r\n'))) size += block.length
    expect(size).toBe(9_999_999 + 3_333_333 + 3)
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('line ends', () => {
  test('what is composed here is not copied', () => {
    const message = Buffer.from('a: b\r\n\r\nc\r\n')
    expect(withCrlf(message).buffer).toBe(message.buffer)
  })

  test.each([
    ['a\nb\n', 'a\r\nb\r\n'],
    ['a\rb\r', 'a\r\nb\r\n'],
    ['a\r\r\nb', 'a\r\n\r\nb\r\n'],
    ['a\n.\nMAIL FROM:<x>\n', 'a\r\n.\r\nMAIL FROM:<x>\r\n'],
    ['\n', '\r\n'],
    ['no end', 'no end\r\n'],
  ])('%j becomes %j', (text, expected) => {
    expect(withCrlf(Buffer.from(text)).toString()).toBe(expected)
  })

  test('8-bit bytes are seen, and where', () => {
    const seen = (text: string): boolean[] => {
      const { eightBit, eightBitHeader } = prepare(Buffer.alloc(0), Buffer.from(text))
      return [eightBit, eightBitHeader]
    }
    expect(seen('a: b\r\n\r\nc\r\n')).toEqual([false, false])
    expect(seen('a: b\r\n\r\nü\r\n')).toEqual([true, false])
    expect(seen('a: ü\r\n\r\nc\r\n')).toEqual([true, true])
  })
})
