import * as fc from '../../world/fast-check.ts'
import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime, { decodeWords } from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { composePlain, type Draft } from '../../../appliance/intake/compose-plain.ts'
import { encodeText, encodeQuotedPrintable } from '../../../appliance/mime/transfer.ts'
import { parseMailbox } from '../../../appliance/mail/address.ts'
import { findFieldValueProblem, splitMessage } from '../../../appliance/mail/headers.ts'

const runs = 300
const mailbox = (text: string) => parseMailbox(text)!
const draft: Draft = {
  from: mailbox('Acme <hi@acme.example>'),
  to: [mailbox('bob@example.com')],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: null,
  headers: [],
  attachments: [],
  messageId: '<1@acme.example>',
  date: Date.UTC(2026, 10, 20, 20, 39, 59),
}
const source = (fields: Partial<Draft>, text: string, html = '') =>
  Buffer.from(composePlain({ ...draft, ...fields }, text, html)!).toString('latin1')

const crlf = (text: string) => text.replaceAll(/\r\n|\r|\n/g, '\r\n')
const longest = (text: string) => Math.max(...text.split('\r\n').map((line) => line.length))

/** Texts that break encoders: long lines, line ends, escapes, trailing whitespace, many scripts. */
const pieces = fc.constantFrom(
  'a',
  ' ',
  '\t',
  '=',
  '=3D',
  '.',
  '\r\n',
  '\r\n.',
  '\r\nFrom ',
  'From ',
  '\r\n--',
  'ö',
  '漢字',
  '🚀',
  'x'.repeat(75),
  'y'.repeat(400),
)
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.array(pieces, { maxLength: 40 }).map((all) => all.join('')),
)

describe('a plain message', () => {
  test('a plain message with HTML and text has exactly these bytes', () => {
    const written = source(
      {
        to: [mailbox('"Builder, Bob" <bob@example.com>'), mailbox('Jörg <j@example.com>')],
        replyTo: [mailbox('help@acme.example')],
        headers: [{ name: 'X-Order', value: '7' }],
        subject: 'Grüße',
      },
      'Hi\r\nBob',
      '<p>Größe = 5</p>',
    )
    const boundary = /boundary="(=_[0-9a-f-]{36})"/.exec(written)![1]!
    expect(written.replaceAll(boundary, 'B')).toBe(
      [
        'X-Order: 7',
        'From: Acme <hi@acme.example>',
        'To: "Builder, Bob" <bob@example.com>, =?utf-8?B?SsO2cmc=?= <j@example.com>',
        'Reply-To: help@acme.example',
        'Subject: =?utf-8?B?R3LDvMOfZQ==?=',
        'Message-ID: <1@acme.example>',
        'Date: Fri, 20 Nov 2026 20:39:59 +0000',
        'MIME-Version: 1.0',
        'Content-Type: multipart/alternative;',
        ' boundary="B"',
        '',
        '--B',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Hi',
        'Bob',
        '--B',
        'Content-Type: text/html; charset=utf-8',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        '<p>Gr=C3=B6=C3=9Fe =3D 5</p>',
        '--B--',
        '',
      ].join('\r\n'),
    )
  })

  test.each([
    [
      'an attachment',
      { attachments: [{ filename: null, contentType: 'a/b', contentId: null, content: Buffer.from('x') }] },
    ],
    ['a non-ASCII local part', { to: [mailbox('jörg@example.com')] }],
    ['a name that looks like an encoded word', { to: [mailbox('"=?utf-8?q?x?=" <b@example.com>')] }],
  ])('does not compose a plain message with %s', (_name, fields) => {
    expect(composePlain({ ...draft, ...fields }, 'x', '')).toBeUndefined()
  })

  test('header lines have at most 78 octets', () => {
    const written = source({ subject: 'Grüße '.repeat(30) }, 'ö', '<p>ö</p>')
    const head = written.slice(0, written.indexOf('\r\n\r\n'))
    expect(longest(head)).toBeLessThanOrEqual(78)
  })

  test.each([
    ['a vertical tab', 'a\vb', 'a=0Bb'],
    ['a form feed', 'a\fb', 'a=0Cb'],
    ['an escape character', 'a\x1b[1mb', 'a=1B[1mb'],
    ['a delete character', 'a\x7fb', 'a=7Fb'],
  ])('encodes a body with %s as quoted-printable', (_, text, encoded) => {
    const written = source({}, text)
    expect(written).toContain('Content-Transfer-Encoding: quoted-printable\r\n')
    expect(written).toMatch(new RegExp(`\\r\\n\\r\\n${encoded.replace('[', '\\[')}\\r\\n$`))
  })

  test('folds long headers at white space only, without blank lines', () => {
    const subject = `${'word '.repeat(30)}${' '.repeat(15)}${'x'.repeat(900)}`
    const to = Array.from({ length: 50 }, (_, n) => mailbox(`Person number ${n} <person${n}@example.com>`))
    const written = source({ subject, to, headers: [{ name: 'X-Long', value: 'y'.repeat(900) }] }, 'x')
    const head = written.slice(0, written.indexOf('\r\n\r\n'))
    expect(head.split('\r\n').filter((line) => line.trim() === '')).toEqual([])
    expect(longest(head)).toBeLessThanOrEqual(998)
    expect(head.replaceAll('\r\n ', ' ')).toContain(`Subject: ${subject.trim()}`)
    const parsed = splitMessage(Buffer.from(written)).fields.map(({ name }) => name)
    expect(parsed).toEqual([
      'X-Long',
      'From',
      'To',
      'Subject',
      'Message-ID',
      'Date',
      'Content-Transfer-Encoding',
      'MIME-Version',
      'Content-Type',
    ])
  })

  test('the result parses like the message of the general composer', async () => {
    const line = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
      .map((text) => text.trim())
      .filter((text) => text !== '' && !text.includes('=?') && findFieldValueProblem(text) === undefined)
    const names = line.map(
      (text) => parseMailbox(`"${text.replaceAll(/["\\]/g, '\\$&')}" <hi@acme.example>`) ?? draft.from,
    )
    await fc.assert(
      fc.asyncProperty(names, line, line, texts, texts, async (from, subject, custom, text, html) => {
        const [plainText, plainHtml] = [crlf(text), crlf(html)]
        fc.pre(plainText !== '' || plainHtml !== '')
        const fields = { from, subject, headers: [{ name: 'X-Custom', value: custom }] }
        const written = composePlain({ ...draft, ...fields }, plainText, plainHtml)!
        const raw = Buffer.from(written).toString('latin1')
        expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0\x80-\xff]/)
        expect(longest(raw)).toBeLessThanOrEqual(998)
        const other = await new MailComposer({
          from: { name: from.name, address: from.address },
          to: 'bob@example.com',
          subject,
          text: plainText,
          html: plainHtml,
          headers: [{ key: 'X-Custom', value: custom }],
          newline: 'win',
        })
          .compile()
          .build()
        const [ours, theirs] = [await PostalMime.parse(written), await PostalMime.parse(other)]
        const lines = (value: string | undefined) => value?.replaceAll('\r\n', '\n').trimEnd()
        const spaced = (value: string | undefined) => value?.replaceAll(/[ \t]+/g, ' ')
        expect(ours.from).toEqual(theirs.from)
        expect(ours.to).toEqual(theirs.to)
        expect(spaced(ours.subject)).toBe(spaced(theirs.subject))
        expect(lines(ours.text)).toBe(lines(theirs.text))
        expect(lines(ours.html)).toBe(lines(theirs.html))
        const customOf = (mail: typeof ours) =>
          spaced(decodeWords(mail.headers.find(({ key }) => key === 'x-custom')!.value))
        expect(customOf(ours)).toBe(customOf(theirs))
      }),
      { numRuns: runs },
    )
  })
})

