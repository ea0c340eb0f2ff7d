import { createTransport } from 'nodemailer'
import { afterAll, describe, expect, test } from 'vitest'
import { finishMessage, parseHeader } from '../../../appliance/intake/message-fields.ts'
import { createMimeReader, type MessageContent } from '../../../appliance/mime/mime.ts'
import { parseContent, parseOutline, parseCommonContent } from '../../../appliance/mime/read.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createTestClock } from '../../world/clock.ts'

const readerAt = (clock: ReturnType<typeof createTestClock>) =>
  createMimeReader({ clock, turns: testCapacity(clock, '/nowhere').turns })

const from = 'From: a@acme.example\r\n'
const usual = (message: Buffer) => parseCommonContent(message, parseHeader(message))
const outline = (message: Buffer) => parseOutline(message, parseHeader(message))
/** Returns the parts of a message's content that are read before it is accepted. */
const outlineOf = ({ subject, attachments }: MessageContent) => ({
  subject,
  attachments: attachments.map((one) => ({ ...one, digest: '' })),
})
const trace = {
  hostname: 'mail.acme.example',
  helo: 'app',
  ip: '192.0.2.1',
  protocol: 'ESMTP',
  hideClient: false,
}
/** Returns the message as it is stored. */
const stored = (message: Buffer) =>
  finishMessage(message, parseHeader(message), {
    trace,
    id: 'id',
    messageId: '<id@acme.example>',
    now: 0,
    added: [{ name: 'Feedback-ID', value: 'x' }],
  })
const reader = readerAt(createTestClock())
afterAll(() => reader.close())
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Builds a part with header lines. */
const part = (body: string, ...fields: string[]) =>
  `${fields.map((field) => `${field}\r\n`).join('')}\r\n${body}`
const multipart = (kind: string, boundary: string, ...parts: string[]) =>
  part(
    `${parts.map((one) => `--${boundary}\r\n${one}\r\n`).join('')}--${boundary}--\r\n`,
    `Content-Type: multipart/${kind}; boundary="${boundary}"`,
  )
const text = part('Gr\u00fc\u00dfe\r\n', 'Content-Type: text/plain; charset=utf-8')
const html = part(
  '<p>Gr=C3=BC=\r\n=C3=9Fe</p>',
  'Content-Type: text/html; charset="UTF-8"',
  'Content-Transfer-Encoding: quoted-printable',
)
const alternative = multipart('alternative', 'b1', text, html)
const picture = part(
  base64('not really a picture'),
  'Content-Type: image/png; name=logo.png',
  'Content-Transfer-Encoding: base64',
  'Content-ID: <logo@acme.example>',
  'Content-Disposition: inline; filename=logo.png',
)
const file = part(
  'a;b\r\n1;2',
  'Content-Type: text/csv',
  'Content-Disposition: attachment; filename="a b.csv"',
)

describe('the fast path for common MIME structures', () => {
  test.each([
    ['multipart/alternative', alternative],
    [
      'base64',
      part(
        base64('Gr\u00fc\u00dfe'),
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: base64',
      ),
    ],
    ['quoted-printable', part('=48i =\r\nthere=\r\n', 'Content-Transfer-Encoding: Quoted-Printable')],
    ['html only', part('<p>Hi', 'Content-Type: TEXT/HTML')],
    ['an encoded subject', `Subject: =?utf-8?q?Gr=C3=BC=C3=9F?=\r\n =?utf-8?q?e?=\r\n${text}`],
    ['an inline image', multipart('related', 'b2', html, picture)],
    ['texts with attachments', multipart('mixed', 'b2', alternative, file, picture)],
    [
      'texts, an inline image and an attachment',
      multipart('mixed', 'b3', multipart('related', 'b2', alternative, picture), file),
    ],
    ['two texts in sequence', multipart('mixed', 'b2', text, text)],
    ['parts without a header', multipart('mixed', 'b2', '\r\nHi', '\r\nthere')],
    ['a preamble and an epilogue', `${multipart('mixed', 'b2', text)}\r\nepilogue\r\n--b2\r\nno part`],
    [
      'a delimiter that is a prefix of another',
      multipart('mixed', 'part1', multipart('alternative', 'part12', text, html)),
    ],
    ['a line that only looks like a delimiter', multipart('mixed', 'b2', part('--b2x\r\n --b2\r\n--b2 x'))],
    [
      'white space after a delimiter',
      part('--b2 \t\r\n\r\nHi\r\n--b2-- \r\n', 'Content-Type: multipart/mixed; boundary=b2'),
    ],
    ['an empty text', multipart('mixed', 'b2', part('', 'Content-Type: text/plain'))],
    ['a BOM and invalid UTF-8', part('\ufeffHi =ff', 'Content-Transfer-Encoding: quoted-printable')],
    ['no final line end', part('Hi =', 'Content-Transfer-Encoding: quoted-printable')],
  ])('returns the same result as the parser: %s', async (_, rest) => {
    const message = Buffer.from(from + rest)
    const content = await parseContent(message)
    expect(usual(message)).toEqual(content)
    expect(outline(message)).toEqual(outlineOf(content))
    const { html: storedHtml, text: storedText } = content
    expect(await reader.read(stored(message), 'a')).toMatchObject({ html: storedHtml, text: storedText })
  })

  test('does not read the body of a message without parts', () => {
    const head = `${from}Subject: Hi\r\nContent-Type: text/html; charset=iso-8859-2\r\n\r\n`
    expect(outline(Buffer.from(`${head}a\rb`))).toEqual({ subject: 'Hi', attachments: [] })
  })

  test.each([
    ['a text part without an html alternative', multipart('mixed', 'b2', alternative, text)],
    ['no closing delimiter', part('--b2\r\n\r\nHi', 'Content-Type: multipart/mixed; boundary=b2')],
    [
      'an attached message',
      multipart('mixed', 'b2', part('From: b\r\n\r\nHi', 'Content-Type: message/rfc822')),
    ],
    ['another charset', part('Gr\u00fc\u00dfe', 'Content-Type: text/plain; charset=iso-8859-1')],
    ['flowed text', part('Hi \r\nthere', 'Content-Type: text/plain; format=flowed')],
    ['a comment', part('Hi', 'Content-Type: text/plain (really)')],
    ['an RFC 2231 name', multipart('mixed', 'b2', part('x', "Content-Type: image/png; name*=utf-8''a"))],
    ['the same delimiter in a nested multipart', multipart('mixed', 'b2', multipart('mixed', 'b2', text))],
    [
      'a delimiter that equals the closing one of another',
      multipart('mixed', 'b2', multipart('mixed', 'b2--', text)),
    ],
    ['broken base64', part('SGk', 'Content-Transfer-Encoding: base64')],
    [
      'a part with an unterminated header',
      part('--b2\r\nX: y\r\n--b2--\r\n', 'Content-Type: multipart/mixed; boundary=b2'),
    ],
    ['a bare CR', part('a\rb\r\n')],
    ['a body of more than 256 KiB', part('Hi\r\n'.repeat(70_000))],
    ['a calendar event', part('BEGIN:VCALENDAR', 'Content-Type: text/calendar')],
    ['a no-break space in a header field', part('Hi', 'Content-Type: \u00a0text/html')],
    ['a non-ASCII subject', `Subject: \u00a0Hi\r\n${text}`],
    ['no body', ''],
  ])('the fast path rejects other messages: %s', (_, rest) => {
    expect(usual(Buffer.from(from + rest))).toBeUndefined()
  })
})

