import PostalMime, { decodeWords } from 'postal-mime'
import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { composeMessage } from '../../../appliance/intake/compose.ts'
import { restoreContent } from '../../../appliance/intake/composed-content.ts'
import { readComposedMessage } from '../../../appliance/mime/read-composed.ts'
import { createComposer } from '../../../appliance/intake/composer.ts'
import { parseMailbox } from '../../../appliance/mail/address.ts'
import { findFieldValueProblem, splitMessage } from '../../../appliance/mail/headers.ts'
import { Refusal } from '../../../appliance/mail/refusals.ts'
import { createTestClock } from '../../world/clock.ts'
import type { Draft } from '../../../appliance/intake/compose-plain.ts'

const runs = 200
const mailbox = (text: string) => parseMailbox(text)!

const plain: Draft = {
  from: mailbox('Acme <hi@acme.example>'),
  to: [mailbox('bob@example.com')],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob',
  headers: [],
  attachments: [],
  messageId: '<1@acme.example>',
  date: Date.UTC(2026, 10, 20, 20, 39, 59),
}
const composed = async (fields: Partial<Draft> = {}) => {
  const { message, content } = await composeMessage({ ...plain, ...fields })
  const { text } = restoreContent(content, readComposedMessage(message))
  const source = Buffer.from(message).toString('latin1')
  return { message, source, text, parsed: await PostalMime.parse(message) }
}
const attachment = (fields: Partial<Draft['attachments'][number]> = {}) => ({
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  contentId: null,
  content: Buffer.from([0, 1, 2, 255]),
  ...fields,
})
/** Checks what must hold for every message: CRLF only, lines of at most 998 bytes, ASCII, no NUL. */
const assertClean = (source: string) => {
  expect(source).toMatch(/\r\n$/)
  expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0]/)
  expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
}

