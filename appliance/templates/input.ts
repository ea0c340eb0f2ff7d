/** Reads and checks templates in requests. Pure. */
import { parseMailbox } from '../mail/address.ts'
import { findFieldValueProblem } from '../mail/headers.ts'
import { isId, newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { parseMerge, parseVariables, type VariableInput } from '../merge/merge.ts'
import type { TemplateChange, TemplateContent, TemplateRef, TemplateVersion } from '../storage/storage.ts'

/** Limits in characters. Mail programs display a few hundred kilobytes. */
const MAX = { name: 255, alias: 100, subject: 998 }
/** Maximum length of the HTML and of the text, in characters. */
export const MAX_CONTENT_LENGTH = 1_000_000
const MAX_REPLY_TO = 10

/** A template in a request. Undefined fields are left unchanged; null and empty text remove optional fields. */
export interface TemplateInput {
  name?: string | undefined
  alias?: string | null | undefined
  from?: string | null | undefined
  subject?: string | null | undefined
  reply_to?: string | string[] | null | undefined
  html?: string | undefined
  text?: string | null | undefined
  /** The document; null means that HTML and text are written as code from now on. */
  document?: unknown
  variables?: VariableInput[] | null | undefined
}

/** Parses a reference to a template in a path or request: an ID or alias. */
export const parseTemplateRef = (text: string): TemplateRef =>
  isId(text) ? { id: text.toLowerCase() } : { alias: text }

/**
 * Reads a change. Refuses: `missing_field`, `invalid_field`, `invalid_address`, `merge_tag`.
 * @param old the version before the change: existing variables keep their ids
 */
export function parseTemplate(
  input: TemplateInput,
  old: Pick<TemplateVersion, 'variables'> | null,
  now: number,
): TemplateChange {
  const content: Partial<TemplateContent> = {}
  if (input.html !== undefined) content.html = readHtml(input.html)
  if (input.text !== undefined) content.text = readText(input.text)
  if (input.subject !== undefined) content.subject = readSubject(input.subject)
  if (input.from !== undefined) content.from = input.from ? readMailbox('from', input.from) : null
  if (input.reply_to !== undefined) content.replyTo = readReplyTo(input.reply_to)
  if (input.variables !== undefined) content.variables = readDeclared(input.variables ?? [], old, now)
  return {
    ...(input.name !== undefined && { name: readName(input.name) }),
    ...(input.alias !== undefined && { alias: readAlias(input.alias) }),
    content,
  }
}

function readName(given: string): string {
  const name = given.trim()
  if (name === '') throw refuse('missing_field', { field: 'name' })
  const problem = name.length > MAX.name ? `at most ${MAX.name} characters` : findFieldValueProblem(name)
  if (problem !== undefined) throw refuse('invalid_field', { field: 'name', expected: problem })
  return name
}

/** Reads an alias. It is used in paths, and must not look like an id. */
function readAlias(given: string | null): string | null {
  const alias = given?.trim() ?? ''
  if (alias === '') return null
  if (alias.length > MAX.alias || !/^[\p{L}\p{N}._~-]+$/u.test(alias) || isId(alias))
    throw refuse('invalid_field', {
      field: 'alias',
      expected: `at most ${MAX.alias} letters, digits, dots, dashes and underscores, and not the form of an id`,
    })
  return alias
}

function readHtml(html: string): string {
  if (html.trim() === '') throw refuse('missing_field', { field: 'html' })
  checkContent('html', html)
  return html.toWellFormed()
}

function readText(text: string | null): string | null {
  if (text === null) return null
  checkContent('text', text)
  return text.toWellFormed()
}

function checkContent(field: 'html' | 'text', content: string): void {
  if (content.length > MAX_CONTENT_LENGTH)
    throw refuse('invalid_field', { field, expected: `at most ${MAX_CONTENT_LENGTH} characters` })
  if (content.includes('\0'))
    throw refuse('invalid_field', { field, expected: 'text without NUL characters' })
  parseMerge(field, content, field)
}

function readSubject(given: string | null): string | null {
  const subject = given?.trim() ?? ''
  if (subject === '') return null
  const problem =
    subject.length > MAX.subject ? `at most ${MAX.subject} characters` : findFieldValueProblem(subject)
  if (problem !== undefined) throw refuse('invalid_field', { field: 'subject', expected: problem })
  parseMerge('header', subject, 'subject')
  return subject
}

function readMailbox(field: string, given: string): string {
  const text = given.trim()
  if (!parseMailbox(text)) throw refuse('invalid_address', { field })
  if (text.includes('{{{'))
    throw refuse('invalid_field', { field, expected: 'an address without merge tags' })
  return text
}

function readReplyTo(given: string | string[] | null): string[] | null {
  const all = given === null || given === '' ? [] : [given].flat()
  if (all.length > MAX_REPLY_TO)
    throw refuse('too_many_recipients', { field: 'reply_to', limit: MAX_REPLY_TO })
  return all.length === 0 ? null : all.map((one) => readMailbox('reply_to', one))
}

function readDeclared(
  given: VariableInput[],
  old: Pick<TemplateVersion, 'variables'> | null,
  now: number,
): TemplateContent['variables'] {
  const known = new Map(old?.variables.map((variable) => [variable.key, variable]))
  return parseVariables(given).map((variable) => {
    const before = known.get(variable.key)
    const same = before?.type === variable.type && before.fallback === variable.fallback
    const made = { id: before?.id ?? newId(now), createdAt: before?.createdAt ?? now }
    return { ...made, ...variable, updatedAt: same ? before.updatedAt : now }
  })
}
