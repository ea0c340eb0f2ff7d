/**
 * Reads the body of POST /emails: takes JSON of the right types, and returns a submission or a refusal that names the
 * field. Pure.
 */
import type { SendEmail } from '../api/sending.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'
import {
  findFieldValueProblem,
  isDroppedField,
  isFieldName,
  isMessageId,
  MAX_CUSTOM_FIELDS,
  MAX_FIELD_NAME,
  findRepeatedField,
  explainReservedField,
  unfold,
} from '../mail/headers.ts'
import { MAX_TEXT_LENGTH } from '../mail/json-body.ts'
import { refuse } from '../mail/refusals.ts'
import { EXPECTED_STREAM, STREAM_FIELD, determineStream } from '../mail/stream.ts'
import type { Tag } from '../storage/storage.ts'
import { parseAttachment, type ParsedAttachment } from './attachment.ts'
import { parseSchedule } from './schedule.ts'
import type { LinkedAttachment, Submission, SubmittedAttachment } from './submission.ts'
import { parseTopicId } from './topic.ts'

/**
 * Limit on recipients in each of `to`, `cc` and `bcc`. The hosted service documents 50 for `to`; more than 150 in total
 * should be a broadcast.
 */
const MAX_RECIPIENTS = 50
const MAX_REPLY_TO = 10
const MAX_ATTACHMENTS = 100
const MAX_TAGS = 50
/** Limit on the characters of a tag's name, and of its value. */
const MAX_TAG = 256
/** Limit on the characters of a subject: one line of RFC 5322 §2.1.1, before encoding. */
const MAX_SUBJECT = 998

/**
 * Removes headers that a request is accepted without, and returns their names. Call it before the types are checked:
 * some values are objects, as Rails sends them.
 */
export function dropHeaders(body: unknown): string[] {
  const { headers } = (body ?? {}) as { headers?: unknown }
  if (typeof headers !== 'object' || headers === null) return []
  const names = Object.keys(headers)
  // Too many are refused later. Don't examine a million of them.
  if (names.length > MAX_CUSTOM_FIELDS) return []
  const dropped = names.filter(isDroppedField)
  for (const name of dropped) delete (headers as Record<string, unknown>)[name]
  return dropped
}

/**
 * Reads a request after its template was filled in. Throws a `Refusal`.
 * @param now the time that relative times refer to (Unix milliseconds)
 */
export function parseRequest(body: SendEmail, now: number): Submission {
  const [from] = readMailboxes('from', body.from, 1)
  if (!from) throw refuse('missing_field', { field: 'from' })
  const to = readMailboxes('to', body.to, MAX_RECIPIENTS)
  if (to.length === 0) throw refuse('missing_field', { field: 'to' })
  const { headers, messageId, replyTo, stream } = readHeaders(body)
  return {
    from,
    to,
    cc: readMailboxes('cc', body.cc, MAX_RECIPIENTS),
    bcc: readMailboxes('bcc', body.bcc, MAX_RECIPIENTS),
    replyTo,
    subject: readSubject(body.subject),
    ...readContent(body),
    headers,
    messageId,
    stream,
    topicId: parseTopicId('topic_id', body.topic_id),
    ...readAttachments(body.attachments ?? []),
    tags: readTags(body.tags ?? []),
    scheduledAt: parseSchedule(body.scheduled_at, now),
  }
}

/** Reads mailboxes. Typed clients send unset addresses as null, "" or []; all mean none. */
function readMailboxes(field: string, value: string | string[] | null | undefined, limit: number): Mailbox[] {
  const texts = value === undefined || value === null || value === '' ? [] : [value].flat()
  if (texts.length > limit) throw refuse('too_many_recipients', { field, limit })
  return texts.map((text) => {
    const mailbox = parseMailbox(text)
    if (!mailbox) throw refuse('invalid_address', { field })
    return mailbox
  })
}

function readSubject(given: string | null | undefined): string {
  const subject = given ?? ''
  if (subject.trim() === '') throw refuse('missing_field', { field: 'subject' })
  const problem =
    subject.length > MAX_SUBJECT ? `at most ${MAX_SUBJECT} characters` : findFieldValueProblem(subject)
  if (problem !== undefined) throw refuse('invalid_field', { field: 'subject', expected: problem })
  return subject
}

function readContent(body: SendEmail): Pick<Submission, 'html' | 'text'> {
  const html = body.html === '' ? null : (body.html ?? null)
  const text = body.text ?? null
  if (html === null && (text === null || text === '')) throw refuse('missing_content')
  return { html: readBody('html', html), text: readBody('text', text) }
}

