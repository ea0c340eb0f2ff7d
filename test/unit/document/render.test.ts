import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { compileDocument } from '../../../appliance/document/document.ts'
import { BLOCK_SAMPLES, documentOf, everything } from './samples.ts'

/** The HTML between the frame's last cell and its end. */
const MARK = 'word-break:break-word">'
function blockHtml(block: object): string {
  const { html } = compileDocument(documentOf([block]))
  return html.slice(html.indexOf(MARK) + MARK.length, html.lastIndexOf('</td></tr></table><!--[if mso]>'))
}

describe.each(Object.entries(BLOCK_SAMPLES))('%s', (_, block) => {
  test('renders as HTML', () => {
    expect(blockHtml(block)).toMatchSnapshot()
  })

  test('renders as text', () => {
    expect(compileDocument(documentOf([block])).text).toMatchSnapshot()
  })
})

test('an email has language, direction, subject and preheader', () => {
  const document = documentOf([], { language: 'he', direction: 'rtl', preheader: 'a < b' })
  expect(compileDocument(document, 'Tom & Co')).toMatchSnapshot()
})

test('a right-to-left document is aligned right', () => {
  const document = documentOf([BLOCK_SAMPLES.paragraph!, BLOCK_SAMPLES.quote!], { direction: 'rtl' })
  const { html } = compileDocument(document)
  expect(html).toContain('text-align:right')
  expect(html).toContain('border-right:3px')
  expect(html).not.toContain('text-align:left')
})

test('a theme without dark colors renders no dark mode rules', () => {
  const { html } = compileDocument(everything({ theme: { dark: null } }))
  expect(html).not.toContain('prefers-color-scheme')
  expect(html).not.toContain('i/b.png')
  expect(html).toContain('content="light"')
})

/** Returns tags that aren't closed in order, with conditional comments read as by Word or as by all other clients. */
function unbalanced(html: string, word: boolean): string[] {
  const seen = word
    ? html
        .replaceAll(/<!--\[if !mso\]><!-->.*?<!--<!\[endif\]-->/g, '')
        .replaceAll(/<!--\[if mso\]>|<!\[endif\]-->/g, '')
    : html.replaceAll(/<!--\[if mso\]>.*?<!\[endif\]-->/g, '')
  const open: string[] = []
  const wrong: string[] = []
  for (const [, end, name, closed] of seen.matchAll(/<(\/?)([a-z][\w:]*)[^<>]*?(\/?)>/g))
    if (end === '/') {
      if (open.pop() !== name) wrong.push(name!)
    } else if (closed === '') open.push(name!)
  return [...wrong, ...open]
}

test('all tags are closed in order, both for Word and for other clients', () => {
  const { html } = compileDocument(everything())
  expect(unbalanced(html, true)).toEqual([])
  expect(unbalanced(html, false)).toEqual([])
})

test("an email with every block is smaller than Gmail's clipping limit", () => {
  const { html } = compileDocument(everything())
  expect(Buffer.byteLength(html)).toBeLessThan(102_400)
  // Shows growth. Counts the frame and each block.
  expect(Math.round(Buffer.byteLength(html) / 1024)).toMatchInlineSnapshot(`13`)
})

test("style sheets have no nested at-rules, and are smaller than Gmail's limit", () => {
  const { html } = compileDocument(everything())
  const sheets = [...html.matchAll(/<style>(.*?)<\/style>/g)].map(([, rules]) => rules!)
  expect(sheets).toHaveLength(5)
  expect(sheets.join('').length).toBeLessThan(16_384)
  for (const sheet of sheets) expect(sheet).not.toMatch(/@media[^{]*\{[^@]*@/)
})

test('hostile text is escaped', () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>' --><![endif]-->`
  const document = documentOf([
    { type: 'paragraph', content: [{ type: 'text', text: hostile }] },
    { type: 'button', attrs: { href: 'https://example.com' }, content: [{ type: 'text', text: hostile }] },
    { type: 'image', attrs: { src: 'https://example.com/a.png', alt: hostile } },
    { type: 'footer', attrs: { unsubscribe: hostile } },
    { type: 'paragraph', content: [{ type: 'variable', attrs: { key: 'a', fallback: hostile } }] },
  ])
  const { html } = compileDocument(document, hostile)
  const names: string[] = []
  const attributes = new Set<string>()
  new Parser({
    onopentag: (name, given) => {
      names.push(name)
      for (const key of Object.keys(given)) attributes.add(key)
    },
  }).end(html)
  expect(names).not.toContain('script')
  expect([...attributes].filter((name) => name.startsWith('on'))).toEqual([])
  expect(html.split('--><![endif]-->')).toHaveLength(1)
})
