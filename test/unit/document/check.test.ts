import { describe, expect, test } from 'vitest'
import { checkDocument } from '../../../appliance/document/document.ts'
import { everything } from './samples.ts'

const content = (...blocks: unknown[]): unknown => ({ version: 1, content: blocks })
const repeated = (block: unknown, times: number): unknown[] => Array.from({ length: times }, () => block)
const linked = (href: string): unknown =>
  content({ type: 'button', attrs: { href }, content: [{ type: 'text', text: 'Go' }] })
const said = (document: unknown): string => {
  try {
    checkDocument(document)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

test('checkDocument returns a complete document unchanged', () => {
  const document = everything()
  expect(checkDocument(JSON.parse(JSON.stringify(document)))).toEqual(document)
})

test('checkDocument fills in defaults', () => {
  expect(checkDocument({ version: 1, content: [] })).toMatchObject({
    language: 'en',
    direction: 'ltr',
    preheader: '',
    theme: { width: 600, font: 'sans' },
  })
})

test.each([
  ['a value that is no object', 'x', 'Invalid `document` field'],
  ['another version', { version: 2, content: [] }, 'Invalid `document.version` field'],
  ['a missing content', { version: 1 }, 'Invalid `document.content` field'],
  ['an unknown field', { version: 1, content: [], html: '' }, 'Invalid `document.html` field'],
  ['an unknown block', content({ type: 'script' }), 'Invalid `document.content[0].type` field'],
  [
    'a block type named like an object property',
    content({ type: 'constructor' }),
    'Invalid `document.content[0].type` field',
  ],
  [
    'an unknown attribute',
    content({ type: 'spacer', attrs: { onclick: 'x' } }),
    'Invalid `document.content[0].attrs.onclick` field',
  ],
  [
    'a style in a color',
    content({ type: 'divider', attrs: { color: 'red;background:url(x)' } }),
    'Invalid `document.content[0].attrs.color` field',
  ],
  ['columns in columns', columnsIn(), 'Invalid `document.content[0].content[0].content[0].type` field'],
  ['two footers', content({ type: 'footer' }, { type: 'footer' }), 'at most one footer'],
  [
    'a font with quotes',
    { version: 1, content: [], theme: { font: "'x'" } },
    'Invalid `document.theme.font` field',
  ],
  [
    'marks in code',
    content({ type: 'codeBlock', content: [{ type: 'text', text: 'a', marks: [{ type: 'bold' }] }] }),
    'no marks in this block',
  ],
  [
    'a social network named like an object property',
    content({ type: 'social', attrs: { links: { constructor: 'https://example.com' } } }),
    'Invalid `document.content[0].attrs.links` field',
  ],
  [
    'a variable that ends its tag',
    content({ type: 'paragraph', content: [{ type: 'variable', attrs: { key: 'a}}}', fallback: '' } }] }),
    'Invalid `document.content[0].content[0].attrs.key` field',
  ],
  [
    'a fallback that ends its tag',
    content({ type: 'paragraph', content: [{ type: 'variable', attrs: { key: 'a', fallback: 'x}}}' } }] }),
    'Invalid `document.content[0].content[0].attrs.fallback` field',
  ],
])('checkDocument rejects %s', (_, document, message) => {
  expect(said(document)).toContain(message)
})

function columnsIn(): unknown {
  const columns = { type: 'columns', content: [{ type: 'column' }, { type: 'column' }] }
  return content({ type: 'columns', content: [{ type: 'column', content: [columns] }, { type: 'column' }] })
}

describe('links in a document', () => {
  test.each([
    'https://example.com/a?b=c#d',
    'http://example.com',
    'mailto:ada@example.com?subject=Hi',
    'https://example.com/?who={{{contact.email}}}',
    'https://example.com/#{{{TOKEN|none}}}',
    '{{{RESET_URL}}}',
    '{{{UNSUBSCRIBE_URL}}}',
    '',
  ])('accepts the link %s', (href) => {
    expect(said(linked(href))).toBe('accepted')
  })

  test.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'ftp://example.com',
    '//example.com',
    '/relative',
    'https://',
    'https://exa mple.com',
    'https://example.com/"onclick=',
    'https://{{{HOST}}}/',
    'https://example.com/{{{PATH}}}',
    '{{{contact.first_name}}}',
    '{{{FIRST_NAME}}}',
    '{{{contact.properties.site}}}',
    'mailto:',
    `https://example.com/${'a'.repeat(2000)}`,
  ])('rejects the link %s', (href) => {
    expect(said(linked(href))).toContain('Invalid `document.content[0].attrs.href` field')
  })
})

describe('document limits', () => {
  test('rejects a document with more than 2000 nodes', () => {
    expect(said(content(...repeated({ type: 'spacer' }, 2001)))).toContain('at most 2000 nodes')
  })

  test('rejects a document with more than 12 levels', () => {
    let list: object = { type: 'bulletList', content: [{ type: 'listItem' }] }
    for (let at = 0; at < 20; at++)
      list = { type: 'bulletList', content: [{ type: 'listItem', content: [list] }] }
    expect(said(content(list))).toContain('at most 12 levels')
  })

  test('rejects a deeply nested attribute value', () => {
    const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
    expect(said(content({ type: 'spacer', attrs: { height: deep } }))).toContain('attrs.height')
  })

  test('rejects a document with more than 262144 bytes', () => {
    const long = { type: 'paragraph', content: [{ type: 'text', text: 'ä'.repeat(19_000) }] }
    expect(said(content(...repeated(long, 6)))).toBe('accepted')
    expect(said(content(...repeated(long, 7)))).toContain('at most 262144 bytes')
  })
})
