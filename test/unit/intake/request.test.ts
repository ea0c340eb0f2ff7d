import { describe, expect, test } from 'vitest'
import type { SendEmail } from '../../../appliance/api/sending.ts'
import { cleanFilename } from '../../../appliance/intake/attachment.ts'
import { decodeBase64 } from '../../../appliance/mail/json-body.ts'
import { Refusal, type RefusalKey } from '../../../appliance/mail/refusals.ts'
import { dropHeaders, parseRequest } from '../../../appliance/intake/intake.ts'

/** A Wednesday. */
const NOW = Date.UTC(2026, 10, 18, 12)

const minimal: SendEmail = {
  from: 'Acme <hi@acme.example>',
  to: ['bob@example.com'],
  subject: 'Hello',
  text: 'Hi Bob',
}
const readWith = (fields: Record<string, unknown>) => parseRequest({ ...minimal, ...fields }, NOW)
const addresses = (boxes: { address: string }[]) => boxes.map(({ address }) => address)

/** Returns the key and message of the error that `read` throws. */
function refusal(read: () => unknown): { key: RefusalKey; message: string } {
  try {
    read()
  } catch (error) {
    if (error instanceof Refusal) return { key: error.key, message: error.message }
    throw error
  }
  throw new Error('It was not refused.')
}
const refused = (fields: Record<string, unknown>) => refusal(() => readWith(fields))

describe('accepted send requests', () => {
  test('accepts a request with only the required fields', () => {
    const from = { name: 'Acme', local: 'hi', domain: 'acme.example', address: 'hi@acme.example' }
    const to = { name: '', local: 'bob', domain: 'example.com', address: 'bob@example.com' }
    expect(parseRequest(minimal, NOW)).toEqual({
      from,
      to: [to],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: 'Hello',
      html: null,
      text: 'Hi Bob',
      headers: [],
      messageId: null,
      attachments: [],
      links: [],
      tags: [],
      scheduledAt: null,
      stream: 'transactional',
      topicId: null,
    })
  })

  test('accepts one recipient as a string', () => {
    expect(addresses(readWith({ to: 'Bob <bob@example.com>' }).to)).toEqual(['bob@example.com'])
  })

  test.each([null, '', []])('accepts %j for unset recipient fields', (unset) => {
    const submission = readWith({ cc: unset, bcc: unset, reply_to: unset })
    expect([submission.cc, submission.bcc, submission.replyTo]).toEqual([[], [], []])
  })

  test('accepts null for every optional field', () => {
    const submission = readWith({ html: null, headers: null, attachments: null, tags: null })
    expect([submission.html, submission.headers, submission.attachments, submission.tags]).toEqual([
      null,
      [],
      [],
      [],
    ])
  })

  test('accepts HTML only, and generates text unless it is ""', () => {
    expect(readWith({ text: undefined, html: '<p>Hi</p>' })).toMatchObject({ html: '<p>Hi</p>', text: null })
    expect(readWith({ text: '', html: '<p>Hi</p>' })).toMatchObject({ html: '<p>Hi</p>', text: '' })
  })

  test('accepts 50 recipients in each field', () => {
    const many = Array.from({ length: 50 }, (_, i) => `r${i}@example.com`)
    const submission = readWith({ to: many, cc: many, bcc: many })
    expect([submission.to.length, submission.cc.length, submission.bcc.length]).toEqual([50, 50, 50])
  })

  test('accepts custom headers', () => {
    const headers = { 'X-Ref': ' 7 ', 'List-Unsubscribe': '<https://acme.example/u>', 'X-Empty': '' }
    expect(readWith({ headers }).headers).toEqual([
      { name: 'X-Ref', value: '7' },
      { name: 'List-Unsubscribe', value: '<https://acme.example/u>' },
    ])
  })

  test('accepts a folded header, and unfolds it', () => {
    const headers = { 'X-A': ' b\r\n c\r\n\tBcc: eve@example.com\r\n ' }
    expect(readWith({ headers }).headers).toEqual([{ name: 'X-A', value: 'b c\tBcc: eve@example.com' }])
  })

  test('drops reserved headers, whatever their values', () => {
    const headers = {
      'return-path': '<b@acme.example>',
      Date: 5,
      Sender: null,
      'Content-Type': {},
      'MIME-Version': '1.0',
      'Content-Type\r\nBcc': 'x',
      Received: 'x',
      'X-Ref': '7',
    }
    expect(dropHeaders({ headers })).toEqual([
      'return-path',
      'Date',
      'Sender',
      'Content-Type',
      'MIME-Version',
    ])
    expect(headers).toEqual({ 'Content-Type\r\nBcc': 'x', Received: 'x', 'X-Ref': '7' })
    for (const body of [null, 'x', {}, { headers: null }, { headers: [] }, { headers: 'Date' }])
      expect(dropHeaders(body)).toEqual([])
  })

  test('derives the stream from the headers, and removes X-Posthaste-Stream', () => {
    expect(readWith({}).stream).toBe('transactional')
    expect(readWith({ headers: { 'List-Unsubscribe': '<https://acme.example/u>' } }).stream).toBe('broadcast')
    const said = readWith({ headers: { Precedence: 'bulk', 'X-Posthaste-Stream': 'transactional' } })
    expect(said.stream).toBe('transactional')
    expect(said.headers).toEqual([{ name: 'Precedence', value: 'bulk' }])
  })

  test('accepts a Message-ID and a Reply-To among the headers', () => {
    const submission = readWith({
      headers: { 'message-id': '<1@acme.example>', 'Reply-To': 'Help <help@acme.example>' },
    })
    expect(submission.messageId).toBe('<1@acme.example>')
    expect(addresses(submission.replyTo)).toEqual(['help@acme.example'])
    expect(submission.headers).toEqual([])
  })

  test('reply_to overrides the header', () => {
    const submission = readWith({ reply_to: 'a@acme.example', headers: { 'reply-to': 'b@acme.example' } })
    expect(addresses(submission.replyTo)).toEqual(['a@acme.example'])
  })

  test('accepts tags', () => {
    expect(readWith({ tags: [{ name: 'kind', value: 'welcome_1-2' }] }).tags).toEqual([
      { name: 'kind', value: 'welcome_1-2' },
    ])
  })

  test('ignores unknown fields', () => {
    expect(readWith({ region: 'eu-west-1', id: 'x', __proto__: { from: 1 } }).subject).toBe('Hello')
  })
})

