/** Documents that tests render: one block of each kind, and all of them together. */
import { checkDocument, type EmailDocument } from '../../../appliance/document/document.ts'

const text = (words: string, ...marks: object[]): object =>
  marks.length > 0 ? { type: 'text', text: words, marks } : { type: 'text', text: words }
const paragraph = (...content: (string | object)[]): object => ({
  type: 'paragraph',
  content: content.map((one) => (typeof one === 'string' ? text(one) : one)),
})
const link = (href: string): object => ({ type: 'link', attrs: { href } })
const item = (words: string, ...more: object[]): object => ({
  type: 'listItem',
  content: [paragraph(words), ...more],
})
const variable = (key: string, fallback = ''): object => ({ type: 'variable', attrs: { key, fallback } })

/** One block of each kind, by name. */
export const BLOCK_SAMPLES: Record<string, object> = {
  paragraph: paragraph('Hello ', variable('contact.first_name', 'Tom & Co'), ', see <you> soon.'),
  'empty paragraph': { type: 'paragraph', attrs: { align: 'right' } },
  marks: paragraph(
    text('bold', { type: 'bold' }),
    text(' italic', { type: 'italic' }),
    text(' underlined', { type: 'underline' }),
    text(' struck', { type: 'strike' }),
    text(' code', { type: 'code' }),
    text(' red', { type: 'color', attrs: { color: '#C01020' } }),
    { type: 'hardBreak' },
    text('a ', link('https://example.com/?a=1&b=2')),
    text('link', link('https://example.com/?a=1&b=2'), { type: 'bold' }),
  ),
  heading: { type: 'heading', attrs: { level: 1, align: 'center' }, content: [text('News')] },
  'bullet list': {
    type: 'bulletList',
    content: [
      item('one'),
      item('two', { type: 'orderedList', attrs: { start: 3 }, content: [item('three'), item('four')] }),
    ],
  },
  quote: { type: 'blockquote', content: [paragraph('Simple is better.')] },
  code: { type: 'codeBlock', content: [text('if (a < b) {\n  run()\n}')] },
  button: { type: 'button', attrs: { href: 'https://example.com/start' }, content: [text('Get started')] },
  'wide button': {
    type: 'button',
    attrs: { href: 'mailto:ada@example.com', wide: true, background: '#ffcc00', color: '#101010' },
    content: [text('Write to '), variable('SUPPORT_NAME', 'us')],
  },
  'button without an address': { type: 'button', content: [text('Soon')] },
  image: {
    type: 'image',
    attrs: { src: 'https://example.com/i/a.png', alt: 'A "cat"', width: 300, href: 'https://example.com' },
  },
  'image with a dark version': {
    type: 'image',
    attrs: { src: 'https://example.com/i/a.png', darkSrc: 'https://example.com/i/b.png', align: 'left' },
  },
  'image without a source': { type: 'image' },
  divider: { type: 'divider', attrs: { color: '#cccccc', thickness: 2 } },
  spacer: { type: 'spacer', attrs: { height: 40 } },
  social: {
    type: 'social',
    attrs: { links: { mastodon: 'https://example.social/@a', github: 'https://github.com/a' } },
  },
  columns: {
    type: 'columns',
    content: [
      { type: 'column', attrs: { share: 2 }, content: [paragraph('left')] },
      { type: 'column', content: [{ type: 'image', attrs: { src: 'https://example.com/i/c.gif' } }] },
    ],
  },
  section: { type: 'section', attrs: { background: '#eef0ff' }, content: [paragraph('inside')] },
  footer: {
    type: 'footer',
    content: [text('Example Ltd'), { type: 'hardBreak' }, text('1 Main Street')],
  },
  'footer without a link': { type: 'footer', attrs: { unsubscribe: '' }, content: [text('Example Ltd')] },
}

export const documentOf = (content: object[], more: object = {}): EmailDocument =>
  checkDocument({ version: 1, content, ...more })

/** Returns a document with all blocks. */
export const everything = (more: object = {}): EmailDocument => {
  const blocks = Object.entries(BLOCK_SAMPLES).filter(([name]) => name !== 'footer without a link')
  return documentOf(
    blocks.map(([, block]) => block),
    { preheader: 'What is new, {{{contact.first_name|friend}}}', ...more },
  )
}