describe('a composed message', () => {
  test('a message of plain text has exactly these bytes', async () => {
    const { source } = await composed({ cc: [mailbox('"Builder, Bob" <b@example.com>')] })
    expect(source).toBe(
      [
        'From: Acme <hi@acme.example>',
        'To: bob@example.com',
        'Cc: "Builder, Bob" <b@example.com>',
        'Subject: Hello',
        'Message-ID: <1@acme.example>',
        'Date: Fri, 20 Nov 2026 20:39:59 +0000',
        'Content-Transfer-Encoding: 7bit',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        '',
        'Hi Bob',
        '',
      ].join('\r\n'),
    )
  })

  test('a message gets a text part generated from its HTML', async () => {
    const { parsed, text } = await composed({
      text: null,
      html: '<h1>Hi {{{contact.first_name}}}</h1><p>See <a href="https://acme.example/x">this</a>.</p><img src="https://acme.example/p.png">',
    })
    expect(text).toBe('Hi {{{contact.first_name}}}\n\nSee this [https://acme.example/x].')
    expect(parsed.text?.trim()).toBe(text)
    expect(parsed.html).toContain('<h1>Hi {{{contact.first_name}}}</h1>')
  })

  test('a message has no text part when text is ""', async () => {
    const { source, text } = await composed({ text: '', html: '<p>Hi</p>' })
    expect(text).toBe('')
    expect(source).toContain('Content-Type: text/html; charset=utf-8')
    expect(source).not.toContain('text/plain')
  })

  test('keeps the case of custom header names and encodes non-ASCII values', async () => {
    const { source } = await composed({
      headers: [
        { name: 'X-SES-CONFIGURATION-SET', value: 'a' },
        { name: 'x-motto', value: 'Grüße 🚀' },
      ],
    })
    expect(source).toContain('X-SES-CONFIGURATION-SET: a\r\n')
    expect(source).toContain('\r\nx-motto: =?utf-8?B?R3LDvMOfZSDwn5qA?=\r\n')
  })

  test('writes international domains as A-labels', async () => {
    const { source } = await composed({
      from: mailbox('Jörg <hi@müller.example>'),
      to: [mailbox('b@日本.jp')],
    })
    expect(source).toContain('<hi@xn--mller-kva.example>')
    expect(source).toContain('To: b@xn--wgv71a.jp')
    assertClean(source)
    expect(source).toMatch(/^[\x00-\x7f]*$/)
  })

  test('a message has a UTF-8 header only for a non-ASCII local part', async () => {
    const { message, parsed } = await composed({ to: [mailbox('jörg@example.com')], subject: 'Grüße' })
    expect(Buffer.from(message).toString('utf8')).toContain('To: jörg@example.com\r\n')
    expect(Buffer.from(message).toString('utf8')).toContain('Subject: =?utf-8?')
    expect(parsed.to?.[0]?.address).toBe('jörg@example.com')
  })

  test('normalizes all line endings in bodies', async () => {
    const { source } = await composed({ text: 'a\nb\rc\r\nd\r\r\n', html: '<p>\n\r</p>' })
    assertClean(source)
    expect(source).toContain('a\r\nb\r\nc\r\nd\r\n\r\n')
  })

  test('puts attachments in multipart/mixed, and inline images next to the HTML that shows them', async () => {
    const { source, parsed } = await composed({
      html: '<img src="cid:logo">',
      attachments: [
        attachment(),
        attachment({ filename: 'logo.png', contentType: 'image/png', contentId: 'logo' }),
      ],
    })
    expect(
      parsed.attachments.map(({ filename, disposition, mimeType, related }) => [
        filename,
        disposition,
        mimeType,
        related,
      ]),
    ).toEqual([
      ['logo.png', 'inline', 'image/png', true],
      ['a.bin', 'attachment', 'application/octet-stream', undefined],
    ])
    expect(parsed.attachments[0]?.contentId).toBe('<logo>')
    expect(new Uint8Array(parsed.attachments[1]!.content as ArrayBuffer)).toEqual(
      new Uint8Array([0, 1, 2, 255]),
    )
    expect(source).toContain('multipart/related')
    assertClean(source)
  })

  test('ignores file paths and URLs in attachments', async () => {
    const evil = { ...attachment(), path: '/etc/hostname', href: 'http://127.0.0.1:1/' }
    const { parsed } = await composed({ attachments: [evil] })
    expect(new Uint8Array(parsed.attachments[0]!.content as ArrayBuffer)).toEqual(
      new Uint8Array([0, 1, 2, 255]),
    )
  })

  const mail = (content: string | Buffer, contentType = 'message/rfc822') =>
    attachment({ filename: 'in.eml', contentType, content: Buffer.from(content) })

  test('attaches a message as message/rfc822, with its content encoded where necessary', async () => {
    const clean = await composed({ attachments: [mail('From: a@b.example\nSubject: x\n\nbody\n')] })
    expect(clean.source).toContain('Content-Type: message/rfc822')
    expect(clean.source).toContain('From: a@b.example\r\nSubject: x\r\n\r\nbody\r\n')
    const eightBit = await composed({
      attachments: [
        mail(
          'Subject: ü\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\nGrüße an alle dort\n',
        ),
      ],
    })
    expect(eightBit.source).toContain('Content-Type: message/rfc822')
    expect(eightBit.source).toContain(
      'Subject: =?utf-8?B?w7w=?=\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n' +
        'Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe an alle dort\r\n',
    )
    assertClean(eightBit.source)
    const long = await composed({ attachments: [mail(`Subject: x\n\n${'long '.repeat(400)}end\n`)] })
    expect(long.source).toContain('Content-Type: message/rfc822')
    const inner = await PostalMime.parse(long.parsed.attachments[0]!.content)
    expect(inner.text?.trim()).toBe(`${'long '.repeat(400)}end`)
    assertClean(long.source)
  })

  test.each([
    ['a line that cannot be folded', mail(`Subject: ${'x'.repeat(1000)}\r\n\r\n`)],
    ['a NUL in its header', mail('Subject: \0\r\n\r\n')],
    [
      '8-bit text inside a signed part',
      mail('Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\nü\r\n--b--\r\n'),
    ],
    ['8-bit text where it is not allowed', mail('Reporting-MTA: dns; ü\r\n', 'message/delivery-status')],
  ])('attaches a message with %s as a file, byte for byte', async (_, dirty) => {
    const { source, parsed } = await composed({ attachments: [dirty] })
    expect(source).toContain('Content-Type: application/octet-stream; name=in.eml')
    expect(Buffer.from(parsed.attachments[0]!.content as ArrayBuffer)).toEqual(dirty.content)
    assertClean(source)
  })

  const literally = [
    '=?utf-8?q?x?= é',
    '=?utf-8?q?hi?=',
    'a =?utf-8?q?b?=  =?utf-8?q?c?= d',
    `=?utf-8?q?x?= ${'ü '.repeat(100)}end`,
  ]
  test.each(
    literally.flatMap((subject) => [[subject, 'plain'] as const, [subject, 'with an attachment'] as const]),
  )('keeps the subject %j (%s)', async (subject, kind) => {
    const attachments = kind === 'plain' ? [] : [attachment()]
    const headers = [
      { name: 'X-Raw', value: '=?utf-8?q?x?= é' },
      { name: 'X-Encoded', value: '=?utf-8?q?x=C3=A9?=' },
    ]
    const { parsed, source } = await composed({ subject, attachments, headers })
    expect(parsed.subject).toBe(subject)
    const valueOf = (name: string) => decodeWords(parsed.headers.find(({ key }) => key === name)!.value)
    expect(valueOf('x-raw')).toBe('=?utf-8?q?x?= é')
    expect(valueOf('x-encoded')).toBe('xé')
    assertClean(source)
  })

  test('composes a message from deeply nested HTML', async () => {
    const deep = await composed({ text: null, html: '<div>'.repeat(5000) + 'x' })
    assertClean(deep.source)
  })
})

