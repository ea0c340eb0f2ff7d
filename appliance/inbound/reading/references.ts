/** Finds the references of a report or reply to the original message, in the returned content. Pure. */
import { splitMessage, type HeaderField } from '../../mail/headers.ts'
import type { MessageReferences } from '../../mail/returned.ts'
import { extractAddress } from './addresses.ts'
import { decodeBytes, getField, getDecodedField, type ParsedMessage } from './parts.ts'

/** RFC 3464 §2, RFC 6522 §4, RFC 6533 §6.3; the others are misspellings seen in practice. */
const RETURNED_TYPES = [
  'message/rfc822',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'text/rfc822',
  'message/global',
  'message/global-headers',
  'message/partial',
]

const MAX_HEADER = 64 * 1024
const MAX_IDS = 50

/** Our own fields, and those that feedback loops return (RFC 9477 §4.2). */
const OWN = /^(?:x-posthaste-[\w-]{1,60}|feedback-id|cfbl-feedback-id)$/

/** Returns the header of the returned message: from a part of its own, or after the text of a notice. */
function returnedHeader({ parts }: ParsedMessage, copy: string): readonly HeaderField[] {
  const part = parts.find(({ type }) => RETURNED_TYPES.includes(type))
  const text = part
    ? decodeBytes(part, MAX_HEADER)
    : Buffer.from(copy.slice(0, MAX_HEADER).replaceAll('\n', '\r\n'))
  // Some servers put blank lines in front, or indent the whole header.
  const start = /^(?:[ \t]*\r\n){0,20}/.exec(text.toString('latin1', 0, 2000))![0].length
  return splitMessage(text.subarray(start), 400).fields
}

/**
 * Finds the ids that the message names.
 *
 * @param copy the text after a plain-text notice, which may be the returned message
 */
export function findReferences(
  message: ParsedMessage,
  copy: string,
  envelopeId: string | null,
  mailFrom: string | null = null,
): MessageReferences {
  const header = returnedHeader(message, copy)
  const fields: Record<string, string> = {}
  for (const { name } of header) {
    const lower = name.toLowerCase()
    if (OWN.test(lower)) fields[lower] ??= (getField(header, lower) ?? '').slice(0, 1000)
  }
  return {
    messageId: idsIn(getField(header, 'message-id') ?? '')[0] ?? null,
    returnPath: mailFrom ?? extractAddress(getField(header, 'return-path') ?? ''),
    envelopeId,
    inReplyTo: [
      ...new Set([
        ...idsIn(getField(message.fields, 'in-reply-to') ?? ''),
        ...idsIn(getField(message.fields, 'references') ?? ''),
      ]),
    ].slice(0, MAX_IDS),
    fields,
    to: getDecodedField(header, 'to')?.slice(0, 2000) ?? null,
    subject: getDecodedField(header, 'subject')?.slice(0, 1000) ?? null,
  }
}

/** Returns the message ids in a field (RFC 5322 §3.6.4), with angle brackets. */
function idsIn(value: string): string[] {
  return value.match(/<[^<>\s]{1,320}>/g)?.slice(0, MAX_IDS) ?? []
}
