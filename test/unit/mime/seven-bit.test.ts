import { execFileSync } from 'node:child_process'
import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { isSevenBit, convertToSevenBit } from '../../../appliance/mime/seven-bit.ts'

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const lines = (...all: string[]): string => all.map((line) => `${line}\r\n`).join('')

async function convert(message: string | Buffer): Promise<string> {
  const converted = await convertToSevenBit(Buffer.from(message))
  if (converted.kind === 'impossible') throw new Error(converted.why)
  return latin1(converted.message)
}

const whyNot = async (message: string): Promise<string> => {
  const converted = await convertToSevenBit(Buffer.from(message))
  return converted.kind === 'impossible' ? converted.why : latin1(converted.message)
}

describe('converting a message for a server without 8BITMIME', () => {
  test('converts text to quoted-printable', async () => {
    const message = lines(
      'Subject: x',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Grüße = ',
      '.',
    )
    expect(await convert(message)).toBe(
      lines(
        'Subject: x',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Gr=C3=BC=C3=9Fe =3D=20',
        '.',
      ),
    )
  })

  test('converts text in another script to base64, and keeps the position of the encoding field', async () => {
    const message = lines(
      'Content-Transfer-Encoding: 8bit',
      'Content-Type: text/plain; charset=utf-8',
      '',
      '漢字漢字',
    )
    expect(await convert(message)).toBe(
      lines(
        'Content-Transfer-Encoding: base64',
        'Content-Type: text/plain; charset=utf-8',
        'MIME-Version: 1.0',
        '',
        Buffer.from('漢字漢字\r\n').toString('base64'),
      ),
    )
  })

  test('returns the same buffer for 7-bit text', async () => {
    const message = Buffer.from('Subject: x\r\n\r\nHello\r\n')
    const converted = await convertToSevenBit(message)
    expect(converted).toEqual({ kind: 'converted', message })
    expect(converted.kind === 'converted' && converted.message).toBe(message)
  })

  test('keeps the structure, and converts only 8-bit parts within multiparts and messages', async () => {
    const inner = lines('From: Zoë <z@a.test>', 'Subject: x', '', 'Grüße aus der Stadt')
    const message = lines(
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary="b 1"',
      'Content-Transfer-Encoding: 8bit',
      '',
      'Für alte Programme',
      '--b 1',
      '',
      'ascii',
      '--b 1  ',
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: 8BIT',
      '',
    )
    const rest = lines(
      '',
      '--b 1',
      'Content-Type: image/png; name="ü.png"',
      'Content-Transfer-Encoding: binary',
      '',
      'ÿ',
      '--b 1--',
    )
    expect(await convert(message + inner.trimEnd() + rest)).toBe(
      lines(
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary="b 1"',
        'Content-Transfer-Encoding: 7bit',
        '',
        'F??r alte Programme',
        '--b 1',
        '',
        'ascii',
        '--b 1  ',
        'Content-Type: message/rfc822',
        'Content-Transfer-Encoding: 7bit',
        '',
        'From: =?utf-8?B?Wm/Dqw==?=',
        ' <z@a.test>',
        'Subject: x',
        'MIME-Version: 1.0',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Gr=C3=BC=C3=9Fe aus der Stadt',
        '--b 1',
        'Content-Type: image/png;',
        " name*=utf-8''%C3%BC.png",
        'Content-Transfer-Encoding: base64',
        '',
        'w78=',
        '--b 1--',
      ),
    )
  })

  test('keeps existing encodings, and fixes invalid octets in them', async () => {
    const quoted = lines(
      'Content-Transfer-Encoding: Quoted-Printable',
      'MIME-Version: 1.0',
      '',
      'a=C3=BC ü=',
      '=3D \t',
      'b=',
    )
    expect(await convert(quoted)).toBe(
      lines(
        'Content-Transfer-Encoding: quoted-printable',
        'MIME-Version: 1.0',
        '',
        'a=C3=BC =C3=BC=3D',
        'b=',
      ),
    )
    const base64 = lines(
      'Content-Type: a/b',
      'Content-Transfer-Encoding: base64',
      'MIME-Version: 1.0',
      '',
      'SGVs\xff',
      'bG8=',
    )
    expect(await convert(Buffer.from(base64, 'latin1'))).toBe(
      lines('Content-Type: a/b', 'Content-Transfer-Encoding: base64', 'MIME-Version: 1.0', '', 'SGVsbG8='),
    )
  })

  test.each([
    [
      'a signed part',
      lines('Content-Type: multipart/signed; boundary=b', '', '--b', '', 'ü', '--b--'),
      'it has 8-bit text inside a signed or encrypted part, which a conversion would break',
    ],
    [
      'an encrypted part',
      lines(
        'Content-Type: multipart/mixed; boundary=a',
        '',
        '--a',
        'Content-Type: multipart/encrypted; boundary=b',
        '',
        '--b',
        '',
        'ü',
        '--b--',
        '--a--',
      ),
      'it has 8-bit text inside a signed or encrypted part, which a conversion would break',
    ],
    [
      'a non-ASCII address in an attached message',
      lines('Content-Type: message/rfc822', '', 'To: zoë@a.test', '', 'x'),
      'the field To cannot be encoded as short ASCII lines',
    ],
    [
      'an unknown encoding',
      lines('Content-Type: text/plain', 'Content-Transfer-Encoding: x-uuencode', '', 'ü'),
      'a part of type text/plain has the unknown encoding x-uuencode',
    ],
    [
      'a delivery status with 8-bit text',
      lines('Content-Type: message/delivery-status', '', 'Diagnostic-Code: smtp; ü'),
      'a part of type message/delivery-status must not be encoded',
    ],
    [
      'a multipart without delimiters',
      lines('Content-Type: multipart/mixed; boundary=b', '', 'ü'),
      'a part of type multipart/mixed has no delimiters',
    ],
    [
      'two Content-Type fields',
      lines('Content-Type: text/plain', 'Content-Type: text/html', '', 'ü'),
      'a part has two Content-Type or Content-Transfer-Encoding fields',
    ],
    ['an incomplete part header', 'Subject: x\r\nü\r\n', 'a part has a header that is not well-formed'],
    [
      'parts that are nested too deeply',
      `${Array.from({ length: 30 }, (_, n) => lines(`Content-Type: multipart/mixed; boundary=b${n}-`, '', `--b${n}-`)).join('')}\r\nü\r\n`,
      'its parts are nested too deeply',
    ],
  ])('conversion fails with %s', async (_, message, why) => {
    expect(await whyNot(message)).toBe(why)
  })

  test('does not block the event loop for many megabytes', async () => {
    const body = `${'Grüße '.repeat(100)}\r\n`.repeat(20_000)
    const message = Buffer.from(lines('Content-Type: text/plain; charset=utf-8', '') + body)
    let turns = 0
    let running = true
    const beside = (async () => {
      for (; running; turns++) await new Promise((resolve) => setImmediate(resolve))
    })()
    const converted = await convertToSevenBit(message)
    running = false
    await beside
    expect(converted.kind).toBe('converted')
    expect(turns).toBeGreaterThan(message.length / (57 * 8192) - 1)
  })
})