describe('rejected send requests', () => {
  test.each([
    ['from', { from: '' }, 'missing_field'],
    ['to', { to: '' }, 'missing_field'],
    ['to', { to: [] }, 'missing_field'],
    ['subject', { subject: '' }, 'missing_field'],
    ['subject', { subject: ' \t' }, 'missing_field'],
    ['html', { text: undefined }, 'missing_content'],
    ['html', { text: '', html: '' }, 'missing_content'],
    ['from', { from: 'nobody' }, 'invalid_address'],
    ['to', { to: ['bob@example.com', 'eve'] }, 'invalid_address'],
    ['to', { to: [''] }, 'invalid_address'],
    ['cc', { cc: 'bob@localhost' }, 'invalid_address'],
    ['bcc', { bcc: ['bob@[192.0.2.1]'] }, 'invalid_address'],
    ['reply_to', { reply_to: 'a@b.example\r\nBcc: eve@example.com' }, 'invalid_address'],
    ['subject', { subject: 'Hi\r\nBcc: eve@example.com' }, 'invalid_field'],
    ['subject', { subject: 'Hi\nthere' }, 'invalid_field'],
    ['subject', { subject: 'x'.repeat(999) }, 'invalid_field'],
    ['html', { html: 'a\0b' }, 'invalid_field'],
    ['text', { text: 'a\0b' }, 'invalid_field'],
    ['headers', { headers: { 'X Y': 'z' } }, 'invalid_field'],
    ['headers', { headers: { 'X\r\nBcc': 'z' } }, 'invalid_field'],
    ['headers.X-Posthaste-Stream', { headers: { 'X-Posthaste-Stream': 'marketing' } }, 'invalid_field'],
    ['headers.X-A', { headers: { 'X-A': 'b\r\nBcc: eve@example.com' } }, 'invalid_field'],
    ['headers.X-A', { headers: { 'X-A': 'b\r\n c\r\nBcc: eve@example.com' } }, 'invalid_field'],
    ['headers.X-A', { headers: { 'X-A': 'b\n c' } }, 'invalid_field'],
    ['headers.X-A', { headers: { 'X-A': 'b\r\n' } }, 'invalid_field'],
    ['headers.bcc', { headers: { bcc: 'eve@example.com' } }, 'invalid_field'],
    ['headers.Content-Type', { headers: { 'Content-Type': 'text/html' } }, 'invalid_field'],
    ['headers.Message-ID', { headers: { 'Message-ID': 'no angle brackets' } }, 'invalid_field'],
    ['headers.Reply-To', { headers: { 'Reply-To': 'nobody' } }, 'invalid_address'],
    [
      'headers.References',
      { headers: { References: '<1@a.example>', references: '<2@a.example>' } },
      'invalid_field',
    ],
    ['headers.Message-ID', { headers: { 'Message-ID': '<1@a.example>', 'message-id': '' } }, 'invalid_field'],
    [
      'headers',
      { headers: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`X-${i}`, '1'])) },
      'invalid_field',
    ],
    ['tags', { tags: Array.from({ length: 51 }, () => ({ name: 'a', value: 'b' })) }, 'invalid_field'],
  ] as const)('for its `%s`: %j', (field, fields, key) => {
    const { key: found, message } = refused(fields)
    expect(found).toBe(key)
    expect(message).toContain(`\`${field}\``)
  })

  test.each(['to', 'cc', 'bcc'])('rejects 51 recipients in %s', (field) => {
    const many = Array.from({ length: 51 }, (_, i) => `r${i}@example.com`)
    expect(refused({ [field]: many })).toEqual({
      key: 'too_many_recipients',
      message: `The \`${field}\` field accepts at most 50 recipients.`,
    })
  })

  test.each([
    [{ name: '', value: 'x' }, 'Missing `tags[0].name` field.'],
    [{ name: 'a'.repeat(257), value: 'x' }, 'Invalid `tags[0].name` field: at most 256 characters.'],
    [{ name: 'a', value: 'x'.repeat(257) }, 'Invalid `tags[0].value` field: at most 256 characters.'],
  ])('rejects the tag %j with a missing or too long name or value', (tag, message) => {
    expect(refused({ tags: [tag] }).message).toBe(message)
  })

  test.each([
    { name: 'ü', value: 'x' },
    { name: 'a b', value: 'x' },
    { name: 'a', value: 'x\r\n' },
  ])('rejects invalid characters in the tag %j', (tag) => {
    expect(refused({ tags: [tag] }).key).toBe('invalid_tag')
  })
})

