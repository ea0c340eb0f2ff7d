/**
 * Renders blocks that aren't plain text in the editor. Sets styles as properties, since the content security policy
 * forbids style attributes.
 */
import type { NodeViewRenderer } from '@tiptap/core'
import { NETWORKS } from '../../../appliance/document/grammar.ts'
import { getServerImagePath } from './own-images.svelte.ts'

type Attrs = Record<string, unknown>
interface View {
  dom: HTMLElement
  contentDOM?: HTMLElement
}

function make(name: string, className: string, text = ''): HTMLElement {
  const element = document.createElement(name)
  element.className = className
  element.textContent = text
  return element
}
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const flow: Record<string, string> = { left: 'flex-start', center: 'center', right: 'flex-end' }

/** Creates the renderer of a block from a function that draws its outer element. */
const view =
  (type: string, draw: (attrs: Attrs) => View): NodeViewRenderer =>
  ({ node }) => {
    const made = draw(node.attrs)
    made.dom.dataset.block = type
    return made
  }

function image(attrs: Attrs): View {
  const dom = make('figure', 'block-image')
  dom.style.alignItems = flow[textOf(attrs.align)] ?? 'center'
  const [src, alt] = [textOf(attrs.src), textOf(attrs.alt)]
  const own = getServerImagePath(src)
  if (own === null) {
    const words = src === '' ? 'No image chosen yet' : `Image from ${new URL(src).host}`
    dom.append(make('span', 'block-empty', words))
  } else {
    const shown = document.createElement('img')
    shown.src = own
    shown.alt = alt
    if (typeof attrs.width === 'number') shown.style.width = `${attrs.width}px`
    dom.append(shown)
  }
  if (src !== '' && alt === '') dom.append(make('span', 'block-warning', 'No alternative text'))
  return { dom }
}

function button(attrs: Attrs): View {
  const dom = make('div', 'block-button')
  dom.style.alignItems = attrs.wide === true ? 'stretch' : flow[textOf(attrs.align)]!
  const contentDOM = make('span', 'block-button-text')
  if (attrs.background !== null) contentDOM.style.background = textOf(attrs.background)
  if (attrs.color !== null) contentDOM.style.color = textOf(attrs.color)
  dom.append(contentDOM)
  if (textOf(attrs.href) === '') {
    const warning = make('span', 'block-warning', 'No link')
    warning.contentEditable = 'false'
    dom.append(warning)
  }
  return { dom, contentDOM }
}

function divider(attrs: Attrs): View {
  const dom = make('div', 'block-divider')
  const line = document.createElement('hr')
  line.style.borderTop = `${String(attrs.thickness)}px solid ${textOf(attrs.color) || '#d5d6db'}`
  dom.append(line)
  return { dom }
}

function spacer(attrs: Attrs): View {
  const dom = make('div', 'block-spacer', `${String(attrs.height)} px`)
  dom.style.height = `${String(attrs.height)}px`
  return { dom }
}

function social(attrs: Attrs): View {
  const names = Object.keys(attrs.links as object) as (keyof typeof NETWORKS)[]
  const dom = make('div', 'block-social', names.map((name) => NETWORKS[name]).join(' · '))
  if (names.length === 0) dom.append(make('span', 'block-empty', 'No social links yet'))
  dom.style.textAlign = textOf(attrs.align)
  return { dom }
}

function variable(attrs: Attrs): View {
  const [key, fallback] = [textOf(attrs.key), textOf(attrs.fallback)]
  const className = fallback === '' ? 'block-variable bare' : 'block-variable'
  return { dom: make('span', className, fallback === '' ? key : `${key} | ${fallback}`) }
}

function container(className: string): View {
  const dom = make('div', className)
  return { dom, contentDOM: dom }
}

function column(attrs: Attrs): View {
  const made = container('block-column')
  made.dom.style.flexGrow = String(attrs.share)
  return made
}

function section(attrs: Attrs): View {
  const made = container('block-section')
  made.dom.style.padding = `${String(attrs.padding)}px`
  if (attrs.background !== null) made.dom.style.background = textOf(attrs.background)
  return made
}

function footer(attrs: Attrs): View {
  const dom = make('div', 'block-footer')
  dom.style.textAlign = textOf(attrs.align)
  const contentDOM = make('p', '')
  const words = textOf(attrs.unsubscribe)
  const link = make('span', words === '' ? 'block-empty' : 'link', words || 'No unsubscribe link')
  link.contentEditable = 'false'
  dom.append(contentDOM, link)
  return { dom, contentDOM }
}

/** Text blocks with alignment. */
const aligned =
  (name: (attrs: Attrs) => string) =>
  (attrs: Attrs): View => {
    const dom = make(name(attrs), '')
    dom.style.textAlign = textOf(attrs.align)
    return { dom, contentDOM: dom }
  }

export const NODE_VIEWS: Record<string, NodeViewRenderer> = Object.fromEntries(
  Object.entries({
    image,
    button,
    divider,
    spacer,
    social,
    variable,
    column,
    section,
    footer,
    columns: () => container('block-columns'),
    paragraph: aligned(() => 'p'),
    heading: aligned(({ level }) => `h${String(level)}`),
  }).map(([type, draw]) => [type, view(type, draw)]),
)
