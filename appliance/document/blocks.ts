/** Renders blocks as HTML. Essential styles are inline and in tables, as Outlook for Windows and Gmail require. */
import { renderButton } from './button.ts'
import type { DocumentNode } from './model.ts'
import { NETWORKS } from './grammar.ts'
import {
  renderLayoutBox,
  formatStyle,
  element,
  escapeHtml,
  wrapForOthers,
  openNextWordCell,
  openWordTable,
  wordTableEnd,
} from './html.ts'
import { renderAnchor, renderInlineHtml } from './inline.ts'
import { resolveAlignment, getFontStyles, BLOCK_GAP, type RenderContext } from './theme-styles.ts'

type Render = (node: DocumentNode, look: RenderContext) => string

const attrs = (node: DocumentNode): Record<string, unknown> => node.attrs ?? {}
/** Adds space below a block, outside its table: Word ignores margins of tables. */
const below = (content: string, pixels = BLOCK_GAP): string =>
  renderLayoutBox({ width: '100%' }, { style: formatStyle({ padding: `0 0 ${pixels}px` }) }, content)
/** Gives an empty line its height. */
const orBlank = (content: string): string => content || '&nbsp;'

export const renderBlocks = (nodes: readonly DocumentNode[] = [], look: RenderContext): string =>
  nodes.map((node) => BLOCK_RENDERERS[node.type]!(node, look)).join('')

const paragraph: Render = (node, look) =>
  element(
    'p',
    {
      style: formatStyle({
        margin: `0 0 ${BLOCK_GAP}px`,
        'text-align': resolveAlignment(attrs(node).align, look),
      }),
    },
    orBlank(renderInlineHtml(node.content, look)),
  )

const HEADING_SIZES: Record<string, number> = { 1: 1.75, 2: 1.375, 3: 1.125 }

const heading: Render = (node, look) => {
  const level = String(attrs(node).level)
  const size = Math.round(look.theme.fontSize * HEADING_SIZES[level]!)
  const style = formatStyle({
    margin: `0 0 ${BLOCK_GAP}px`,
    'font-size': `${size}px`,
    'line-height': '1.3',
    'font-weight': 'bold',
    'text-align': resolveAlignment(attrs(node).align, look),
  })
  return element(`h${level}`, { style }, orBlank(renderInlineHtml(node.content, look)))
}

/**
 * Paragraphs in list items have only 6px of space below them. The list adds the rest of `BLOCK_GAP` after its last
 * item.
 */
const listItem: Render = (node, look) => {
  const inner = (node.content ?? []).map((child) =>
    child.type === 'paragraph'
      ? element('p', { style: 'margin:0 0 6px' }, orBlank(renderInlineHtml(child.content, look)))
      : BLOCK_RENDERERS[child.type]!(child, look),
  )
  return element('li', { style: 'margin:0' }, inner.join(''))
}

const list =
  (name: 'ul' | 'ol'): Render =>
  (node, look) => {
    const start = attrs(node).start
    const side = look.direction === 'rtl' ? '0 24px 0 0' : '0 0 0 24px'
    const attributes = {
      style: formatStyle({ margin: `0 0 ${BLOCK_GAP - 6}px`, padding: side }),
      start: typeof start === 'number' && start > 1 ? start : null,
    }
    return element(name, attributes, (node.content ?? []).map((item) => listItem(item, look)).join(''))
  }

const blockquote: Render = (node, look) => {
  const edge = look.direction === 'rtl' ? 'right' : 'left'
  const style = formatStyle({
    ...getFontStyles(look),
    [`border-${edge}`]: `3px solid ${look.theme.accent}`,
    padding: edge === 'right' ? '0 16px 0 0' : '0 0 0 16px',
  })
  const inside = { ...look, room: look.room - 19 }
  return below(
    renderLayoutBox({ width: '100%' }, { class: 'ink', style }, renderBlocks(node.content, inside)),
  )
}

const codeBlock: Render = (node) => {
  const text = (node.content ?? []).map((child) => child.text ?? '').join('')
  const style = formatStyle({
    'font-family': "'Courier New',Courier,monospace",
    'font-size': '14px',
    'line-height': '1.4',
    padding: '12px 16px',
    'background-color': '#f0f0f3',
    color: '#1b1c1f',
  })
  // Outlook and Gmail collapse spaces and lines of `pre`, so both are written explicitly.
  const lines = escapeHtml(text)
    .replaceAll('\t', '    ')
    .replaceAll('  ', ' &nbsp;')
    .replaceAll('\n', '<br />')
  return below(renderLayoutBox({ width: '100%', dir: 'ltr' }, { bgcolor: '#f0f0f3', style }, orBlank(lines)))
}