test('messages written by nodemailer do not need the parser', async () => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message } = await transport.sendMail({
    from: 'a@acme.example',
    to: 'b@customer.example',
    subject: 'Gr\u00fc\u00dfe',
    text: 'Gr\u00fc\u00dfe',
    html: '<img src="cid:x">',
    attachments: [
      { filename: 'logo.png', content: 'x', cid: 'x' },
      { filename: 'order.pdf', content: Buffer.alloc(5000, 1) },
    ],
  })
  const content = usual(message as Buffer)
  expect(content?.attachments.map(({ filename, size }) => [filename, size])).toEqual([
    ['logo.png', 1],
    ['order.pdf', 5000],
  ])
  expect(content).toEqual(await parseContent(message as Buffer))
  expect(outline(message as Buffer)).toEqual(outlineOf(content!))
})

describe('randomly assembled messages', () => {
  /** A small generator (mulberry32), with the same messages in each run. */
  function random(seed: number): (below: number) => number {
    let state = seed
    return (below) => {
      state = (state + 0x6d2b79f5) | 0
      let value = Math.imul(state ^ (state >>> 15), 1 | state)
      value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
      return ((value ^ (value >>> 14)) >>> 0) % below
    }
  }
  const pieces = [
    '',
    '\r\n',
    '\r\n\r\n',
    ' ',
    '\t',
    '=',
    '=\r\n',
    '=3D',
    '=c3=bc',
    '--',
    '--b1',
    '--b1--',
    '--b2',
    '--b2--',
    'b1',
    ';',
    '"',
    '\0',
    'Hi',
    'SGk=',
    'SGkh',
    '\u00fc',
    '<p>',
    '\r\n--b1\r\n',
    '\r\n--b1--\r\n',
    '\r\n--b2\r\n',
    '\r\n--b2--\r\n',
    ':',
    'X: y\r\n',
    'Content-Type: text/plain',
    'Content-Type: text/html; charset=utf-8',
    'Content-Type: image/png; name=a.png',
    'charset=utf-8',
    'Content-Type: multipart/alternative; boundary=b2',
    'Content-Type: multipart/mixed; boundary="b1"',
    'Content-Type: message/rfc822',
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Disposition: attachment',
    'Content-Disposition: inline; filename="x"',
    'Content-ID: <a@b>',
    'Content-ID:',
    'Subject: =?utf-8?b?w7w=?=',
  ]

  test('parses random messages like the parser, or leaves them to the parser', async () => {
    let [read, outlined] = [0, 0]
    for (let seed = 0; seed < 3000; seed++) {
      const next = random(seed)
      const some = (most: number) =>
        Array.from({ length: next(most) }, () => pieces[next(pieces.length)]!).join('')
      const base = [
        alternative,
        multipart('mixed', 'b2', text, file),
        multipart('related', 'b3', alternative, picture),
        html,
      ][next(4)]!
      const at = next(base.length)
      const written = `${from}${base.slice(0, at)}${some(4)}${base.slice(at + next(9))}`
      const message = Buffer.from(written.replaceAll(/\r(?!\n)|(?<!\r)\n/g, ''))
      const shown = JSON.stringify(message.toString('latin1'))
      let content
      try {
        content = usual(message)
      } catch {
        continue // A header that is refused.
      }
      const listed = outline(message)
      const whole = await parseContent(message)
      if (listed) {
        outlined++
        expect(listed, shown).toEqual(outlineOf(whole))
        const { html: storedHtml, text: storedText } = whole
        const found = await reader.read(stored(message), 'a')
        expect(found, shown).toMatchObject({ html: storedHtml, text: storedText })
      }
      if (!content) continue
      read++
      expect(content, shown).toEqual(whole)
    }
    expect(read).toBeGreaterThan(500)
    expect(outlined).toBeGreaterThan(500)
  })
})