describe('composing arbitrary text', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: 'grapheme', maxLength: 80 }),
    fc
      .array(
        fc.constantFrom(
          '=?utf-8?q?x?=',
          ' ',
          '\t',
          'ö',
          '"',
          '\\',
          ',',
          'a'.repeat(70),
          '🚀',
          '\u0000',
          '\r\n.',
        ),
        { maxLength: 20 },
      )
      .map((parts) => parts.join('')),
  )
  const header = word
    .map((text) => text.trim())
    .filter((text) => text !== '' && findFieldValueProblem(text) === undefined)

  const spaced = (text: string) => text.replaceAll(/[ \t]+/g, ' ')

  test('arbitrary text is composed to a well-formed message with the given content', async () => {
    await fc.assert(
      fc.asyncProperty(header, header, word, word, word, async (subject, custom, name, text, html) => {
        const from = parseMailbox(`"${name.replaceAll(/["\\]/g, '\\$&')}" <hi@acme.example>`) ?? plain.from
        const { source, message, parsed } = await composed({
          from,
          to: [mailbox('bob@example.com'), mailbox('Eve <eve@example.com>')],
          subject,
          headers: [{ name: 'X-Custom', value: custom }],
          text: text.replaceAll('\0', '') || 'x',
          html: html.replaceAll('\0', ''),
          attachments: [attachment({ filename: 'ü "1";.txt', contentType: 'text/plain' })],
        })
        assertClean(source)
        expect(source).toMatch(/^[\x00-\x7f]*$/)
        expect(splitMessage(message).fields.map((field) => field.name.toLowerCase())).toEqual([
          'x-custom',
          'from',
          'to',
          'subject',
          'message-id',
          'date',
          'mime-version',
          'content-type',
        ])
        expect(parsed.from?.address).toBe('hi@acme.example')
        expect(parsed.to?.map(({ address }) => address)).toEqual(['bob@example.com', 'eve@example.com'])
        expect(spaced(parsed.subject!)).toBe(spaced(subject))
      }),
      { numRuns: runs },
    )
  })
})

