/**
 * Reads bounces, automatic replies and complaints in plain text, by the table of formats (config/returned-mail.toml).
 * Pure.
 */
import type { ReportedRecipient, ReturnedMailFormat } from '../../mail/returned.ts'
import { extractAddress } from './addresses.ts'
import { getDecodedField, type ParsedMessage } from './parts.ts'
import { extractReason } from './delivery-report.ts'
import { findCodes, classifyFailure, collapseToLine, type Categorize } from './reason.ts'
import { MAX_RECIPIENTS } from './status-part.ts'

/** The result of matching a format. */
export interface MatchedNotice {
  format: ReturnedMailFormat
  recipients: ReportedRecipient[]
  /** The text after the notice: the returned message, or its header. */
  copy: string
}

const MAX_LINES = 1500
const MAX_LINE = 1000
const OPENING = 1500
const WORDS = 8000
/** Maximum number of lines of one recipient; the reason is among the first. */
const MAX_BLOCK = 30
const MAX_REASON = 2000

/** Reads a message by the first format that matches; undefined if none does. */
export function parseNotice(
  message: ParsedMessage,
  text: string,
  formats: readonly ReturnedMailFormat[],
  categorize: Categorize,
): MatchedNotice | undefined {
  const values = new Map<string, string | undefined>()
  const valueOf = (field: string): string | undefined => {
    if (!values.has(field)) values.set(field, getDecodedField(message.fields, field))
    return values.get(field)
  }
  const lines = text.split('\n', MAX_LINES).map((line) => line.slice(0, MAX_LINE).trimEnd())
  for (const format of formats) {
    if (!fitsHeader(format, valueOf)) continue
    const copyAt = lines.findIndex((line) => format.copy.some((pattern) => pattern.test(line)))
    const said = copyAt < 0 ? lines : lines.slice(0, copyAt)
    if (!fitsText(format, said)) continue
    const recipients = recipientsOf(format, said, valueOf, categorize)
    if (recipients.length === 0 && format.needsRecipient) continue
    return { format, recipients, copy: copyAt < 0 ? '' : copyOf(lines, copyAt) }
  }
  return undefined
}

function fitsHeader(format: ReturnedMailFormat, valueOf: (field: string) => string | undefined): boolean {
  const fits = ({ field, pattern }: ReturnedMailFormat['header'][number]): boolean => {
    const value = valueOf(field)
    return value !== undefined && pattern.test(value.slice(0, MAX_LINE))
  }
  return format.header.every(fits) && (format.anyHeader.length === 0 || format.anyHeader.some(fits))
}

function fitsText({ opening, text }: ReturnedMailFormat, lines: readonly string[]): boolean {
  if (opening.length === 0 && text.length === 0) return true
  const words = lines.join('\n').trimStart().slice(0, WORDS)
  const start = words.slice(0, OPENING)
  return (
    (opening.length === 0 || opening.some((pattern) => pattern.test(start))) &&
    (text.length === 0 || text.some((pattern) => pattern.test(words)))
  )
}

/** Returns the returned message after a marker line. If that line is a header field, it is included. */
function copyOf(lines: readonly string[], at: number): string {
  return lines.slice(/^[\w-]+:/.test(lines[at]!) ? at : at + 1).join('\n')
}

function recipientsOf(
  format: ReturnedMailFormat,
  lines: readonly string[],
  valueOf: (field: string) => string | undefined,
  categorize: Categorize,
): ReportedRecipient[] {
  if (format.kind !== 'bounce' && format.kind !== 'delayed') return []
  const blocks = new Map<string, string[]>()
  let current: string[] | undefined
  for (const line of lines) {
    const match = format.recipient.map((pattern) => pattern.exec(line)).find((one) => one !== null)
    const address = match ? extractAddress(match[1] ?? '') : null
    if (address !== null && blocks.size < MAX_RECIPIENTS) {
      const rest = line.slice(match!.index + match![0].length)
      current = blocks.get(address)
      if (current) current.push(line)
      else blocks.set(address, (current = [rest]))
    } else if (current && current.length < MAX_BLOCK) current.push(line)
  }
  const listed = format.recipientField === null ? [] : addressesOf(valueOf(format.recipientField))
  // The header field is the server's own list; addresses in the text may belong to anybody.
  const addresses = listed.length > 0 ? listed : [...blocks.keys()]
  const whole = lines.join('\n')
  return addresses.map((address) => {
    const block = blocks.get(address)?.join('\n') ?? ''
    return recipient(
      format,
      address,
      block.trim() === '' ? whole : block,
      addresses.length === 1 ? whole : '',
      categorize,
    )
  })
}

function addressesOf(value: string | undefined): string[] {
  const found = (value ?? '').split(/[,;\s]+/, MAX_RECIPIENTS).map(extractAddress)
  return [...new Set(found.filter((one) => one !== null))]
}

/**
 * Reads the part of a notice about one recipient.
 *
 * @param block the text after the address
 * @param whole the whole text, if it is about this recipient only
 */
function recipient(
  { kind }: ReturnedMailFormat,
  address: string,
  block: string,
  whole: string,
  categorize: Categorize,
): ReportedRecipient {
  const text = collapseToLine(block).slice(0, MAX_REASON)
  const own = findCodes(text)
  const other = own.code === null && own.status === null ? extractReason(whole) : ''
  const codes = other === '' ? own : findCodes(other)
  const diagnostic = collapseToLine(other === '' ? text : `${other} ${text}`).slice(0, MAX_REASON)
  const { category, topic, invalid } = classifyFailure(categorize, {
    ...codes,
    text: diagnostic,
  })
  return {
    original: null,
    final: address,
    action: kind === 'delayed' ? 'delayed' : 'failed',
    ...codes,
    diagnostic,
    remoteMta: null,
    category,
    topic,
    invalid: invalid && kind === 'bounce',
  }
}

/**
 * Returns the recipients of a notice. A bounce or delay notice that names none gets one entry without an address,
 * because only the return path identifies the recipient.
 */
export function createUnnamedRecipients(
  { format, recipients }: MatchedNotice,
  text: string,
  categorize: Categorize,
): ReportedRecipient[] {
  if (recipients.length > 0 || (format.kind !== 'bounce' && format.kind !== 'delayed')) return recipients
  const words = collapseToLine(text.slice(0, MAX_REASON))
  const codes = findCodes(words)
  const { category, topic } = classifyFailure(categorize, { ...codes, text: words })
  const action = format.kind === 'delayed' ? 'delayed' : 'failed'
  const none = { original: null, final: null, remoteMta: null, invalid: false }
  return [{ ...none, action, ...codes, diagnostic: words, category, topic }]
}