/**
 * A script for Python's own mail package: prints the leaves of pairs of messages with all headers, and their bytes in
 * hex.
 */
const JUDGE = `
import sys, json, email, email.header, email.policy
class Utf8(email.policy.Compat32):
    def header_fetch_parse(self, name, value):
        return value.encode('ascii', 'surrogateescape').decode('utf-8')
def words(value):
    found = email.header.decode_header(value)
    return ''.join(s if isinstance(s, str) else s.decode(charset or 'raw-unicode-escape') for s, charset in found)
def leaves(hex):
    found = []
    for part in email.message_from_bytes(bytes.fromhex(hex), policy=Utf8()).walk():
        headers = [words(part.get(name, '')) for name in ('Subject', 'Content-Description')]
        if part.is_multipart():
            found.append([part.get_content_type(), headers])
        else:
            found.append([part.get_content_type(), headers, part.get_filename(), part.get_payload(decode=True).hex()])
    return found
for line in sys.stdin:
    print(json.dumps([leaves(hex) for hex in json.loads(line)]))
`

function judge(pairs: [Buffer, Buffer][]): unknown[][] {
  const input = pairs.map((pair) => JSON.stringify(pair.map((one) => one.toString('hex')))).join('\n')
  const output = execFileSync('python3', ['-c', JUDGE], { input, maxBuffer: 1 << 28 }).toString()
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown[])
}

