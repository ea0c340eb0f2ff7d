/** Validates documents in requests, and compiles them for storage. */
import { setImmediate } from 'node:timers/promises'
import { checkDocument, compileDocument, type EmailDocument } from './document.ts'
import type { DocumentNode } from './model.ts'

/** A document as stored, and its compiled content. */
export interface CompiledDocument {
  /** JSON. */
  document: string
  html: string
  text: string
  preheader: string
}

/**
 * Reads the document of a request. The size limit (`MAX_DOCUMENT`) keeps each of the two steps under 50 ms. Refuses:
 * `invalid_field`, with the path of the value.
 * @param args preheader: whether the preheader is kept in the document; a broadcast has a separate field for it
 */
export async function compileInput(
  given: unknown,
  { preheader }: { preheader: boolean },
): Promise<CompiledDocument> {
  const checked = checkDocument(given)
  const document = preheader ? checked : { ...checked, preheader: '' }
  await setImmediate()
  const { html, text } = compileDocument(document, titleOf(document))
  return { document: JSON.stringify(document), html, text, preheader: checked.preheader }
}

/**
 * Returns the first heading, or else the first paragraph, without variables and tags, because readers may show the
 * title before values are merged.
 */
function titleOf({ content }: EmailDocument): string {
  const lines = content.filter(({ type }) => type === 'heading' || type === 'paragraph')
  const [first = ''] = [
    ...lines.filter(({ type }) => type === 'heading').map(wordsOf),
    ...lines.map(wordsOf),
  ].filter((words) => words !== '')
  return first
}

const wordsOf = ({ content = [] }: DocumentNode): string =>
  content
    .map(({ text = ' ' }) => text)
    .join('')
    .replaceAll(/\{\{\{[^{}]*\}\}\}|[{}]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
