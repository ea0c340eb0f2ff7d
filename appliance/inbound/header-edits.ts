/** Changes that a milter requests to a message's header. Pure. */
import { isFieldName, splitMessage } from '../mail/headers.ts'

/**
 * A change that the filter requested; changes are applied in order. A value begins with the white space after the
 * colon.
 */
export type HeaderEdit =
  /** Adds a field at the end. */
  | { kind: 'add'; name: string; value: string }
  /** Adds a field before the one at `index`, from 0. */
  | { kind: 'insert'; index: number; name: string; value: string }
  /** Replaces the field of this name at `index`, from 1; an empty value removes it. */
  | { kind: 'change'; index: number; name: string; value: string }

/** Limits on the changes of one message by one filter: their number, and the total size of their values. */
export const MAX_HEADER_EDITS = 200
const MOST_CHARACTERS = 256 * 1024

/**
 * Applies the changes. Lines of values may end with LF, as in the milter protocol; they are folded with CRLF (RFC 5322
 * §2.2.3). Throws if a name or value isn't allowed in a header.
 */
export function editHeader(message: Uint8Array, edits: readonly HeaderEdit[]): Uint8Array {
  if (edits.length === 0) return message
  if (edits.length > MAX_HEADER_EDITS) throw new Error(`more than ${MAX_HEADER_EDITS} changes of the header`)
  if (edits.reduce((sum, { value }) => sum + value.length, 0) > MOST_CHARACTERS)
    throw new Error(`changes of the header with more than ${MOST_CHARACTERS} characters`)
  const { fields } = splitMessage(message)
  const end = fields.reduce((sum, { raw }) => sum + raw.length, 0)
  const edited = [...fields]
  for (const edit of edits) {
    const { name, value } = edit
    const field = { name, raw: encode(name, value) }
    if (edit.kind === 'add') edited.push(field)
    else if (edit.kind === 'insert') edited.splice(Math.min(edit.index, edited.length), 0, field)
    else {
      const at = positionOf(edited, name, edit.index)
      if (at === -1 && value !== '') edited.push(field)
      else if (at !== -1) edited.splice(at, 1, ...(value === '' ? [] : [field]))
    }
  }
  // A message without a header begins with its body.
  const blank = fields.length === 0 && !startsWithBlankLine(message) ? [Buffer.from('\r\n')] : []
  return Buffer.concat([...edited.map(({ raw }) => raw), ...blank, message.subarray(end)])
}

const startsWithBlankLine = (message: Uint8Array): boolean => message[0] === 13 && message[1] === 10

/** Returns the position of the field of this name at `index` (from 1); -1 if there are fewer. */
function positionOf(fields: readonly { name: string }[], name: string, index: number): number {
  let seen = 0
  return fields.findIndex((field) => field.name.toLowerCase() === name.toLowerCase() && ++seen === index)
}

function encode(name: string, value: string): Uint8Array {
  if (!isFieldName(name)) throw new Error('a header field whose name is not allowed')
  const lines = value.replaceAll('\r\n', '\n').split('\n')
  if (lines.some((line, at) => /[\r\0]/.test(line) || (at > 0 && !/^[ \t]+\S/.test(line))))
    throw new Error('a header field with a line that is not folded')
  return Buffer.from(`${name}:${lines.join('\r\n')}\r\n`)
}
