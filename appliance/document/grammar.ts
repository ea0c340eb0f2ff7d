/** The allowed blocks and marks of a document, with their attributes. The editor and the renderer use this table. */
import {
  integerBetween,
  color,
  fallback,
  imageSource,
  line,
  link,
  mergeKey,
  oneOf,
  nullable,
  type ValueParser,
} from './values.ts'

/** Limits on a document: bytes of its JSON, number of nodes, and nesting depth. */
export const MAX_DOCUMENT = { bytes: 256 * 1024, nodes: 2000, depth: 12 }

/** An attribute: its allowed values and its default. */
export interface Attribute {
  reader: ValueParser<unknown>
  initial: unknown
}

interface Rule {
  attrs: Record<string, Attribute>
  /** Types of nodes that are allowed inside; empty if there are none. */
  content: readonly string[]
  /** Number of children; absent if any number is allowed. */
  children?: { least: number; most: number }
  /** Whether texts inside can't have marks. */
  plain?: true
}

const attribute = (reader: ValueParser<unknown>, initial: unknown): Attribute => ({ reader, initial })
const align = attribute(oneOf('left', 'center', 'right'), 'left')
const centered = attribute(oneOf('left', 'center', 'right'), 'center')
const ownColor = attribute(nullable(color), null)

const INLINE = ['text', 'variable', 'hardBreak'] as const
const FLOW = ['paragraph', 'heading', 'bulletList', 'orderedList', 'blockquote', 'codeBlock'] as const
/** Blocks that are allowed in a column. */
const INNER = [...FLOW, 'button', 'image', 'divider', 'spacer', 'social'] as const
/** Blocks that are allowed at the top level of a document. */
export const BLOCKS = [...INNER, 'columns', 'section', 'footer'] as const

/** Networks for social links, with their display names. */
export const NETWORKS = {
  website: 'Website',
  bluesky: 'Bluesky',
  facebook: 'Facebook',
  github: 'GitHub',
  instagram: 'Instagram',
  linkedin: 'LinkedIn',
  mastodon: 'Mastodon',
  threads: 'Threads',
  tiktok: 'TikTok',
  x: 'X',
  youtube: 'YouTube',
} as const

/** The links of a `social` block: an address per network. */
const networks: ValueParser<Record<string, string>> = {
  read: (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value)
    const good = entries.every(
      ([name, href]) => Object.hasOwn(NETWORKS, name) && link.read(href) === href && href !== '',
    )
    return good ? (value as Record<string, string>) : undefined
  },
  expected: `an object from ${Object.keys(NETWORKS).join(', ')} to links`,
}

const leaf = (attrs: Rule['attrs']): Rule => ({ attrs, content: [] })

export const NODES: Record<string, Rule> = {
  paragraph: { attrs: { align }, content: INLINE },
  heading: { attrs: { level: attribute(oneOf(1, 2, 3), 2), align }, content: INLINE },
  bulletList: { attrs: {}, content: ['listItem'], children: { least: 1, most: 500 } },
  orderedList: {
    attrs: { start: attribute(integerBetween(1, 9999), 1) },
    content: ['listItem'],
    children: { least: 1, most: 500 },
  },
  listItem: { attrs: {}, content: ['paragraph', 'bulletList', 'orderedList'] },
  blockquote: { attrs: {}, content: ['paragraph', 'heading', 'bulletList', 'orderedList'] },
  codeBlock: { attrs: {}, content: ['text'], plain: true },
  button: {
    attrs: {
      href: attribute(link, ''),
      align,
      background: ownColor,
      color: ownColor,
      wide: attribute(oneOf(true, false), false),
    },
    content: ['text', 'variable'],
    plain: true,
  },
  image: leaf({
    src: attribute(imageSource, ''),
    /** URL of an image for readers in dark mode; empty to use the same image. */
    darkSrc: attribute(imageSource, ''),
    alt: attribute(line(500), ''),
    /** Width in pixels; null for full width. */
    width: attribute(nullable(integerBetween(8, 1200)), null),
    align: centered,
    href: attribute(link, ''),
  }),
  divider: leaf({ color: ownColor, thickness: attribute(integerBetween(1, 8), 1) }),
  spacer: leaf({ height: attribute(integerBetween(4, 120), 24) }),
  social: leaf({ align: centered, links: attribute(networks, {}) }),
  columns: { attrs: {}, content: ['column'], children: { least: 2, most: 4 } },
  /** A column. `share` is its width in proportion to the other columns. */
  column: { attrs: { share: attribute(integerBetween(1, 3), 1) }, content: INNER },
  section: {
    attrs: { background: ownColor, padding: attribute(integerBetween(0, 48), 24) },
    content: INNER,
  },
  footer: {
    attrs: {
      align: centered,
      /** Text of the unsubscribe link; empty for no link. */
      unsubscribe: attribute(line(100), 'Unsubscribe'),
    },
    content: INLINE,
  },
  variable: leaf({ key: attribute(mergeKey, ''), fallback: attribute(fallback, '') }),
  hardBreak: leaf({}),
}

export const MARKS: Record<string, Record<string, Attribute>> = {
  bold: {},
  italic: {},
  underline: {},
  strike: {},
  code: {},
  link: { href: attribute(link, '') },
  color: { color: attribute(color, '') },
}
