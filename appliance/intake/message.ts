/** Accepts a message that arrives as bytes: reads and checks its header, and keeps the rest unchanged. */
import type { Mailbox } from '../mail/address.ts'
import type { EnvelopeDsn, RecipientDsn } from '../mail/dsn.ts'
import {
  getUnfoldedValue,
  findFieldValueProblem,
  isMessageId,
  explainReservedField,
  type HeaderField,
} from '../mail/headers.ts'
import { computeBodyDigest } from '../mail/json-body.ts'
import { refuse } from '../mail/refusals.ts'
import { EXPECTED_STREAM, determineStream } from '../mail/stream.ts'
import { parseMailboxList, parseSingleMailbox } from '../mime/addresses.ts'
import { getAllValues, type Header } from '../mime/entity.ts'
import type { MessageContent, MimeReader } from '../mime/mime.ts'
import { parseOutline } from '../mime/read.ts'
import type { Tag } from '../storage/storage.ts'
import { computeFingerprint, parseIdempotencyKey } from './idempotency.ts'
import { CONTROL_FIELDS, parseHeader, type Trace } from './message-fields.ts'
import { parseSchedule } from './schedule.ts'
import type { Submission } from './submission.ts'
import { parseTopicId } from './topic.ts'
import { resolveRequireTls } from '../mail/tls-policy.ts'

/** A message with its envelope, as received over SMTP. */
export interface Arrival {
  /** Team of the caller. */
  teamId: string
  /** CRLF line ends, no NUL, dots unstuffed. */
  bytes: Uint8Array
  /** MAIL FROM; null for the empty one. */
  from: Mailbox | null
  recipients: { mailbox: Mailbox; dsn: RecipientDsn }[]
  dsn: EnvelopeDsn
  /** Whether MAIL had the REQUIRETLS parameter (RFC 8689). */
  requireTls: boolean
  trace: Trace
}

/** The result of reading a message: a submission, and the request options in its header. */
export interface ParsedArrival {
  submission: Submission
  idempotencyKey: string | null
  /**
   * Equal for the same mail sent again, even though clients generate new Date, Message-ID and boundaries. Empty without
   * a key.
   */
  fingerprint: string
}

/** Limit on the mailboxes of a header field that are stored for display. */
const MAX_SHOWN = 100
const MAX_TAGS = 50
const MAX_SHOWN_FIELDS = 100

/** Fields that clients regenerate for every attempt. */
const volatileFields = new Set(['date', 'message-id', 'received', 'mime-version', 'user-agent', 'x-mailer'])

/**
 * Reads a message. Refuses: `message_malformed`, `message_from`, `message_loop`, `invalid_tag`, `invalid_field`
 * (schedule, topic), `invalid_id` (topic), `invalid_idempotency_key`, `overloaded`.
 * @param now the time that relative times refer to (Unix milliseconds)
 */
export async function parseArrival(
  arrival: Arrival,
  reader: Pick<MimeReader, 'read'>,
  now: number,
): Promise<ParsedArrival> {
  const header = parseHeader(arrival.bytes)
  const from = onlyMailbox(header, 'from')
  const sender = getAllValues(header, 'sender').length > 0 ? onlyMailbox(header, 'sender') : null
  const messageId = getAllValues(header, 'message-id')[0] ?? null
  const tags = readTags(header)
  const scheduledAt = parseSchedule(getAllValues(header, CONTROL_FIELDS.scheduledAt)[0], now)
  const idempotencyKey = parseIdempotencyKey(getAllValues(header, CONTROL_FIELDS.idempotencyKey)[0])
  // The content is only needed here to compare it with an earlier request with the same key.
  const quick = idempotencyKey === null ? parseOutline(arrival.bytes, header) : undefined
  const content = quick ? null : await reader.read(arrival.bytes, arrival.teamId, header)
  const outline = quick ?? content!
  const { to, cc, bcc } = distribute(header, arrival)
  const headers = header.fields.flatMap(shownField).slice(0, MAX_SHOWN_FIELDS)
  const submission: Submission = {
    from,
    to,
    cc,
    bcc,
    tags,
    scheduledAt,
    headers,
    stream: readStream(header),
    topicId: topicOf(header),
    replyTo: parseMailboxList(getAllValues(header, 'reply-to'), MAX_SHOWN),
    subject: outline.subject,
    html: null,
    text: null,
    messageId: messageId !== null && isMessageId(messageId) ? messageId : null,
    attachments: [],
    links: [],
    arrived: {
      recipients: arrival.recipients,
      reportTo: arrival.from?.address ?? null,
      dsn: arrival.dsn,
      requireTls: resolveRequireTls(arrival.requireTls, getAllValues(header, 'tls-required')),
      speaksFor: [arrival.from, sender].flatMap((mailbox) => mailbox?.domain ?? []),
      attachments: outline.attachments,
      bytes: arrival.bytes,
      header,
      content: content && { html: content.html, text: content.text },
      trace: arrival.trace,
    },
  }
  const schedule = getAllValues(header, CONTROL_FIELDS.scheduledAt)
  const compared = idempotencyKey === null ? '' : fingerprint(submission, schedule, content!)
  return { submission, idempotencyKey, fingerprint: compared }
}

