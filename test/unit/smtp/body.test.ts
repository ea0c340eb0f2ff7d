import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Body } from '../../../appliance/smtp/body.ts'

interface Taken {
  message: string
  refusal: string | null
  size: number
  ended: boolean
  /** Bytes after the final dot, which are the client's next command. */
  behind: string
}

/** Feeds `text` to a body in `pieces`; the last piece is the rest. */
function take(text: string, pieces: readonly number[] = [], dots = true): Taken {
  const kept: Buffer[] = []
  const sink = {
    add: (piece: Uint8Array) => void kept.push(Buffer.from(piece)),
    discard: () => void (kept.length = 0),
  }
  const body = new Body({ limit: 5000, line: 998, dots }, sink)
  const told = (ended: boolean, behind: Buffer): Taken => {
    body.end()
    const { size, refusal } = body
    const message = refusal ? '' : Buffer.concat(kept).toString('latin1')
    return { message, refusal: refusal?.message ?? null, size, ended, behind: behind.toString('latin1') }
  }
  let rest = Buffer.from(text, 'latin1')
  for (const size of [...pieces, rest.length]) {
    const { used, ended } = body.feed(rest.subarray(0, size))
    if (ended) return told(true, rest.subarray(used))
    rest = rest.subarray(size)
  }
  return told(false, rest)
}

const wrong = (what: string): string => take(`a${what}b\r\n.\r\n`).refusal!

describe('the SMTP message body', () => {
  test('the body ends at CRLF.CRLF, which is not part of the message, and its dots are unstuffed', () => {
    expect(take('..one\r\n.two\r\nthree . four\r\n.\r\nQUIT\r\n')).toEqual({
      message: '.one\r\ntwo\r\nthree . four\r\n',
      refusal: null,
      size: 25,
      ended: true,
      behind: 'QUIT\r\n',
    })
    expect(take('.\r\n')).toMatchObject({ message: '', ended: true, behind: '' })
    expect(take('.one\r\n.\r\n', [], false)).toMatchObject({ message: '.one\r\n.\r\n', ended: false })
  })

  test.each(['\n', '\r', '\0', '\n.\r\n', '\r.\r\n'])(
    'a body with %j is rejected, but read to its end',
    (what) => {
      expect(take(`a${what}b\r\n.\r\nRSET\r\n`)).toMatchObject({
        message: '',
        refusal: wrong(what),
        ended: true,
        behind: 'RSET\r\n',
      })
      expect(wrong(what)).toContain(what.startsWith('\n') ? 'LF' : what.startsWith('\r') ? 'CR' : 'NUL')
    },
  )

  test('a body may have lines of up to 998 octets', () => {
    expect(take(`${'x'.repeat(998)}\r\n..${'x'.repeat(997)}\r\n.\r\n`).refusal).toBeNull()
    expect(take(`${'x'.repeat(999)}\r\n.\r\n`).refusal).toContain('998')
    expect(take(`${'\t'.repeat(999)}\r\n.\r\n`).refusal).toContain('998')
  })

  test('a rejected body is read exactly to its end, and all its octets count', () => {
    expect(take('a\nb\r\n..c\r\n.\r\nRSET\r\n')).toMatchObject({ size: 10, ended: true, behind: 'RSET\r\n' })
    expect(take('a\nb\r\n..\r\n', [3, 3, 2])).toMatchObject({ size: 9, ended: false })
    expect(take('a\n.\r\nb', [], false)).toMatchObject({ size: 6, ended: false })
  })

  test('a body above the maximum size is rejected', () => {
    const line = `${'x'.repeat(98)}\r\n`
    expect(take(`${line.repeat(50)}.\r\n`)).toMatchObject({ refusal: null, size: 5000 })
    expect(take(`${line.repeat(50)}\r\n.\r\n`)).toMatchObject({ message: '', ended: true })
    expect(take(`${line.repeat(50)}\r\n.\r\n`).refusal).toContain('5000')
  })

  test('a body is parsed the same however it is split into chunks', () => {
    const part = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('.', 'a', ' ', '\t', '\xe4', '\x0e', '\x0b') },
      { weight: 4, arbitrary: fc.constant('\r\n') },
      { weight: 1, arbitrary: fc.constantFrom('\r', '\n', '\0', '\r\n.\r\n', 'x'.repeat(400)) },
    )
    const text = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(''))
    const pieces = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 80 })
    fc.assert(
      fc.property(text, pieces, fc.boolean(), (message, sizes, dots) => {
        const single = Array.from({ length: message.length }, () => 1)
        expect(take(message, sizes, dots)).toEqual(take(message, single, dots))
        expect(take(message, [], dots)).toEqual(take(message, single, dots))
      }),
      { numRuns: 2000 },
    )
  })
})
