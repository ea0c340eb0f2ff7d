/** Renders buttons: a link in a colored cell, or a VML shape for Word if the corners are round. */
import type { DocumentNode } from './model.ts'
import { box, css, element, forOthers, forWord } from './html.ts'
import { inlineHtml, inlineText } from './inline.ts'
import { alignOf, font, type Look } from './look.ts'

/** Pixels: the height of a button, and its horizontal padding. */
const HEIGHT = 44
const BESIDE = 24

/** Estimates the width of a text in pixels, which Word's shapes need. */
const widthOf = (text: string, size: number): number => Math.ceil([...text].length * size * 0.6)

export function renderButton(node: DocumentNode, look: Look): string {
  const attrs = node.attrs ?? {}
  const { theme } = look
  const ground = typeof attrs.background === 'string' ? attrs.background : theme.accent
  const ink = typeof attrs.color === 'string' ? attrs.color : theme.accentText
  const [href, wide] = [String(attrs.href), attrs.wide === true]
  const words = inlineHtml(node.content, look) || '&nbsp;'
  const radius = theme.radius > 0 ? `${theme.radius}px` : null
  const style = css({
    ...font(look),
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
  const cell = { align: 'center', bgcolor: ground, style: css({ 'border-radius': radius }) }
  const align = alignOf(attrs.align, look)
  const table = { width: wide ? '100%' : null, align: wide ? null : align }
  const plain = box(table, cell, label)
  const drawn =
    radius === null || href === ''
      ? plain
      : forWord(shape({ node, look, ground, ink, wide })) + forOthers(plain)
  return box({ width: '100%' }, { align }, drawn)
}

interface Shape {
  node: DocumentNode
  look: Look
  ground: string
  ink: string
  wide: boolean
}

/** Draws a rounded rectangle in VML, the only kind that Word supports. */
function shape({ node, look, ground, ink, wide }: Shape): string {
  const { theme, room } = look
  const text = widthOf(inlineText(node.content), theme.fontSize) + 2 * BESIDE
  const width = wide ? room : Math.min(text, room)
  const arc = Math.min(50, Math.round((theme.radius / HEIGHT) * 100))
  const style = css({ height: `${HEIGHT}px`, 'v-text-anchor': 'middle', width: `${width}px` })
  const center = css({
    color: ink,
    'font-family': 'Arial,sans-serif',
    'font-size': `${theme.fontSize}px`,
    'font-weight': 'bold',
  })
  return element(
    'v:roundrect',
    { href: String(node.attrs?.href), style, arcsize: `${arc}%`, stroke: 'f', fillcolor: ground },
    `<w:anchorlock/>${element('center', { style: center }, inlineHtml(node.content, look))}`,
  )
}