describe('composing large drafts', () => {
  const html = '<table><tr><td>Cell <b>bold</b></td></tr></table>\n'.repeat(4000)

  test('composes large drafts in a worker thread, with the same result', async () => {
    const composer = createComposer({ clock: systemClock })
    const draft = {
      ...plain,
      text: null,
      html,
      attachments: [attachment({ content: Buffer.alloc(100_000, 7) })],
    }
    const before = process.threadCpuUsage()
    const results = await Promise.all([composer.compose(draft, 'a'), composer.compose(draft, 'a')])
    const beside = process.threadCpuUsage(before)
    await composer.close()
    const between = process.threadCpuUsage()
    const expected = await composeMessage(draft)
    const here = process.threadCpuUsage(between)
    for (const { message, content } of results) {
      expect(content).toEqual(expected.content)
      expect(restoreContent(content, readComposedMessage(message))).toEqual(
        restoreContent(expected.content, readComposedMessage(expected.message)),
      )
      expect(message.length).toBe(expected.message.length)
      expect((await PostalMime.parse(message)).attachments).toHaveLength(1)
    }
    // Handing over two drafts costs the calling thread less than composing one.
    expect(beside.user).toBeLessThan(here.user)
  })

  test('rejects pending drafts when the server stops', async () => {
    const composer = createComposer({ clock: systemClock })
    const first = composer.compose({ ...plain, html, text: null }, 'a').catch((error: unknown) => error)
    const second = composer.compose({ ...plain, html, text: null }, 'a').catch((error: unknown) => error)
    await composer.close()
    expect(await second).toBeInstanceOf(Refusal)
    expect(await second).toMatchObject({ key: 'shutting_down' })
    expect(await first).toBeInstanceOf(Error)
  })

  test('rejects a draft after ten seconds, then composes the next', async () => {
    const clock = createTestClock()
    const composer = createComposer({ clock })
    // Nested tables take the converter 25 s here.
    const endless = composer.compose({ ...plain, html: '<table><tr><td>'.repeat(100_000), text: null }, 'a')
    const refused = expect(endless).rejects.toMatchObject({ key: 'invalid_field' })
    const next = composer.compose({ ...plain, html, text: null }, 'a')
    await clock.advance(10_000)
    await refused
    const { content, message } = await next
    expect(restoreContent(content, readComposedMessage(message)).text).toContain('Cell bold')
    await composer.close()
  })

  test('rejects HTML with too many tags for a text part, unless the text is given', async () => {
    const composer = createComposer({ clock: systemClock })
    const many = { ...plain, html: '<p>Hello</p>'.repeat(250_001), text: null }
    await expect(composer.compose(many, 'a')).rejects.toMatchObject({
      key: 'invalid_field',
      message: expect.stringContaining('at most 500000 tags, or an additional `text`') as string,
    })
    const { message, content } = await composer.compose({ ...many, text: 'Hello' }, 'a')
    expect(restoreContent(content, readComposedMessage(message)).text).toBe('Hello')
    await composer.close()
  })

  test('rejects a draft with text as overloaded if the machine is too busy', async () => {
    const clock = createTestClock()
    const composer = createComposer({ clock })
    // Canceled while the thread is still starting.
    const late = composer.compose({ ...plain, html: null, text: 'A line of it.\n'.repeat(22_000) }, 'a')
    const refused = expect(late).rejects.toMatchObject({ key: 'overloaded' })
    await clock.advance(10_000)
    await refused
    await composer.close()
  })

  test('rejects drafts while too many are pending', async () => {
    const composer = createComposer({ clock: systemClock })
    const outcomes = Array.from({ length: 70 }, () =>
      composer.compose({ ...plain, html, text: null }, 'a').then(
        () => 'composed',
        (error: unknown) => (error instanceof Refusal ? error.key : 'ended'),
      ),
    )
    const last = await outcomes.at(-1)
    await composer.close()
    await Promise.all(outcomes)
    expect(last).toBe('overloaded')
  })
})
