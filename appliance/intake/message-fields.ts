/** The header of a message that arrived as bytes: removes some fields and adds others. Pure. */
import { formatDateTime, isDateTime } from '../mail/date.ts'
import { endsWithBlankLine, MAX_HEADER, findRepeatedField, type HeaderField } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import { STREAM_FIELD } from '../mail/stream.ts'
import { getAllValues, MAX_FIELDS, splitHeader, type Header } from '../mime/entity.ts'

/** The SMTP session, for the Received field (RFC 5321 §4.4). */
export interface Trace {
  /** This server's name. */
  hostname: string
  /** The name that the client gave. */
  helo: string
  ip: string
  /** `ESMTPSA` and similar (RFC 3848, RFC 6531 §4.3). */
  protocol: string
  /** Whether to hide the client's name and IP from recipients. */
  hideClient: boolean
}

/** Header fields with a meaning for Posthaste, in addition to those of RFC 5322. All are removed. */
export const CONTROL_FIELDS = {
  idempotencyKey: 'resend-idempotency-key',
  scheduledAt: 'x-posthaste-scheduled-at',
  stream: STREAM_FIELD,
  topic: 'x-posthaste-topic',
  tagPrefixes: ['x-posthaste-tag-', 'x-resend-tag-'],
}

/** A message that passed more servers than this is in a loop (RFC 5321 §6.3). */
const MAX_RECEIVED = 50
/**
 * Reads the header. Refuses: `message_malformed` if a line isn't a field, `message_repeated_field`, `message_date`,
 * `message_loop`. From and Sender have their own refusal for all problems.
 */
export function parseHeader(message: Uint8Array): Header {
  const header = splitHeader(message)
  const { fields, bodyOffset } = header
  if (fields.length > MAX_FIELDS)
    throw refuse('message_malformed', { expected: `it has more than ${MAX_FIELDS} header fields` })
  if (bodyOffset > MAX_HEADER)
    throw refuse('message_malformed', { expected: `its header is larger than ${MAX_HEADER} bytes` })
  // Mail programs disagree on whether such a line ends the header, so fields could be hidden after it.
  if (bodyOffset < message.length && !endsWithBlankLine(message, bodyOffset))
    throw refuse('message_malformed', {
      expected: `the line after ${fields.length} header fields is neither a field nor blank`,
    })
  const names = fields.map(({ name }) => name)
  const repeated = findRepeatedField(names.filter((name) => !judgedApart.has(name.toLowerCase())))
  if (repeated) throw refuse('message_repeated_field', repeated)
  const [date] = getAllValues(header, 'date')
  if (date !== undefined && !isDateTime(date)) throw refuse('message_date')
  if (getAllValues(header, 'received').length > MAX_RECEIVED) throw refuse('message_loop')
  return header
}

/** Fields whose repetition has its own refusal. */
const judgedApart = new Set(['from', 'sender'])

const removed = new Set([
  'bcc',
  'resent-bcc',
  'return-path',
  CONTROL_FIELDS.idempotencyKey,
  CONTROL_FIELDS.scheduledAt,
  CONTROL_FIELDS.stream,
  CONTROL_FIELDS.topic,
])

/** Fields that reveal the app's machine, or machines that the message passed before. */
const tellingOfClient = new Set([
  'received',
  'x-received',
  'x-originating-ip',
  'x-client-ip',
  'x-sender-ip',
  'x-source-ip',
])

function isRemoved({ name }: HeaderField, { hideClient }: Trace): boolean {
  const lower = name.toLowerCase()
  if (hideClient && tellingOfClient.has(lower)) return true
  return removed.has(lower) || CONTROL_FIELDS.tagPrefixes.some((prefix) => lower.startsWith(prefix))
}

/** Removes whitespace before the colon, which is obsolete and must not be generated (RFC 5322 §4.5.3). */
function repaired({ name, raw }: HeaderField): Uint8Array {
  const colon = raw.indexOf(58)
  return colon === name.length ? raw : Buffer.concat([Buffer.from(name, 'latin1'), raw.subarray(colon)])
}

/**
 * Builds the stored message: adds Received and missing required fields at the top (RFC 6409 §8), and removes fields
 * that recipients must not see. All other bytes stay, except whitespace before a colon.
 */
export function finishMessage(
  message: Uint8Array,
  header: Header,
  last: {
    trace: Trace
    id: string
    messageId: string
    now: number
    added: { name: string; value: string }[]
  },
): Uint8Array {
  const { trace, id, messageId, now } = last
  const date = formatDateTime(now)
  const lacks = (name: string) => getAllValues(header, name).length === 0
  const added = [
    receivedField(trace, id, date),
    ...(lacks('message-id') ? [`Message-ID: ${messageId}\r\n`] : []),
    ...(lacks('date') ? [`Date: ${date}\r\n`] : []),
    ...(lacks('mime-version') ? ['MIME-Version: 1.0\r\n'] : []),
    ...last.added
      .filter(({ name }) => lacks(name.toLowerCase()))
      .map(({ name, value }) => `${name}: ${value}\r\n`),
  ]
  const kept = header.fields.filter((field) => !isRemoved(field, trace)).map(repaired)
  const hasBody = header.bodyOffset < message.length || endsWithBlankLine(message, message.length)
  const body = hasBody ? [Buffer.from('\r\n'), message.subarray(header.bodyOffset)] : []
  const unfinished = message.length > 0 && message.at(-1) !== 10
  return Buffer.concat([Buffer.from(added.join('')), ...kept, ...body, Buffer.from(unfinished ? '\r\n' : '')])
}

/**
 * Formats the Received field (RFC 5321 §4.4). Omits the FROM clause if the client is hidden, as large providers do for
 * submitted mail.
 */
function receivedField(
  { hostname, helo, ip, protocol, hideClient }: Trace,
  id: string,
  date: string,
): string {
  const rest = `by ${hostname} with ${protocol} id ${id};\r\n ${date}\r\n`
  if (hideClient) return `Received: ${rest}`
  const name = /^[\w.\-:[\]]{1,255}$/.test(helo) ? helo : 'unknown'
  const literal = ip.includes(':') ? `[IPv6:${ip}]` : `[${ip}]`
  return `Received: from ${name} (${literal})\r\n ${rest}`
}
