/** Renders buttons: a link in a colored cell, or a VML shape for Word if the corners are round. */
import type { DocumentNode } from './model.ts'
import { renderLayoutBox, formatStyle, element, wrapForOthers, wrapForWord } from './html.ts'
import { renderInlineHtml, renderInlineText } from './inline.ts'
import { resolveAlignment, getFontStyles, type RenderContext } from './theme-styles.ts'

/** Pixels: the height of a button, and its horizontal padding. */
const HEIGHT = 44
const BESIDE = 24

/** Estimates the width of a text in pixels, which Word's shapes need. */
const widthOf = (text: string, size: number): number => Math.ceil([...text].length * size * 0.6)

export function renderButton(node: DocumentNode, look: RenderContext): string {
  const attrs = node.attrs ?? {}
  const { theme } = look
  const ground = typeof attrs.background === 'string' ? attrs.background : theme.accent
  const ink = typeof attrs.color === 'string' ? attrs.color : theme.accentText
  const [href, wide] = [String(attrs.href), attrs.wide === true]
  const words = renderInlineHtml(node.content, look) || '&nbsp;'
  const radius = theme.radius > 0 ? `${theme.radius}px` : null
  const style = formatStyle({
    ...getFontStyles(look),
    display: 'block',
    color: ink,
    'line-height': '20px',
    'font-weight': 'bold',
    'text-align': 'center',
    'text-decoration': 'none',
    padding: `${(HEIGHT - 20) / 2}px ${BESIDE}px`,
    'background-color': ground,
    'border-radius': radius,
  })
  // In some readers, a link without an address would reload the page, so it becomes colored text.
  const label = href === '' ? element('span', { style }, words) : element('a', { href, style }, words)
  const cell = { align: 'center', bgcolor: ground, style: formatStyle({ 'border-radius': radius }) }
  const align = resolveAlignment(attrs.align, look)
  const table = { width: wide ? '100%' : null, align: wide ? null : align }
  const plain = renderLayoutBox(table, cell, label)
  const drawn =
    radius === null || href === ''
      ? plain
      : wrapForWord(shape({ node, look, ground, ink, wide })) + wrapForOthers(plain)
  return renderLayoutBox({ width: '100%' }, { align }, drawn)
}

interface Shape {
  node: DocumentNode
  look: RenderContext
  ground: string
  ink: string
  wide: boolean
}

/** Draws a rounded rectangle in VML, the only kind that Word supports. */
function shape({ node, look, ground, ink, wide }: Shape): string {
  const { theme, room } = look
  const text = widthOf(renderInlineText(node.content), theme.fontSize) + 2 * BESIDE
  const width = wide ? room : Math.min(text, room)
  const arc = Math.min(50, Math.round((theme.radius / HEIGHT) * 100))
  const style = formatStyle({ height: `${HEIGHT}px`, 'v-text-anchor': 'middle', width: `${width}px` })
  const center = formatStyle({
    color: ink,
    'font-family': 'Arial,sans-serif',
    'font-size': `${theme.fontSize}px`,
    'font-weight': 'bold',
  })
  return element(
    'v:roundrect',
    { href: String(node.attrs?.href), style, arcsize: `${arc}%`, stroke: 'f', fillcolor: ground },
    `<w:anchorlock/>${element('center', { style: center }, renderInlineHtml(node.content, look))}`,
  )
}
