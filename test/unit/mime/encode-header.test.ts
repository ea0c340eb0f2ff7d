import { isAscii } from 'node:buffer'
import PostalMime from 'postal-mime'
import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { encodeHeader } from '../../../appliance/mime/encode-header.ts'
import { splitMessage } from '../../../appliance/mail/headers.ts'
import { matchesText } from '../../../appliance/mime/search.ts'
import { splitMultipart } from '../../../appliance/mime/entity.ts'
import { costOf } from '../../world/cost.ts'

const encode = (header: string, body = 'body ü\r\n'): string =>
  encodeHeader(Buffer.from(`${header}\r\n\r\n${body}`)).toString()

const parse = (text: string) => PostalMime.parse(Buffer.from(text))

describe('encoding a non-ASCII header section', () => {
  test('uses encoded words where allowed, and leaves the rest unchanged', () => {
    const header = [
      'Received: from x by y; Thu, 1 Jan 2026 00:00:00 +0000',
      'From: Jürgen <j@sender.test>',
      'Subject: Grüße aus Köln',
      'X-Note: ASCII alone',
    ].join('\r\n')
    expect(encode(header)).toBe(
      [
        'Received: from x by y; Thu, 1 Jan 2026 00:00:00 +0000',
        'From: =?utf-8?B?SsO8cmdlbg==?=\r\n <j@sender.test>',
        'Subject: =?utf-8?B?R3LDvMOfZQ==?=\r\n aus =?utf-8?B?S8O2bG4=?=',
        'X-Note: ASCII alone',
        '',
        'body ü',
        '',
      ].join('\r\n'),
    )
  })

  test('returns the same buffer for an ASCII header', () => {
    const message = Buffer.from('Subject: x\r\n\r\nü')
    expect(encodeHeader(message)).toBe(message)
  })

  test.each([
    ['an address', 'To: zoë@example.test'],
    ['an address in angle brackets', 'To: Zoë <zoë@example.test>\r\nSubject: ü'],
    ['a message id', 'Message-ID: <ü@sender.test>'],
    ['a boundary', 'Content-Type: multipart/mixed; boundary="ü"'],
    ['a parameter with an unclosed quote', 'Content-Disposition: attachment; filename="ü.pdf'],
    ['a parameter in several pieces', 'Content-Disposition: attachment; filename*0="ü.pdf"'],
    ['a nested comment', 'From: a@b.test ((ü))'],
    ['an unclosed quote', 'From: "Jürgen <a@b.test>'],
    ['a link', 'List-Unsubscribe: <https://example.test/ü>'],
  ])('leaves a header with non-ASCII %s unchanged, because it needs SMTPUTF8', (_, header) => {
    expect(encode(header)).toBe(`${header}\r\n\r\nbody ü\r\n`)
  })

  test.each([
    ['a quoted name', 'From: "Müller, Jürgen \\"JM\\"" <j@sender.test>', 'Müller, Jürgen "JM"'],
    ['atoms', 'From: Müller und Töchter <j@sender.test>', 'Müller und Töchter'],
    ['a folded name', 'From: Müller\r\n Töchter <j@sender.test>', 'Müller Töchter'],
    ['a name without a space', 'From: Jürgen<j@sender.test>', 'Jürgen'],
    ['a long name', `From: ${'ü'.repeat(100)} <j@sender.test>`, 'ü'.repeat(100)],
  ])('preserves the parsed value: %s', async (_, header, name) => {
    const text = encode(header)
    expect(isAscii(Buffer.from(text.slice(0, text.indexOf('\r\n\r\n'))))).toBe(true)
    expect((await parse(text)).from).toEqual({ name, address: 'j@sender.test' })
  })

  test('preserves the order and names of several addresses and groups', async () => {
    const list =
      'a@x.test, Zoë <z@x.test>, "Ö, P" <o@x.test>, b@x.test (Büro), Gäste: c@x.test, Ü <u@x.test>;'
    const { to } = await parse(encode(`To: ${list}`))
    expect(to!.map(({ name, address, group }) => [name, address ?? group.map((one) => one.address)])).toEqual(
      [
        ['', 'a@x.test'],
        ['Zoë', 'z@x.test'],
        ['Ö, P', 'o@x.test'],
        ['Büro', 'b@x.test'],
        ['Gäste', ['c@x.test', 'u@x.test']],
      ],
    )
  })

  test.each([
    ['before non-ASCII text', '=?utf-8?q?x?= é', 'x é'],
    ['after non-ASCII text', 'é =?utf-8?B?eA==?=', 'é x'],
    ['on both sides, with several spaces', '=?utf-8?q?x?=  é\t =?utf-8?q?y?= z', 'x  é\t y z'],
    ['across a fold', '=?utf-8?q?x?=\r\n é', 'x é'],
  ])('preserves the space next to an encoded word %s', async (_, raw, subject) => {
    const text = encode(`Subject: ${raw}`, '')
    expect(isAscii(Buffer.from(text))).toBe(true)
    expect((await parse(text)).subject).toBe(subject)
    const name = await parse(encode(`From: ${raw} <j@sender.test>`, ''))
    expect(name.from!.name.replaceAll(/\s+/g, ' ')).toBe(subject.replaceAll(/\s+/g, ' '))
  })

  test.each([
    ['a quoted name', 'attachment; filename="Grüße; \\"1\\".pdf"', 'Grüße; "1".pdf'],
    ['a bare name', 'attachment; size=7; filename=Grüße aus Köln.pdf ; x=y', 'Grüße aus Köln.pdf'],
    ['a duplicate name', `attachment; filename="ü.pdf"; filename*=utf-8''%C3%BC.pdf`, 'ü.pdf'],
    ['a partly encoded name', `attachment; filename*=utf-8''%C3%BCö.pdf`, 'üö.pdf'],
    ['a long name', `attachment; filename="${'漢字🚀 '.repeat(20)}.pdf"`, `${'漢字🚀 '.repeat(20)}.pdf`],
  ])('encodes %s of a file (RFC 2231)', async (_, value, filename) => {
    const mail = `Content-Type: application/pdf; name="ü.pdf"\r\nContent-Disposition: ${value}\r\nContent-Description: für Zoë\r\nContent-Transfer-Encoding: base64`
    const text = encode(mail, 'SGk=\r\n')
    expect(isAscii(Buffer.from(text))).toBe(true)
    expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78)
    const { attachments } = await parse(text)
    expect(attachments[0]).toMatchObject({ filename, mimeType: 'application/pdf', description: 'für Zoë' })
  })

  test('also encodes part headers, but not in signed parts', () => {
    const part = 'Content-Type: text/plain; charset=utf-8\r\nContent-Description: für Zoë'
    const message = (type: string, description: string) =>
      `Content-Type: ${type}; boundary=b\r\n\r\nä\r\n--b\r\n${part.replace('für Zoë', description)}\r\n\r\nGrüße\r\n--b--\r\nö\r\n`
    const [signed, mixed] = [message('multipart/signed', 'für Zoë'), message('multipart/mixed', 'für Zoë')]
    expect(encodeHeader(Buffer.from(signed)).toString()).toBe(signed)
    expect(encodeHeader(Buffer.from(mixed)).toString()).toBe(
      message('multipart/mixed', '=?utf-8?B?ZsO8ciBab8Or?='),
    )
  })

  test('declares text that is not UTF-8 as unknown-8bit, byte for byte', () => {
    const message = Buffer.from('Subject: Gr\xfc\xdfe\r\n\r\n', 'latin1')
    expect(encodeHeader(message).toString()).toBe('Subject: =?unknown-8bit?B?R3L832U=?=\r\n\r\n')
  })

  test.each([
    ['text', 'Subject: Grüße ', 'Subject: =?utf-8?B?R3LDvMOfZQ==?='],
    ['names', 'To: Zoë <z@a.test>, (ü) \t', 'To: =?utf-8?B?Wm/Dqw==?=\r\n <z@a.test>, (=?utf-8?B?w7w=?=)'],
  ])(
    'removes white space at the end of %s, which could look like the end of the header',
    (_, field, encoded) => {
      expect(encode(`${field}\r\nX-Next: 1`)).toBe(`${encoded}\r\nX-Next: 1\r\n\r\nbody ü\r\n`)
    },
  )

  test('preserves any Subject, in lines of at most 76 octets where encoded', async () => {
    const word = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
      fc.stringMatching(/^[a-z]{1,20}$/),
    )
    const text = fc
      .array(word, { minLength: 1, maxLength: 12 })
      .map((words) =>
        words
          .join(' ')
          .replaceAll(/[\p{Cc}\p{Cs}\p{Z}]+/gu, ' ')
          .trim(),
      )
      .filter((one) => /[^\0-\x7f]/.test(one) && !one.includes('=?'))
    await fc.assert(
      fc.asyncProperty(text, async (subject) => {
        const out = encode(`Subject: ${subject}`, '')
        expect(isAscii(Buffer.from(out))).toBe(true)
        for (const line of out.split('\r\n'))
          if (line.includes('=?')) expect(line.length).toBeLessThanOrEqual(76)
        expect((await parse(out)).subject).toBe(subject)
      }),
      { numRuns: 300 },
    )
  })

  test('does not search beyond a part for its delimiters', async () => {
    const parts = Array.from(
      { length: 50 },
      (_, at) => `--outer\r\nContent-Type: multipart/mixed; boundary="inner${at}"\r\n\r\nü\r\n`,
    )
    const epilogue = ` ${'-'.repeat(900)}\r\n`.repeat(4000)
    const body = `${parts.join('')}--outer--\r\n${epilogue}`
    const cost = await costOf(() =>
      encode('Content-Type: multipart/mixed; boundary=outer\r\nSubject: ü', body),
    )
    expect(cost).toBeLessThan(1000)
  })

  test('reads the parts of a deeply nested message only to a limit', async () => {
    const levels = Array.from({ length: 19 }, (_, at) => {
      const inner = `Content-Type: multipart/mixed; boundary=b${at + 1}\r\nSubject: ü\r\n\r\n`
      return [`--b${at}\r\n${inner}`, `--b${at + 1}--\r\n`] as const
    })
    const text = '\r\n'.repeat(10_000_000)
    const ends = levels.map(([, end]) => end).toReversed()
    const body = [...levels.map(([begin]) => begin), '--b19\r\n', text, ...ends, '--b0--\r\n'].join('')
    const message = Buffer.from(`Subject: ü\r\nContent-Type: multipart/mixed; boundary=b0\r\n\r\n${body}`)
    const searched: string[] = []
    const cost = await costOf(() => {
      encodeHeader(message)
      matchesText(message, splitMessage(message), (one) => searched.push(one) === 0)
    })
    expect(cost).toBeLessThan(2500)
    expect(searched).toEqual([])
  })

  test('an empty part ends at the next delimiter, whose line break it shares', () => {
    const split = (text: string) =>
      splitMultipart(Buffer.from(text), [0, text.length], 'b', { most: 9 }).parts.map(([from, to]) =>
        text.slice(from, to),
      )
    expect(split('--b\r\n--b\r\n\r\n--b--\r\n')).toEqual(['', ''])
    expect(split('--b\r\n--b\r\none\r\n--b\r\n\r\n\r\n--b--')).toEqual(['', 'one', '\r\n'])
    expect(split('x--b\r\n--bb\r\n--b \t\r\none\r\n--bx\r\n--b--x\r\n--b--')).toEqual([
      'one\r\n--bx\r\n--b--x',
    ])
  })

  test('takes linear time for large fields', async () => {
    const cost = await costOf(() => {
      for (const part of [
        '"\\"',
        '(',
        '<',
        'ü, ',
        'ü ',
        'ü <a@b.test>, ',
        '" ü',
        '=?u?q?x?= ü ',
        ';a="ü',
        ';ü="',
      ]) {
        encode(`To: ${part.repeat(20_000)}`)
        encode(`Content-Type: a/b; ${part.repeat(20_000)}`)
      }
    })
    expect(cost).toBeLessThan(5000)
  })
})