describe('attachments', () => {
  const pdf = { filename: 'a.pdf', content: 'JVBERg==' }
  const read = (attachment: object) => readWith({ attachments: [attachment] }).attachments[0]!
  const refusedFor = (...attachments: object[]) => refused({ attachments })

  test('reads attachments from base64, and derives the type from the name', () => {
    expect(read(pdf)).toEqual({
      filename: 'a.pdf',
      contentType: 'application/pdf',
      contentId: null,
      content: Buffer.from('%PDF'),
    })
    expect(read({ content: '' })).toMatchObject({
      filename: null,
      contentType: 'application/octet-stream',
      content: Buffer.alloc(0),
    })
  })

  test.each([[[37, 80, 68, 70]], [{ type: 'Buffer', data: [37, 80, 68, 70] }]])(
    'reads attachments from bytes: %j',
    (content) => {
      expect(Buffer.from(read({ ...pdf, content }).content).toString()).toBe('%PDF')
    },
  )

  test('an attachment may declare its type', () => {
    expect(read({ ...pdf, content_type: 'Text/Calendar; method=REQUEST; charset="utf-8"' }).contentType).toBe(
      'text/calendar; method=REQUEST; charset="utf-8"',
    )
    expect(read({ ...pdf, content_type: '' }).contentType).toBe('application/pdf')
  })

  test('an attachment may have a content ID with or without angle brackets', () => {
    expect(read({ ...pdf, content_id: 'logo' }).contentId).toBe('logo')
    expect(read({ ...pdf, content_id: '<logo@acme>' }).contentId).toBe('logo@acme')
  })

  test.each([
    [{ filename: 'a' }, 'must have either a `content` or `path`'],
    [{ content: null }, 'must have either a `content` or `path`'],
    [{ path: '' }, 'must have either a `content` or `path`'],
    [{ path: '/etc/passwd' }, '`path` must be an http:// or https:// URL'],
    [{ path: 'file:///etc/passwd' }, '`path` must be an http:// or https:// URL'],
    [{ path: 'data:text/plain,hi' }, '`path` must be an http:// or https:// URL'],
    [{ path: 'https://' }, '`path` must be an http:// or https:// URL'],
    [{ path: 'https://me:secret@files.example/a' }, 'must not contain a user name or a password'],
    [{ path: 'http://files.example:25/a' }, 'must use port 80, 443 or one above 1023'],
    [{ path: `https://files.example/${'x'.repeat(9000)}` }, 'at most 8192 characters'],
    [{ path: 'https://files.example/a', content_type: 'pdf' }, '`content_type`'],
    [{ content: 'not base64!' }, 'base64'],
    [{ content: 'QUJ' + 'D'.repeat(2) }, 'base64'],
    [{ content: 'data:text/plain;base64,QQ==' }, 'base64'],
    [{ content: [1, 256] }, 'base64'],
    [{ content: [-1] }, 'base64'],
    [{ ...pdf, content_type: 'pdf' }, '`content_type`'],
    [{ ...pdf, content_type: 'a/b\r\nX: y' }, '`content_type`'],
    [{ ...pdf, content_type: 'multipart/mixed; boundary=x' }, '`content_type`'],
    [{ ...pdf, content_id: 'a b' }, '`content_id`'],
    [{ ...pdf, content_id: 'a\r\nX: y' }, '`content_id`'],
    [{ ...pdf, content_id: 'a>b' }, '`content_id`'],
  ])('rejects the attachment %j', (attachment, sentence) => {
    const { key, message } = refusedFor(pdf, attachment)
    expect(key).toBe('invalid_attachment')
    expect(message).toContain('attachment 2')
    expect(message).toContain(sentence)
  })

  test('rejects two attachments with the same content ID', () => {
    expect(refusedFor({ ...pdf, content_id: 'x' }, { ...pdf, content_id: 'x' }).key).toBe(
      'invalid_attachment',
    )
  })

  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\a.txt', 'a.txt'],
    ['a\r\nBcc: x', 'aBcc: x'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['..', null],
    ['a/', null],
    ['Übersicht 🚀.pdf', 'Übersicht 🚀.pdf'],
    [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(251)}.pdf`],
  ])('makes the file name %j safe', (given, clean) => {
    expect(cleanFilename(given)).toBe(clean)
  })

  test.each([
    ['', ''],
    ['QQ==', 'A'],
    ['QQ', 'A'],
    ['QUI=', 'AB'],
    ['QUJD', 'ABC'],
    ['QU\r\nJD\r\n', 'ABC'],
    ['__-_', '\xff\xff\xbf'],
    ['QQ=', 'A'],
    ['Q', undefined],
    ['QQ==QQ==', undefined],
    ['Q*JD', undefined],
    ['QUJ\u00e9', undefined],
  ])('decodes the base64 text %j', (text, decoded) => {
    const bytes = decodeBase64(text)
    expect(bytes && Buffer.from(bytes).toString('latin1')).toBe(decoded)
  })
})
