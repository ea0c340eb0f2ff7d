/** Templates made with the editor from a document. */
import { compileGiven } from '../document/given.ts'
import { refuse } from '../mail/refusals.ts'
import { parseMerge } from '../merge/merge.ts'
import type { TemplateChange } from '../storage/storage.ts'
import { MAX_CONTENT, type TemplateInput } from './input.ts'

/**
 * Adds the compiled document of the request to a change. Content written as code removes the document. Refuses:
 * `invalid_field`, `merge_tag`.
 */
export async function withDocument(
  change: TemplateChange,
  { document, html, text }: TemplateInput,
): Promise<TemplateChange> {
  if (document === undefined && html === undefined && text === undefined) return change
  if (document === undefined || document === null)
    return { ...change, content: { ...change.content, document: null } }
  for (const [field, value] of Object.entries({ html, text }))
    if (value !== undefined && value !== null)
      throw refuse('invalid_field', { field, expected: 'absent, because it is made from `document`' })
  const { preheader: _, ...compiled } = await compileGiven(document, { preheader: true })
  if (compiled.html.length > MAX_CONTENT)
    throw refuse('invalid_field', {
      field: 'document',
      expected: `at most ${MAX_CONTENT} characters of HTML`,
    })
  for (const kind of ['html', 'text'] as const) parseMerge(kind, compiled[kind], 'document')
  return { ...change, content: { ...change.content, ...compiled } }
}
