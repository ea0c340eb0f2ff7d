/**
 * Merges values into subjects, HTML, text and header fields: `{{{KEY}}}`, `{{{contact.first_name|fallback}}}`. Sources
 * are parsed once and rendered many times. Values are never parsed as sources, and no tag is left in the result. Double
 * braces aren't tags. Pure.
 */
import { refuse } from '../mail/refusals.ts'
import { cleanHeaderValue, escapeHtmlValue, toOneLine, cleanPlainValue } from './escape.ts'
import {
  MAX_MERGED_LENGTH,
  type MergeKind,
  type MergeSource,
  type MergeTag,
  type MergeValues,
} from './source.ts'

export {
  ARCHIVE_KEY,
  createContactValues,
  LINK_KEYS,
  type MergeContact,
  type MergeProperty,
} from './contact-values.ts'
export { type MergeKind, type MergeSource, type MergeValues, parseMerge, listTags } from './source.ts'
export {
  checkValues,
  parseVariables,
  type TemplateVariable,
  createVariableValues,
  type VariableInput,
} from './variables.ts'

/** Limit on the characters of a header field before encoding (RFC 5322 §2.1.1). */
const MAX_HEADER = 998

/**
 * Renders a source with a set of values.
 * Refuses: `merge_missing` with the name of a tag without value and fallback, `merge_too_large`.
 */
export function renderMerge({ kind, pieces }: MergeSource, values: MergeValues): string {
  const limit = kind === 'header' ? MAX_HEADER : MAX_MERGED_LENGTH
  const rendered: string[] = []
  let length = 0
  for (const piece of pieces) {
    const text = typeof piece === 'string' ? piece : renderTag(kind, piece, values)
    length += text.length
    if (length > limit) throw refuse('merge_too_large', { limit })
    rendered.push(text)
  }
  const whole = rendered.join('')
  return kind === 'header' ? toOneLine(whole) : whole
}

function renderTag(kind: MergeKind, { key, fallback, place }: MergeTag, values: MergeValues): string {
  const value = values(key)
  const given = value?.text ?? null
  // A fallback in the source is as trusted as the source itself.
  if (given === null && fallback !== null) return fallback
  if (!value) throw refuse('merge_missing', { name: key })
  const text = given ?? value.fallback ?? ''
  if (value.raw) return kind === 'header' ? toOneLine(text) : text.toWellFormed()
  if (kind === 'header') return cleanHeaderValue(text)
  return kind === 'html' ? escapeHtmlValue(text, place) : cleanPlainValue(text)
}
