/** Renders the text part of a document, for readers that don't show HTML. */
import { UNSUBSCRIBE } from './blocks.ts'
import { type DocumentNode, getTextAttribute } from './model.ts'
import { NETWORKS } from './grammar.ts'
import { renderInlineText, renderTextLink } from './inline.ts'

const indent = (text: string, first: string, rest: string): string =>
  text
    .split('\n')
    .map((line, at) => `${at === 0 ? first : rest}${line}`.trimEnd())
    .join('\n')

function listText(node: DocumentNode): string {
  const start = Number(node.attrs?.start ?? 1)
  const items = (node.content ?? []).map((item, at) => {
    const bullet = node.type === 'orderedList' ? `${start + at}. ` : '- '
    const inner = (item.content ?? []).map(blockText).filter((text) => text !== '')
    return indent(inner.join('\n'), bullet, ' '.repeat(bullet.length))
  })
  return items.join('\n')
}

function imageText(node: DocumentNode): string {
  const [alt, href] = [getTextAttribute(node, 'alt'), getTextAttribute(node, 'href')]
  if (alt === '') return href
  return renderTextLink(`[${alt}]`, href)
}

function socialText({ attrs = {} }: DocumentNode): string {
  return Object.entries(attrs.links as Record<string, string>)
    .map(([name, href]) => `${NETWORKS[name as keyof typeof NETWORKS]}: ${href}`)
    .join('\n')
}

function footerText(node: DocumentNode): string {
  const words = getTextAttribute(node, 'unsubscribe')
  const link = words === '' ? '' : `${words}: ${UNSUBSCRIBE}`
  return [renderInlineText(node.content), link].filter((text) => text !== '').join('\n')
}

function blockText(node: DocumentNode): string {
  switch (node.type) {
    case 'paragraph':
    case 'heading':
      return renderInlineText(node.content)
    case 'bulletList':
    case 'orderedList':
      return listText(node)
    case 'blockquote':
      return indent(renderText(node.content), '> ', '> ')
    case 'codeBlock':
      return indent(renderInlineText(node.content), '    ', '    ')
    case 'button':
      return renderTextLink(renderInlineText(node.content), getTextAttribute(node, 'href'))
    case 'image':
      return imageText(node)
    case 'divider':
      return '-'.repeat(40)
    case 'spacer':
      return ''
    case 'social':
      return socialText(node)
    case 'footer':
      return footerText(node)
    default:
      return renderText(node.content)
  }
}

/** Renders blocks as plain text, separated by blank lines. */
export const renderText = (nodes: readonly DocumentNode[] = []): string =>
  nodes
    .map(blockText)
    .filter((text) => text !== '')
    .join('\n\n')