function onlyMailbox(header: Header, name: 'from' | 'sender'): Mailbox {
  const values = getAllValues(header, name)
  const mailbox = values.length === 1 ? parseSingleMailbox(values[0]!) : undefined
  if (!mailbox)
    throw refuse('message_from', { field: name === 'from' ? 'From' : 'Sender', count: values.length })
  return mailbox
}

/**
 * Distributes the recipients over To, Cc and Bcc. Header fields are only for display; recipients in none of them are
 * Bcc.
 */
function distribute(header: Header, { recipients }: Arrival): Pick<Submission, 'to' | 'cc' | 'bcc'> {
  const to = parseMailboxList(getAllValues(header, 'to'), MAX_SHOWN)
  const cc = parseMailboxList(getAllValues(header, 'cc'), MAX_SHOWN)
  const named = new Set([...to, ...cc].map(({ address }) => address))
  const bcc = recipients.map(({ mailbox }) => mailbox).filter(({ address }) => !named.has(address))
  return { to, cc, bcc }
}

/**
 * Reads tags: `X-Posthaste-Tag-kind: receipt` is the tag `kind` with the value `receipt`. Names become lower case:
 * field names are case-insensitive, and programs such as nodemailer change their case.
 */
function readTags({ fields }: Header): Tag[] {
  const tags = fields.flatMap((field) => {
    const lower = field.name.toLowerCase()
    const prefix = CONTROL_FIELDS.tagPrefixes.find((one) => lower.startsWith(one))
    return prefix === undefined ? [] : [{ name: lower.slice(prefix.length), value: getUnfoldedValue(field) }]
  })
  const sound = ({ name, value }: Tag) => /^[\w-]{1,256}$/.test(name) && /^[\w-]{0,256}$/.test(value)
  if (tags.length > MAX_TAGS || !tags.every(sound)) throw refuse('invalid_tag')
  return tags
}

/** Returns the fields that an API caller would have given in `headers`. */
function shownField(field: HeaderField): { name: string; value: string }[] {
  const lower = field.name.toLowerCase()
  const ours = lower === 'reply-to' || lower === 'message-id' || isControl(lower)
  if (ours || explainReservedField(field.name) !== undefined) return []
  const value = getUnfoldedValue(field)
  return findFieldValueProblem(value) === undefined ? [{ name: field.name, value }] : []
}

const isControl = (lower: string): boolean =>
  lower === CONTROL_FIELDS.idempotencyKey ||
  lower === CONTROL_FIELDS.scheduledAt ||
  lower === CONTROL_FIELDS.stream ||
  lower === CONTROL_FIELDS.topic ||
  CONTROL_FIELDS.tagPrefixes.some((prefix) => lower.startsWith(prefix))

function topicOf(header: Header): string | null {
  const [id, ...others] = getAllValues(header, CONTROL_FIELDS.topic)
  const field = 'X-Posthaste-Topic'
  if (others.length > 0) throw refuse('invalid_field', { field, expected: 'it can be set only once' })
  return parseTopicId(field, id?.trim())
}

function readStream({ fields }: Header): Submission['stream'] {
  const stream = determineStream(
    fields.map((field) => ({ name: field.name, value: getUnfoldedValue(field) })),
  )
  if (stream) return stream
  throw refuse('invalid_field', { field: 'X-Posthaste-Stream', expected: EXPECTED_STREAM })
}

/** Uses the schedule as written, because "in 1 hour" means a different time whenever it is sent. */
function fingerprint(
  { from, replyTo, headers, tags, topicId, arrived }: Submission,
  schedule: string[],
  content: MessageContent,
): string {
  const stable = headers.filter(({ name }) => !volatileFields.has(name.toLowerCase()))
  const recipients = arrived!.recipients.map(({ mailbox }) => mailbox.address)
  // If these differ, the first response would promise less or more TLS than this request wants.
  const requireTls = arrived!.requireTls === 'yes'
  const topic = topicId === null ? {} : { topicId }
  return computeFingerprint(
    computeBodyDigest({
      from,
      replyTo,
      recipients,
      headers: stable,
      tags,
      schedule,
      content,
      requireTls,
      ...topic,
    }),
  )
}
