/**
 * Extracts from the header of a received message the fields that lists and events show. All of it is untrusted. Pure.
 */
import { isMessageId } from '../mail/headers.ts'
import { isId } from '../mail/ids.ts'
import { getAllValues, splitHeader, type Header } from '../mime/entity.ts'
import { decodeWords } from '../mime/parser.ts'

export interface HeaderSummary {
  /** Decoded, otherwise as written; empty if there is none. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  /** The Message-ID; null if missing or invalid. */
  messageId: string | null
  /** Ids of emails that In-Reply-To and References may name (RFC 5322 §3.6.4), nearest first. */
  candidates: { id: string; messageId: string }[]
}

/** Maximum number of characters read from a field, and of entries kept from a list. */
const MOST_TEXT = 4096
const MOST_ADDRESSES = 100
const MOST_REFERENCES = 20

export function extractHeaderSummary(bytes: Uint8Array): HeaderSummary {
  const header = splitHeader(bytes)
  const list = (name: string) => addressesOf(getAllValues(header, name))
  return {
    from: list('from')[0] ?? '',
    to: list('to'),
    cc: list('cc'),
    bcc: list('bcc'),
    replyTo: list('reply-to'),
    subject: textOf(getAllValues(header, 'subject')[0] ?? ''),
    messageId: messageIdOf(header),
    candidates: candidatesOf(header),
  }
}

const textOf = (value: string): string =>
  decodeWords(value.slice(0, MOST_TEXT))
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()

/**
 * Splits a list at its commas, except those in quotes, comments and angle brackets. Other parsers may split
 * differently, so the result is for display only.
 */
function addressesOf(values: readonly string[]): string[] {
  const text = values.join(', ').slice(0, MOST_TEXT)
  const entries = text.match(/(?:"(?:[^"\\]|\\.)*"|<[^<>]*>|\([^()]*\)|[^,])+/g) ?? []
  return entries
    .map((entry) => textOf(entry.trim()))
    .filter((entry) => entry !== '')
    .slice(0, MOST_ADDRESSES)
}

function messageIdOf(header: Header): string | null {
  const [value = ''] = getAllValues(header, 'message-id')
  return isMessageId(value) ? value : null
}

function candidatesOf(header: Header): HeaderSummary['candidates'] {
  const text = [...getAllValues(header, 'references'), ...getAllValues(header, 'in-reply-to')].join(' ')
  const ids = (text.slice(-4 * MOST_TEXT).match(/<[^<>\s]{1,320}>/g) ?? [])
    .reverse()
    .slice(0, MOST_REFERENCES)
  return ids.flatMap((messageId) => {
    // Emails composed here have their id in the Message-ID.
    const id = messageId.slice(1, messageId.indexOf('@')).toLowerCase()
    return isId(id) ? [{ id, messageId }] : []
  })
}