describe('quoted-printable', () => {
  /** A minimal decoder of quoted-printable (RFC 2045 §6.7). */
  const decode = (text: string) =>
    Buffer.from(
      text
        .replaceAll('=\r\n', '')
        .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
      'latin1',
    )

  test('quoted-printable text decodes to the same octets, in lines of at most 76', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = Buffer.from(crlf(text), 'utf8')
        const encoded = encodeQuotedPrintable(bytes)
        expect(decode(encoded).equals(bytes)).toBe(true)
        expect(longest(encoded)).toBeLessThanOrEqual(76)
        expect(encoded).not.toMatch(/[ \t](\r\n|$)/)
        expect(encoded).not.toMatch(/(^|\n)From /)
      }),
      { numRuns: runs },
    )
  })
})

describe('transfer encoding', () => {
  test.each([
    ['plain', 'plain'],
    ['a=b', 'a=3Db'],
    ['ö', '=C3=B6'],
    ['blank at the end \r\nx', 'blank at the end=20\r\nx'],
    ['tab\t', 'tab=09'],
    ['From me', '=46rom me'],
  ])('encodes %j as the quoted-printable %j', (text, encoded) =>
    expect(encodeQuotedPrintable(Buffer.from(text))).toBe(encoded),
  )

  test.each([
    ['plain\r\n', '7bit'],
    ['x'.repeat(998), '7bit'],
    ['x'.repeat(999), 'quoted-printable'],
    ['a\r\nFrom me', 'quoted-printable'],
    ['Viele Grüße aus dem schönen Köln am Rhein', 'quoted-printable'],
    ['漢字かな交じり文', 'base64'],
  ])('chooses a transfer encoding for %j: %s', (text, encoding) => {
    expect(encodeText(text).encoding).toBe(encoding)
  })
})
