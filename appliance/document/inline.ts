/** Renders formatted text as HTML and as plain text. */
import { type DocumentNode, getTextAttribute } from './model.ts'
import { formatStyle, element, escapeHtml } from './html.ts'
import type { RenderContext } from './theme-styles.ts'

/** Formats a variable as a merge tag. The fallback is escaped like the text around it. */
function mergeTag(node: DocumentNode, escape: (text: string) => string): string {
  const fallback = getTextAttribute(node, 'fallback')
  return `{{{${getTextAttribute(node, 'key')}${fallback && `|${escape(fallback)}`}}}}`
}

const linkOf = (node: DocumentNode): string => {
  const link = node.marks?.find(({ type }) => type === 'link')
  return link ? getTextAttribute(link, 'href') : ''
}

const ELEMENTS: Record<string, string> = { bold: 'strong', italic: 'em', underline: 'u', strike: 's' }

const CODE = formatStyle({
  'font-family': "'Courier New',Courier,monospace",
  'font-size': '0.9em',
  'background-color': '#f0f0f3',
  color: '#1b1c1f',
  padding: '1px 4px',
})

function formatted(node: DocumentNode): string {
  if (node.type === 'hardBreak') return '<br />'
  const text =
    node.type === 'variable'
      ? mergeTag(node, escapeHtml)
      : escapeHtml(node.text ?? '').replaceAll('\n', '<br />')
  return (node.marks ?? []).reduce((inner, mark) => {
    const name = ELEMENTS[mark.type]
    if (name) return `<${name}>${inner}</${name}>`
    if (mark.type === 'code') return element('code', { style: CODE }, inner)
    if (mark.type === 'color')
      return element('span', { style: `color:${getTextAttribute(mark, 'color')}` }, inner)
    return inner
  }, text)
}

/** Groups neighbors with the same link into one link, whatever their formatting. */
function runs(nodes: readonly DocumentNode[]): { href: string; nodes: DocumentNode[] }[] {
  const found: { href: string; nodes: DocumentNode[] }[] = []
  for (const node of nodes) {
    const href = linkOf(node)
    const last = found.at(-1)
    if (last?.href === href) last.nodes.push(node)
    else found.push({ href, nodes: [node] })
  }
  return found
}

export function renderInlineHtml(nodes: readonly DocumentNode[] = [], look: RenderContext): string {
  return runs(nodes)
    .map(({ href, nodes }) => {
      const inner = nodes.map(formatted).join('')
      return href === '' ? inner : renderAnchor(href, inner, look)
    })
    .join('')
}

export const renderAnchor = (href: string, inner: string, { theme }: RenderContext): string =>
  element(
    'a',
    {
      href,
      class: 'link',
      style: formatStyle({ color: theme.link, 'text-decoration': 'underline' }),
    },
    inner,
  )

/** Formats a link in plain text: the address follows, unless the text is the address. */
export function renderTextLink(text: string, href: string): string {
  const bare = href.replace(/^mailto:/i, '')
  return href === '' || text === href || text === bare ? text : `${text} (${bare})`
}

export function renderInlineText(nodes: readonly DocumentNode[] = []): string {
  return runs(nodes)
    .map(({ href, nodes }) => renderTextLink(nodes.map(plain).join(''), href))
    .join('')
}

function plain(node: DocumentNode): string {
  if (node.type === 'hardBreak') return '\n'
  return node.type === 'variable' ? mergeTag(node, (text) => text) : (node.text ?? '')
}
