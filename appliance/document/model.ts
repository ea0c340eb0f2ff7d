/** What an email consists of, as data: the document that the editor changes. */
import type { Theme } from './theme.ts'

/** Formatting of a text. `link` has `href`, `color` has `color`. */
export interface Mark {
  type: string
  attrs?: Record<string, unknown>
}

/** A block or a piece of text, in the form that ProseMirror has for them. `grammar.ts` says which there are. */
export interface DocumentNode {
  type: string
  attrs?: Record<string, unknown>
  content?: DocumentNode[]
  marks?: Mark[]
  /** Only of nodes of the type `text`. */
  text?: string
}

export interface EmailDocument {
  /** Of the form of documents; other versions are refused. */
  version: 1
  /** Language of the text (BCP 47), for screen readers and translation. */
  language: string
  direction: 'ltr' | 'rtl'
  /** What inboxes show after the subject; may have merge tags. Empty: none. */
  preheader: string
  theme: Theme
  content: DocumentNode[]
}

/** An attribute that is a text; empty where it is none. */
export function textOf({ attrs }: Pick<DocumentNode, 'attrs'>, name: string): string {
  const value = attrs?.[name]
  return typeof value === 'string' ? value : ''
}
