import { describe, expect, test } from 'vitest'
import {
  checkValues,
  parseMerge,
  parseVariables,
  renderMerge,
  type TemplateVariable,
  createVariableValues,
} from '../../../appliance/merge/merge.ts'

const DECLARED: TemplateVariable[] = [
  { key: 'NAME', type: 'string', fallback: null },
  { key: 'PRICE', type: 'number', fallback: 25 },
]

const merge = (source: string, given: Record<string, unknown>, kind: 'html' | 'text' | 'header' = 'html') =>
  renderMerge(parseMerge(kind, source, kind), createVariableValues(DECLARED, checkValues(DECLARED, given)))

describe('template variables', () => {
  test('parses variables with their types and fallbacks', () => {
    expect(
      parseVariables([
        { key: 'A', type: 'string' },
        { key: 'b_1', type: 'number', fallback_value: 1.5 },
        { key: 'C', type: 'string', fallbackValue: 'c' },
        { key: 'D', type: 'boolean', fallback_value: false },
        { key: 'E', type: 'list', fallback_value: ['x', 1] },
        { key: 'F', type: 'object', fallback_value: { a: 1 } },
        { key: 'G', type: 'number', fallback_value: '' },
        { key: 'H', type: 'string', fallback_value: '' },
      ]),
    ).toEqual([
      { key: 'A', type: 'string', fallback: null },
      { key: 'b_1', type: 'number', fallback: 1.5 },
      { key: 'C', type: 'string', fallback: 'c' },
      { key: 'D', type: 'string', fallback: 'false' },
      { key: 'E', type: 'string', fallback: '["x",1]' },
      { key: 'F', type: 'string', fallback: '{"a":1}' },
      { key: 'G', type: 'number', fallback: null },
      { key: 'H', type: 'string', fallback: '' },
    ])
  })

  test.each([
    [[{ key: '', type: 'string' }], 'Missing `variables[0].key` field.'],
    [[{ key: 'a-b', type: 'string' }], 'letters'],
    [[{ key: 'x'.repeat(51), type: 'string' }], '1 to 50 letters'],
    [[{ key: 'FIRST_NAME', type: 'string' }], '`FIRST_NAME` is reserved'],
    [[{ key: 'RESEND_UNSUBSCRIBE_URL', type: 'string' }], 'is reserved'],
    [[{ key: 'this', type: 'string' }], '`this` is reserved'],
    [
      [
        { key: 'A', type: 'string' },
        { key: 'A', type: 'number' },
      ],
      'each key may occur once',
    ],
    [[{ key: 'A', type: 'number', fallback_value: 'many' }], 'a number of at most 2^53 - 1'],
    [[{ key: 'A', type: 'number', fallback_value: 2 ** 53 }], 'a number of at most 2^53 - 1'],
    [[{ key: 'A', type: 'string', fallback_value: 'x'.repeat(2001) }], 'at most 2000 characters'],
    [Array.from({ length: 51 }, (_, at) => ({ key: `A${at}`, type: 'string' })), 'at most 50 of them'],
  ])('rejects the variables %j', (given, message) => {
    expect(() => parseVariables(given)).toThrow(message)
  })
})

describe('values of template variables', () => {
  test.each([
    ['{{{NAME}}}: {{{PRICE}}}', { NAME: 'Tea', PRICE: 3.5 }, 'Tea: 3.5'],
    ['{{{NAME}}}: {{{PRICE}}}', { NAME: 'Tea' }, 'Tea: 25'],
    ['{{{NAME}}}: {{{PRICE|0}}}', { NAME: 'Tea', PRICE: null }, 'Tea: 0'],
    ['{{{NAME|you}}}', {}, 'you'],
    ['{{{NAME}}}', { NAME: '' }, ''],
    ['<ul>{{{NAME}}}</ul>', { NAME: '<li>{{{PRICE}}}</li>' }, '<ul><li>{{{PRICE}}}</li></ul>'],
    ['{{{NAME}}}', { NAME: true, other: 'x' }, 'true'],
    ['{{{NAME}}}', { NAME: ['a'] }, '["a"]'],
    ['{{{OTHER}}} {{{N}}}', { OTHER: 'x', N: 3 }, 'x 3'],
  ])('merges values into %s: %j produces %j', (source, given, expected) => {
    expect(merge(source, given)).toBe(expected)
  })

  test('values stay on one line in a subject', () => {
    expect(merge('For {{{NAME}}}', { NAME: 'a\r\nBcc: b@c.test' }, 'header')).toBe('For a Bcc: b@c.test')
  })

  test.each([
    ['{{{FIRST_NAME}}}', { FIRST_NAME: 'x', NAME: 'y' }, 'Missing value for the variable `FIRST_NAME`'],
    [
      '{{{NAME}}}',
      Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`A${at}`, 1])),
      'Invalid `template.variables` field: at most 50 of them',
    ],
    ['{{{NAME}}}', {}, 'Missing value for the variable `NAME`, which has no fallback value.'],
    ['{{{OTHER}}}', { NAME: 'y' }, 'Missing value for the variable `OTHER`'],
    ['{{{toString}}}', { NAME: 'y' }, '`toString`'],
    ['{{{PRICE}}}', { PRICE: '3' }, 'Invalid `template.variables.PRICE` field: a number'],
    ['{{{NAME}}}', { NAME: 'x'.repeat(2001) }, 'Invalid `template.variables.NAME` field: at most 2000'],
  ])('rejects values for %s: %j', (source, given, message) => {
    expect(() => merge(source, given)).toThrow(message)
  })
})