/**
 * Reads a body part. NUL isn't allowed (RFC 5322 §2.3), and databases refuse it. Lone surrogates become U+FFFD, as in
 * every UTF-8 encoder.
 */
function readBody(field: string, text: string | null): string | null {
  if (text !== null && text.length > MAX_TEXT_LENGTH)
    throw refuse('invalid_field', {
      field,
      expected: `at most ${MAX_TEXT_LENGTH} characters; attach longer content as a file`,
    })
  if (text?.includes('\0')) throw refuse('invalid_field', { field, expected: 'text without NUL characters' })
  return text?.toWellFormed() ?? null
}

function readHeaders(body: SendEmail): Pick<Submission, 'headers' | 'messageId' | 'replyTo' | 'stream'> {
  const given = Object.entries(body.headers ?? {})
  if (given.length > MAX_CUSTOM_FIELDS)
    throw refuse('invalid_field', { field: 'headers', expected: `at most ${MAX_CUSTOM_FIELDS} of them` })
  // JSON keys are case-sensitive, field names are not.
  const repeated = findRepeatedField(given.map(([name]) => name))
  if (repeated)
    throw refuse('invalid_field', {
      field: `headers.${repeated.field}`,
      expected: 'it can be set only once',
    })
  let replyTo = readMailboxes('reply_to', body.reply_to, MAX_REPLY_TO)
  let messageId: string | null = null
  const headers: Submission['headers'] = []
  for (const [name, written] of given) {
    const field = checkHeader(name, written)
    const value = unfold(written).trim()
    if (value === '') continue
    const lower = name.toLowerCase()
    if (lower === 'message-id') {
      if (!isMessageId(value)) throw refuse('invalid_field', { field, expected: '<left@right>' })
      messageId = value
    } else if (lower === 'reply-to') {
      // The request's own field wins. Many apps set both to the same value.
      if (replyTo.length === 0) replyTo = readMailboxes(field, value, 1)
    } else headers.push({ name, value })
  }
  return {
    headers: headers.filter(({ name }) => !isStreamField(name)),
    messageId,
    replyTo,
    stream: readStream(headers),
  }
}

const isStreamField = (name: string): boolean => name.toLowerCase() === STREAM_FIELD

function readStream(headers: Submission['headers']): Submission['stream'] {
  const stream = determineStream(headers)
  if (stream) return stream
  const name = headers.find((header) => isStreamField(header.name))?.name ?? STREAM_FIELD
  throw refuse('invalid_field', { field: `headers.${name}`, expected: EXPECTED_STREAM })
}

/** Checks one header and returns its name for refusals. */
function checkHeader(name: string, value: string): string {
  if (!isFieldName(name))
    throw refuse('invalid_field', {
      field: 'headers',
      expected: `names of 1 to ${MAX_FIELD_NAME} printable ASCII characters without colons or spaces`,
    })
  const field = `headers.${name}`
  const problem = explainReservedField(name) ?? findFieldValueProblem(unfold(value))
  if (problem !== undefined) throw refuse('invalid_field', { field, expected: problem })
  return field
}

function readAttachments(
  given: NonNullable<SendEmail['attachments']>,
): Pick<Submission, 'attachments' | 'links'> {
  if (given.length > MAX_ATTACHMENTS)
    throw refuse('invalid_field', { field: 'attachments', expected: `at most ${MAX_ATTACHMENTS} of them` })
  const all = given.map(parseAttachment)
  const ids = new Set<string>()
  for (const [position, { contentId }] of all.entries()) {
    if (contentId === null) continue
    if (ids.has(contentId))
      throw refuse('invalid_attachment', {
        index: position + 1,
        expected: 'each `content_id` may occur once',
      })
    ids.add(contentId)
  }
  const isLink = (one: ParsedAttachment): one is LinkedAttachment => 'url' in one
  const isWhole = (one: ParsedAttachment): one is SubmittedAttachment => !isLink(one)
  return { attachments: all.filter(isWhole), links: all.filter(isLink) }
}

function readTags(tags: Tag[]): Tag[] {
  if (tags.length > MAX_TAGS)
    throw refuse('invalid_field', { field: 'tags', expected: `at most ${MAX_TAGS} of them` })
  for (const [at, { name, value }] of tags.entries()) {
    if (name === '') throw refuse('missing_field', { field: `tags[${at}].name` })
    if (!/^[\w-]*$/.test(name + value)) throw refuse('invalid_tag')
    const long = name.length > MAX_TAG ? 'name' : value.length > MAX_TAG ? 'value' : undefined
    if (long)
      throw refuse('invalid_field', {
        field: `tags[${at}].${long}`,
        expected: `at most ${MAX_TAG} characters`,
      })
  }
  return tags.map(({ name, value }) => ({ name, value }))
}
