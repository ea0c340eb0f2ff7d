/** The header of a message that arrived as bytes: what is taken out of it, what is put in. Pure. */
import { formatDateTime, isDateTime } from '../mail/date.ts'
import { endsWithBlankLine, MAX_HEADER, repeatedField, type HeaderField } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import { STREAM_FIELD } from '../mail/stream.ts'
import { allOf, MAX_FIELDS, splitHeader, type Header } from '../mime/entity.ts'

/** Who said what to us, for the Received field (RFC 5321 §4.4). */
export interface Trace {
  /** Our own name. */
  hostname: string
  /** What the client calls itself. */
  helo: string
  ip: string
  /** `ESMTPSA` and its kin (RFC 3848, RFC 6531 §4.3). */
  protocol: string
  /** Whether recipients must not learn where the message was before it came here. */
  hideClient: boolean
}

/** Header fields with a meaning for us, beside those of RFC 5322. All are taken out. */
export const CONTROL_FIELDS = {
  idempotencyKey: 'resend-idempotency-key',
  scheduledAt: 'x-posthaste-scheduled-at',
  stream: STREAM_FIELD,
  topic: 'x-posthaste-topic',
  tagPrefixes: ['x-posthaste-tag-', 'x-resend-tag-'],
}

/** A message that went through more servers than this goes in circles (RFC 5321 §6.3). */
const MAX_RECEIVED = 50
/**
 * Reads the header. Refuses: `message_malformed` where a line is no field, `message_repeated_field`, `message_date`, `message_loop`.
 * From and Sender have a refusal of their own, which covers all that can be wrong with them.
 */
export function readHeader(message: Uint8Array): Header {
  const header = splitHeader(message)
  const { fields, bodyOffset } = header
  if (fields.length > MAX_FIELDS)
    throw refuse('message_malformed', { expected: `it has more than ${MAX_FIELDS} header fields` })
  if (bodyOffset > MAX_HEADER)
    throw refuse('message_malformed', { expected: `its header is larger than ${MAX_HEADER} bytes` })
  // What one reader takes for the end of the header another skips: fields could hide behind such a line.
  if (bodyOffset < message.length && !endsWithBlankLine(message, bodyOffset))
    throw refuse('message_malformed', {
      expected: `the line after ${fields.length} header fields is neither a field nor blank`,
    })
  const names = fields.map(({ name }) => name)
  const repeated = repeatedField(names.filter((name) => !judgedApart.has(name.toLowerCase())))
  if (repeated) throw refuse('message_repeated_field', repeated)
  const [date] = allOf(header, 'date')
  if (date !== undefined && !isDateTime(date)) throw refuse('message_date')
  if (allOf(header, 'received').length > MAX_RECEIVED) throw refuse('message_loop')
  return header
}

/** Fields whose repetition has a refusal of its own. */
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

/** Fields that name the app's machine, or those before it. */
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

/** White space before the colon is obsolete, and must not be written (RFC 5322 §4.5.3). */
function repaired({ name, raw }: HeaderField): Uint8Array {
  const colon = raw.indexOf(58)
  return colon === name.length ? raw : Buffer.concat([Buffer.from(name, 'latin1'), raw.subarray(colon)])
}

/**
 * The message as it is kept: Received in front, what every message needs where it was missing (RFC 6409 §8), without the
 * fields that nobody must see. All other bytes are as they came, but for white space before a colon.
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
  const lacks = (name: string) => allOf(header, name).length === 0
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

/** RFC 5321 §4.4; without its FROM clause, as large providers write it of mail that is submitted, when the client is hidden. */
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
