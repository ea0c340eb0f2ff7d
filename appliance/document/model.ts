/** The document of an email: its content as data, which the editor changes. */
import type { Theme } from './theme.ts'

/** The formatting of a text. `link` has `href`, `color` has `color`. */
export interface Mark {
  type: string
  attrs?: Record<string, unknown>
}

/** A block or a text, in ProseMirror's format. `grammar.ts` defines the allowed ones. */
export interface DocumentNode {
  type: string
  attrs?: Record<string, unknown>
  content?: DocumentNode[]
  marks?: Mark[]
  /** The text; only in nodes of type `text`. */
  text?: string
}

export interface EmailDocument {
  /** Version of the document format. Other versions are refused. */
  version: 1
  /** Language of the text (BCP 47), for screen readers and translation. */
  language: string
  direction: 'ltr' | 'rtl'
  /** The preview text that inboxes show after the subject. May have merge tags. Empty if there is none. */
  preheader: string
  theme: Theme
  content: DocumentNode[]
}

/** Returns the value of an attribute; empty if it isn't a string. */
export function getTextAttribute({ attrs }: Pick<DocumentNode, 'attrs'>, name: string): string {
  const value = attrs?.[name]
  return typeof value === 'string' ? value : ''
}
