/**
 * The TipTap schema of documents (`grammar.ts`). It rejects all content that documents can't contain, also in pasted
 * content.
 */
import { type AnyExtension, Mark, Node } from '@tiptap/core'
import { type Attribute, BLOCKS, MARKS, NODES } from '../../../appliance/document/grammar.ts'
import { NODE_VIEWS } from './editor-views.ts'

/** The HTML element of each block, for rendering and for parsing pasted HTML. */
const ELEMENTS: Record<string, string> = {
  paragraph: 'p',
  bulletList: 'ul',
  orderedList: 'ol',
  listItem: 'li',
  blockquote: 'blockquote',
  codeBlock: 'pre',
  divider: 'hr',
  hardBreak: 'br',
  image: 'img',
}
const MARK_ELEMENTS: Record<string, string[]> = {
  bold: ['strong', 'b'],
  italic: ['em', 'i'],
  underline: ['u'],
  strike: ['s', 'del'],
  code: ['code'],
  link: ['a[href]'],
}
const INLINE = new Set(['text', 'variable', 'hardBreak'])
const BASE = { divider: 'div', image: 'div', heading: 'h2' } as Record<string, string>

/** Defines attributes, which are JSON in copied HTML. Pasted values are validated, because they are untrusted. */
function attributesOf(rules: Record<string, Attribute>) {
  const entries = Object.entries(rules).map(([name, { reader, initial }]) => {
    const called = `data-${name.toLowerCase()}`
    const parseHTML = (element: HTMLElement) => {
      const written = element.getAttribute(called)
      if (written === null) return undefined
      try {
        return reader.read(JSON.parse(written) as unknown)
      } catch {
        // The attribute isn't JSON: the HTML is from another program.
        return undefined
      }
    }
    const renderHTML = (attrs: Record<string, unknown>) => ({ [called]: JSON.stringify(attrs[name]) })
    return [name, { default: initial, parseHTML, renderHTML }] as const
  })
  return Object.fromEntries(entries)
}

/** Parsers of attributes in HTML from other programs. */
const FOREIGN: Record<string, (element: HTMLElement) => Record<string, unknown> | false> = {
  image: (element) => {
    const src = read(NODES.image!.attrs.src!, element.getAttribute('src'))
    if (typeof src !== 'string' || src === '') return false
    return { src, alt: read(NODES.image!.attrs.alt!, element.getAttribute('alt')) ?? '' }
  },
  link: (element) => {
    const href = read(MARKS.link!.href!, element.getAttribute('href'))
    return typeof href === 'string' && href !== '' && { href }
  },
}
const read = ({ reader }: Attribute, value: unknown): unknown => reader.read(value)

/**
 * Returns the content expression of a node (ProseMirror syntax). Containers need at least one block, so that people can
 * type in them.
 */
function contentOf(type: string): string {
  const { content, children } = NODES[type]!
  if (content.length === 0) return ''
  if (type === 'listItem') return 'paragraph (paragraph | bulletList | orderedList)*'
  const any = `(${content.join(' | ')})`
  if (children) return `${any}{${children.least},${type === 'columns' ? children.most : ''}}`
  return content.includes('text') ? `${any}*` : `${any}+`
}

function nodeOf(type: string): AnyExtension {
  const rule = NODES[type]!
  const leaf = rule.content.length === 0
  const element = ELEMENTS[type]
  const foreign = FOREIGN[type]
  return Node.create({
    name: type,
    content: contentOf(type),
    inline: INLINE.has(type),
    atom: leaf,
    code: type === 'codeBlock',
    defining: !leaf && !['paragraph', 'listItem'].includes(type),
    isolating: ['column', 'section', 'footer', 'button'].includes(type),
    draggable: leaf && !INLINE.has(type),
    ...(rule.plain && { marks: '' }),
    ...(type === 'hardBreak' && { linebreakReplacement: true }),
    addAttributes: () => attributesOf(rule.attrs),
    parseHTML: () => [
      { tag: `[data-block="${type}"]`, priority: 60 },
      ...(type === 'heading'
        ? [1, 2, 3, 4, 5, 6].map((n) => ({ tag: `h${n}`, attrs: { level: Math.min(n, 3) } }))
        : []),
      ...(element ? [{ tag: element, ...(foreign && { getAttrs: foreign }) }] : []),
      ...(type === 'codeBlock' ? [{ tag: 'pre', preserveWhitespace: 'full' as const, priority: 55 }] : []),
    ],
    renderHTML({ HTMLAttributes, node }) {
      const tag = type === 'heading' ? `h${String(node.attrs.level)}` : (BASE[type] ?? element ?? 'div')
      const attributes = { ...HTMLAttributes, 'data-block': type }
      if (type === 'hardBreak') return ['br']
      return leaf ? [INLINE.has(type) ? 'span' : tag, attributes] : [tag, attributes, 0]
    },
    ...(NODE_VIEWS[type] && { addNodeView: () => NODE_VIEWS[type]! }),
  })
}

function markOf(type: string): AnyExtension {
  const foreign = FOREIGN[type]
  return Mark.create({
    name: type,
    ...(type === 'link' && { inclusive: false }),
    addAttributes: () => attributesOf(MARKS[type]!),
    parseHTML: () => [
      { tag: `[data-mark="${type}"]`, priority: 60 },
      ...(MARK_ELEMENTS[type] ?? []).map((tag) => ({ tag, ...(foreign && { getAttrs: foreign }) })),
    ],
    renderHTML({ HTMLAttributes, mark }) {
      const color: unknown = mark.attrs.color
      const attributes = { ...HTMLAttributes, 'data-mark': type }
      // Rendered without `<a>`, so that a click doesn't leave the dashboard.
      if (type === 'link') return ['span', { ...attributes, class: 'link' }, 0]
      if (type === 'color') return ['span', { ...attributes, style: `color: ${String(color)}` }, 0]
      return [MARK_ELEMENTS[type]![0]!, attributes, 0]
    },
  })
}

/** The schema of the editor. */
export const SCHEMA: AnyExtension[] = [
  Node.create({ name: 'doc', topNode: true, content: `(${BLOCKS.join(' | ')})+` }),
  Node.create({ name: 'text' }),
  // The first matching type is the default for new blocks.
  ...Object.keys(NODES).map(nodeOf),
  // Links are outside other marks, so that adjacent text with one target is a single link.
  ...Object.keys(MARKS)
    .sort((one, other) => Number(other === 'link') - Number(one === 'link'))
    .map(markOf),
]