/** Texts that break encoders, in lines of at most 998 bytes. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '=',
        '=3D',
        '.',
        '\r\n',
        '\r\n.',
        '\r\nFrom ',
        ' \r\n',
        '\t',
        '\f',
        '\v',
        'ü',
        '漢字',
        '🚀',
        'x'.repeat(80),
        '--b',
      ),
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((one) => one.replaceAll(/[\r\n\0\p{Cs}]/gu, ' ')),
    ),
    { maxLength: 30 },
  )
  .map((all) => all.join(''))
  .filter((all) => all.split('\r\n').every((line) => Buffer.byteLength(line) <= 998))

const octets = fc.uint8Array({ maxLength: 200 }).map((bytes) => latin1(bytes).replaceAll(/[\0\r\n]/g, '\r\n'))

const field = (name: string) =>
  fc
    .constantFrom('', `${name}: plain`, `${name}: für Zoë`, `${name}: =?utf-8?q?x?= é`)
    .map((one) => (one === '' ? [] : [one]))

type Body = { header: string[]; body: string }
const utf8 = (one: string): string => Buffer.from(one).toString('latin1')

const leaf: fc.Arbitrary<Body> = fc
  .tuple(
    fc.oneof(
      text.map((one) => ({ type: 'Content-Type: text/plain; charset=utf-8', body: utf8(one) })),
      text.map((one) => ({ type: 'content-type:text/html;\r\n\tcharset=UTF-8', body: utf8(one) })),
      octets.map((body) => ({ type: `Content-Type: application/x-own; name="${utf8('ü')}.bin"`, body })),
    ),
    fc.constantFrom('', 'Content-Transfer-Encoding: 8bit', 'content-transfer-encoding:  BINARY'),
    field('Content-Description'),
    fc.constantFrom(
      '',
      'Content-Disposition: attachment; filename=a.bin',
      'Content-Disposition: attachment;\r\n filename="ü ö.bin"',
    ),
  )
  .map(([{ type, body }, encoding, description, disposition]) => ({
    header: [type, encoding, ...description, disposition]
      .filter((one) => one !== '')
      .map((one) => (one === type ? one : utf8(one))),
    body,
  }))

const { entity } = fc.letrec<{ entity: Body; multipart: Body; message: Body }>((tie) => ({
  entity: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('multipart'), tie('message')),
  multipart: fc
    .tuple(
      fc.constantFrom('mixed', 'alternative', 'related'),
      fc.nat(1e9),
      fc.array(tie('entity'), { minLength: 1, maxLength: 4 }),
    )
    .map(([subtype, id, parts]) => {
      const boundary = `=_${id}`
      const inner = parts.map(
        ({ header, body }) => `--${boundary}\r\n${[...header, '', body].join('\r\n')}\r\n`,
      )
      return {
        header: [`Content-Type: multipart/${subtype}; boundary="${boundary}"`],
        body: `${inner.join('')}--${boundary}--\r\n`,
      }
    }),
  message: fc.tuple(tie('entity'), field('Subject')).map(([{ header, body }, subject]) => ({
    header: ['Content-Type: message/rfc822'],
    body: ['From: a@b.test', ...subject.map(utf8), 'MIME-Version: 1.0', ...header, '', body].join('\r\n'),
  })),
}))

test('an independent parser reads the same content from any converted message', async () => {
  const messages = fc
    .sample(fc.tuple(entity, field('Subject')), {
      numRuns: 300,
      seed: Number(process.env.FUZZ_SEED ?? 1),
    })
    .map(([{ header, body }, subject]) =>
      Buffer.from(
        `${['From: a@b.test', ...subject.map(utf8), 'MIME-Version: 1.0', ...header, '', body].join('\r\n')}\r\n`,
        'latin1',
      ),
    )
  const pairs: [Buffer, Buffer][] = []
  for (const message of messages) {
    const converted = Buffer.from(await convert(message), 'latin1')
    expect(isSevenBit(converted)).toBe(true)
    expect(latin1(converted).replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    // Nothing is left to convert.
    expect(await convert(converted)).toBe(latin1(converted))
    pairs.push([message, converted])
  }
  for (const [before, after] of judge(pairs)) expect(after).toEqual(before)
})
