/** The header of a message that arrived as bytes: what is taken out of it, what is put in. Pure. */
import { fieldValue, MAX_HEADER, splitMessage, type HeaderField } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import { STREAM_FIELD } from '../mail/stream.ts'

/** Who said what to us, for the Received field (RFC 5321 §4.4). */
export interface Trace {
  /** Our own name. */
  hostname: string
  /** What the client calls itself. */
  helo: string
  ip: string
  /** `ESMTPSA` and its kin (RFC 3848, RFC 6531 §4.3). */
  protocol: string
}

/** Header fields with a meaning for us, beside those of RFC 5322. All are taken out. */
export const CONTROL_FIELDS = {
  idempotencyKey: 'resend-idempotency-key',
  scheduledAt: 'x-posthaste-scheduled-at',
  stream: STREAM_FIELD,
  tagPrefixes: ['x-posthaste-tag-', 'x-resend-tag-'],
}

/** A message that went through more servers than this goes in circles (RFC 5321 §6.3). */
const MAX_RECEIVED = 50
/** Fields of a header; real ones have fewer than a hundred. */
const MAX_FIELDS = 1000

/** A header that was read. */
export interface Header {
  fields: HeaderField[]
  bodyOffset: number
  /** The values of all fields of that name, in order; the name in lower case. */
  all(name: string): string[]
}

/** Reads the header. Refuses: `message_malformed` where a line is no field, `message_loop`. */
export function readHeader(message: Uint8Array): Header {
  const { fields, bodyOffset } = splitMessage(message)
  if (bodyOffset > MAX_HEADER)
    throw refuse('message_malformed', { expected: `its header is larger than ${MAX_HEADER} bytes` })
  if (fields.length > MAX_FIELDS)
    throw refuse('message_malformed', { expected: `it has more than ${MAX_FIELDS} header fields` })
  // What one reader takes for the end of the header another skips: fields could hide behind such a line.
  if (bodyOffset < message.length && !endsWithBlankLine(message, bodyOffset))
    throw refuse('message_malformed', {
      expected: `after ${fields.length} header fields comes a line that is neither a field nor blank`,
    })
  const all = (name: string) => fields.filter((field) => field.name.toLowerCase() === name).map(fieldValue)
  if (all('received').length > MAX_RECEIVED) throw refuse('message_loop')
  return { fields, bodyOffset, all }
}

function endsWithBlankLine(message: Uint8Array, end: number): boolean {
  const isCrlf = (at: number) => message[at] === 13 && message[at + 1] === 10
  return isCrlf(end - 2) && (end === 2 || isCrlf(end - 4))
}

const removed = new Set([
  'bcc',
  'resent-bcc',
  'return-path',
  CONTROL_FIELDS.idempotencyKey,
  CONTROL_FIELDS.scheduledAt,
  CONTROL_FIELDS.stream,
])

function isRemoved({ name }: HeaderField): boolean {
  const lower = name.toLowerCase()
  return removed.has(lower) || CONTROL_FIELDS.tagPrefixes.some((prefix) => lower.startsWith(prefix))
}

/**
 * The message as it is kept: Received in front, what every message needs where it was missing (RFC 6409 §8), without the
 * fields that nobody must see. All other bytes are as they came.
 */
export function finishMessage(
  message: Uint8Array,
  header: Header,
  { trace, id, messageId, now }: { trace: Trace; id: string; messageId: string; now: number },
): Uint8Array {
  const date = rfc5322Date(now)
  const lacks = (name: string) => header.all(name).length === 0
  const added = [
    receivedField(trace, id, date),
    ...(lacks('message-id') ? [`Message-ID: ${messageId}\r\n`] : []),
    ...(lacks('date') ? [`Date: ${date}\r\n`] : []),
    ...(lacks('mime-version') ? ['MIME-Version: 1.0\r\n'] : []),
  ]
  const kept = header.fields.filter((field) => !isRemoved(field)).map(({ raw }) => raw)
  const hasBody = header.bodyOffset < message.length || endsWithBlankLine(message, message.length)
  const body = hasBody ? [Buffer.from('\r\n'), message.subarray(header.bodyOffset)] : []
  const unfinished = message.length > 0 && message.at(-1) !== 10
  return Buffer.concat([Buffer.from(added.join('')), ...kept, ...body, Buffer.from(unfinished ? '\r\n' : '')])
}

function receivedField({ hostname, helo, ip, protocol }: Trace, id: string, date: string): string {
  const name = /^[\w.\-:[\]]{1,255}$/.test(helo) ? helo : 'unknown'
  const literal = ip.includes(':') ? `[IPv6:${ip}]` : `[${ip}]`
  return `Received: from ${name} (${literal})\r\n by ${hostname} with ${protocol} id ${id};\r\n ${date}\r\n`
}

/** RFC 5322 §3.3, in UTC. */
function rfc5322Date(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000')
}
