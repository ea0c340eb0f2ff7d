/** Templates that were made from a document with the editor. */
import { compileInput } from '../document/given.ts'
import { refuse } from '../mail/refusals.ts'
import { parseMerge } from '../merge/merge.ts'
import type { TemplateChange } from '../storage/storage.ts'
import { MAX_CONTENT_LENGTH, type TemplateInput } from './input.ts'

/**
 * Compiles the document in the request and adds it to a change. Content written as code removes the document. Refuses:
 * `invalid_field`, `merge_tag`.
 */
export async function addDocument(
  change: TemplateChange,
  { document, html, text }: TemplateInput,
): Promise<TemplateChange> {
  if (document === undefined && html === undefined && text === undefined) return change
  if (document === undefined || document === null)
    return { ...change, content: { ...change.content, document: null } }
  for (const [field, value] of Object.entries({ html, text }))
    if (value !== undefined && value !== null)
      throw refuse('invalid_field', { field, expected: 'absent, because it is made from `document`' })
  const { preheader: _, ...compiled } = await compileInput(document, { preheader: true })
  if (compiled.html.length > MAX_CONTENT_LENGTH)
    throw refuse('invalid_field', {
      field: 'document',
      expected: `at most ${MAX_CONTENT_LENGTH} characters of HTML`,
    })
  for (const kind of ['html', 'text'] as const) parseMerge(kind, compiled[kind], 'document')
  return { ...change, content: { ...change.content, ...compiled } }
}