const image: Render = (node, look) => {
  const { src, darkSrc, alt, width, align, href } = attrs(node) as Record<string, string>
  if (src === '') return ''
  const pixels = Math.min(width ? Number(width) : look.room, look.room)
  const draw = (source: string, className: string | null): string => {
    const radius = look.theme.radius ? `${look.theme.radius}px` : null
    const margin = { left: '0', right: '0 0 0 auto', center: '0 auto' }[resolveAlignment(align, look)]!
    const style = formatStyle({
      display: className === 'dark' ? 'none' : 'block',
      width: `${pixels}px`,
      'max-width': '100%',
      height: 'auto',
      margin,
      'border-radius': radius,
    })
    return element('img', { src: source, alt: alt!, width: pixels, class: className, style })
  }
  const hasDark = darkSrc !== '' && look.theme.dark !== null
  const dark = hasDark ? wrapForOthers(draw(darkSrc!, 'dark')) : ''
  const pictures = draw(src!, hasDark ? 'light' : null) + dark
  const inner = href === '' ? pictures : element('a', { href: href! }, pictures)
  const cell = {
    align: resolveAlignment(align, look),
    style: formatStyle({ ...getFontStyles(look), padding: `0 0 ${BLOCK_GAP}px` }),
    class: 'ink',
  }
  return renderLayoutBox({ width: '100%' }, cell, inner)
}

const divider: Render = (node) => {
  const { color, thickness } = attrs(node)
  const line = `${String(thickness)}px solid ${typeof color === 'string' ? color : '#d5d6db'}`
  const style = formatStyle({ 'border-top': line, 'font-size': '1px', 'line-height': '1px' })
  return below(renderLayoutBox({ width: '100%' }, { style }, '&nbsp;'), BLOCK_GAP + 8)
}

const spacer: Render = (node) => {
  const height = Number(attrs(node).height)
  const style = formatStyle({ 'font-size': '1px', 'line-height': `${height}px` })
  return renderLayoutBox({ width: '100%' }, { height, style }, '&nbsp;')
}

const social: Render = (node, look) => {
  const links = Object.entries(attrs(node).links as Record<string, string>)
  if (links.length === 0) return ''
  const inner = links.map(([name, href]) => renderAnchor(href, NETWORKS[name as keyof typeof NETWORKS], look))
  const style = formatStyle({
    margin: `0 0 ${BLOCK_GAP}px`,
    'text-align': resolveAlignment(attrs(node).align, look),
  })
  return element('p', { style }, inner.join(' &nbsp;&middot;&nbsp; '))
}

/** Space between columns, in pixels. */
const GUTTER = 16

/** Puts columns side by side if there is space, otherwise below each other. Word gets a table. */
const columns: Render = (node, look) => {
  const all = node.content ?? []
  const total = all.reduce((sum, column) => sum + Number(attrs(column).share), 0)
  const widths = all.map((column) => Math.floor((look.room * Number(attrs(column).share)) / total))
  const drawn = all.map((column, at) => {
    const inside = { ...look, room: widths[at]! - GUTTER }
    const cell = {
      class: 'ink',
      style: formatStyle({ ...getFontStyles(look), padding: `0 ${GUTTER / 2}px` }),
    }
    const inner = renderLayoutBox({ width: '100%' }, cell, renderBlocks(column.content, inside))
    const style = formatStyle({
      display: 'inline-block',
      width: '100%',
      'max-width': `${widths[at]!}px`,
      'vertical-align': 'top',
    })
    const next = at === 0 ? '' : openNextWordCell({ width: widths[at]!, valign: 'top' })
    return next + element('div', { class: 'col', style }, inner)
  })
  const start = openWordTable({ width: '100%' }, { width: widths[0]!, valign: 'top' })
  // Without a font size of 0, the space between the inline blocks would break the row.
  const cell = { align: 'center', style: formatStyle({ 'font-size': '0', 'text-align': 'center' }) }
  return renderLayoutBox({ width: '100%' }, cell, start + drawn.join('') + wordTableEnd)
}

const section: Render = (node, look) => {
  const { background, padding } = attrs(node)
  const ground = typeof background === 'string' ? background : null
  const space = Number(padding)
  const style = formatStyle({
    ...getFontStyles(look),
    padding: `${space}px ${space}px ${Math.max(0, space - BLOCK_GAP)}px`,
    'background-color': ground,
    'border-radius': look.theme.radius ? `${look.theme.radius}px` : null,
  })
  const inside = { ...look, room: look.room - 2 * space }
  // A custom background stays in dark mode, and so does the text color on it.
  const cell = { class: ground ? null : 'ink', bgcolor: ground, style }
  return below(renderLayoutBox({ width: '100%' }, cell, renderBlocks(node.content, inside)))
}

/** The tag for the recipient's own unsubscribe link. */
export const UNSUBSCRIBE = '{{{UNSUBSCRIBE_URL}}}'

const footer: Render = (node, look) => {
  const { align, unsubscribe } = attrs(node)
  const words = String(unsubscribe)
  const style = formatStyle({
    margin: '0',
    'font-size': '13px',
    'line-height': '1.5',
    'text-align': resolveAlignment(align, look),
  })
  const link = words === '' ? '' : renderAnchor(UNSUBSCRIBE, escapeHtml(words), look)
  const inner = [renderInlineHtml(node.content, look), link].filter((part) => part !== '').join('<br />')
  return element('p', { style }, orBlank(inner))
}

const BLOCK_RENDERERS: Record<string, Render> = {
  paragraph,
  heading,
  bulletList: list('ul'),
  orderedList: list('ol'),
  blockquote,
  codeBlock,
  button: (node, look) => below(renderButton(node, look)),
  image,
  divider,
  spacer,
  social,
  columns,
  section,
  footer,
}
