import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { composeMessage } from '../../../appliance/intake/compose.ts'
import { restoreContent } from '../../../appliance/intake/composed-content.ts'
import { readComposedMessage } from '../../../appliance/mime/read-composed.ts'
import { parseMailbox } from '../../../appliance/mail/address.ts'
import * as fc from '../../world/fast-check.ts'
import type { Draft } from '../../../appliance/intake/compose-plain.ts'

const mailbox = (text: string) => parseMailbox(text)!
const draft: Draft = {
  from: mailbox('Acme <hi@acme.example>'),
  to: [mailbox('bob@example.com')],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi',
  headers: [],
  attachments: [],
  messageId: '<1@acme.example>',
  date: Date.UTC(2026, 10, 20, 20, 39, 59),
}
const tracking = {
  secret: randomBytes(32),
  emailId: '01890a5d-ac96-774b-bcce-b302099a8057',
  opens: true,
  clicks: true,
  leave: [],
  origin: 'https://track.example',
}

/**
 * Texts that break encoders and readers: all kinds of line ends, long lines, escapes, trailing whitespace, many
 * scripts, lone surrogates.
 */
const pieces = fc.constantFrom(
  'a',
  ' ',
  '\t',
  '=',
  '=3D',
  '=\n',
  '.',
  '\n',
  '\n.',
  '\n\n',
  '\r\n',
  '\r',
  '\0',
  '\uFEFF',
  '\uD800',
  '\nFrom ',
  'From ',
  '\n--',
  '\n--=_',
  'ö',
  '漢字',
  '🚀',
  'x'.repeat(75),
  'y'.repeat(1200),
  '漢'.repeat(80),
  '<a href="https://shop.example/x">x</a>',
  '<p>Hello</p>',
  '</body>',
  'a line of words\n',
)
const texts = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((all) => all.join('')),
  fc.string({ unit: 'binary', maxLength: 100 }),
)
const attachments = fc.array(
  fc.record({
    filename: fc.constantFrom('a.txt', 'b.html', null),
    contentType: fc.constantFrom('text/plain', 'text/html', 'image/png', 'message/rfc822'),
    contentId: fc.constantFrom(null, 'logo'),
    content: fc
      .constantFrom('', 'file\r\n', 'Content-Type: text/html\r\n\r\n<p>of a file\r\n')
      .map((text) => Buffer.from(text)),
  }),
  { maxLength: 2 },
)

describe('the stored content of an email', () => {
  test('the stored content is read back exactly as given, however it is stored', async () => {
    const emails = fc.record({
      html: fc.oneof(fc.constant(null), texts),
      text: texts,
      attachments,
      tracking: fc.constantFrom(null, tracking),
      // The second one goes through the general composer.
      from: fc.constantFrom(draft.from, mailbox('"=?utf-8?q?x?=" <hi@acme.example>')),
    })
    await fc.assert(
      fc.asyncProperty(emails, async (email) => {
        const { message, content } = await composeMessage({ ...draft, ...email })
        expect(restoreContent(content, readComposedMessage(message))).toEqual({
          html: email.html,
          text: email.text,
        })
      }),
      { numRuns: 2000 },
    )
  })

  const page = '<!doctype html>\n<p>Größe: <a href="https://shop.example/">42</a></p>'
  test.each<[string, Partial<Draft>]>([
    ['text', { text: 'Hello\n' }],
    ['text without a line end', { text: 'Hello' }],
    ['html and text', { html: page, text: 'Größe: 42' }],
    ['html with the text generated from it', { html: page, text: null }],
    ['a long line', { text: 'x'.repeat(5000) }],
    ['another script', { html: `<p>${'漢字'.repeat(200)}</p>`, text: '漢字'.repeat(200) }],
    [
      'html and text with an attachment',
      {
        html: page,
        text: 'Größe: 42\n',
        attachments: [
          { filename: 'a.txt', contentType: 'text/plain', contentId: null, content: Buffer.from('a') },
        ],
      },
    ],
  ])('the content is stored only in the message: %s', async (_name, fields) => {
    const { content } = await composeMessage({ ...draft, ...fields })
    expect([content.html, content.text]).toEqual([null, null])
    expect(content.place).not.toBe('row')
  })

  test('stores tracked HTML separately, and the text in the message', async () => {
    const { content } = await composeMessage({ ...draft, html: page, text: 'Größe: 42\n', tracking })
    expect(content).toEqual({ place: 'message', html: page, text: null })
  })

  test('stores an empty text if the email has none', async () => {
    const { message, content } = await composeMessage({ ...draft, html: page, text: '' })
    expect(content).toEqual({ place: 'unfinished', html: null, text: '' })
    expect(restoreContent(content, readComposedMessage(message))).toEqual({ html: page, text: '' })
  })
})
