import { describe, expect, test } from 'vitest'
import {
  getUnfoldedValue,
  findFieldValueProblem,
  foldField,
  isFieldName,
  isMessageId,
  explainReservedField,
  splitMessage,
} from '../../../appliance/mail/headers.ts'

test.each([
  ['short', 'X: short'],
  [`${'a'.repeat(70)} ${'b'.repeat(70)}`, `X: ${'a'.repeat(70)}\r\n ${'b'.repeat(70)}`],
  ['c'.repeat(900), `X: ${'c'.repeat(900)}`],
])('folds a header field at spaces: %s', (value, text) => expect(foldField('X', value)).toBe(text))

describe('header fields in API requests', () => {
  test.each([
    'X-Entity-Ref-ID',
    'List-Unsubscribe',
    'List-Unsubscribe-Post',
    'Feedback-ID',
    'In-Reply-To',
    'References',
    'Auto-Submitted',
    'Precedence',
    'Importance',
    'Contentment',
  ])('a request may set the header field %s', (name) => {
    expect(explainReservedField(name)).toBeUndefined()
  })

  test.each([
    'From',
    'TO',
    'cc',
    'Bcc',
    'Subject',
    'Sender',
    'Date',
    'MIME-Version',
    'Content-Type',
    'content-transfer-encoding',
    'Received',
    'Return-Path',
    'DKIM-Signature',
    'ARC-Seal',
    'Authentication-Results',
    'Resent-From',
  ])('a request may not set the header field %s', (name) => {
    expect(explainReservedField(name)).toEqual(expect.any(String))
  })
})

test.each(['', 'X Y', 'X:Y', 'X\r\nBcc', 'Ünïcode', 'X\0', `X${'a'.repeat(76)}`])(
  'rejects %j as a field name',
  (name) => {
    expect(isFieldName(name)).toBe(false)
  },
)

test('field values may not contain line breaks, control characters or overlong words', () => {
  expect(findFieldValueProblem('<https://example.com/u>, <mailto:u@example.com>\tö 🚀')).toBeUndefined()
  expect(findFieldValueProblem('a\r\nBcc: eve@example.com')).toContain('line breaks')
  expect(findFieldValueProblem('a\nb')).toContain('line breaks')
  expect(findFieldValueProblem('a\rb')).toContain('line breaks')
  expect(findFieldValueProblem('a\0b')).toContain('NUL')
  expect(findFieldValueProblem('a\u001bb')).toContain('control')
  expect(findFieldValueProblem('a\ud800b')).toContain('control')
  expect(findFieldValueProblem('x '.repeat(5000))).toContain('characters')
  expect(findFieldValueProblem('x'.repeat(901))).toContain('word')
})

test.each([
  ['<a.b@example.com>', true],
  ['<a@[192.0.2.1]>', true],
  ['a@example.com', false],
  ['<a@b> <c@d>', false],
  ['<a b@example.com>', false],
  ['<a@example.com>\r\nX: y', false],
])('isMessageId for %j returns %s', (text, good) => {
  expect(isMessageId(text)).toBe(good)
})

describe('splitMessage', () => {
  const split = (text: string) => {
    const { fields, bodyOffset } = splitMessage(Buffer.from(text))
    return {
      fields: fields.map((field) => [field.name, getUnfoldedValue(field)]),
      body: Buffer.from(text).subarray(bodyOffset).toString(),
    }
  }

  test('finds fields, unfolds them, and finds the body', () => {
    expect(split('From: a@b.c\r\nSubject: one\r\n two\r\n\tthree\r\nX: \r\n\r\nbody\r\n\r\nmore')).toEqual({
      fields: [
        ['From', 'a@b.c'],
        ['Subject', 'one two\tthree'],
        ['X', ''],
      ],
      body: 'body\r\n\r\nmore',
    })
  })

  test('keeps the raw bytes of a field, including its CRLF', () => {
    const [field] = splitMessage(Buffer.from('A : b\r\n c\r\nD: e\r\n\r\n')).fields
    expect(field?.name).toBe('A')
    expect(Buffer.from(field!.raw).toString()).toBe('A : b\r\n c\r\n')
  })

  test('handles messages without a body, without a header, and empty ones', () => {
    expect(split('A: b')).toEqual({ fields: [['A', 'b']], body: '' })
    expect(split('A: b\r\n\r\n')).toEqual({ fields: [['A', 'b']], body: '' })
    expect(split('\r\nbody')).toEqual({ fields: [], body: 'body' })
    expect(split('')).toEqual({ fields: [], body: '' })
    expect(split('A: b\r\nno field here\r\n')).toEqual({ fields: [['A', 'b']], body: 'no field here\r\n' })
  })
})
