/**
 * Received email, in the hosted service's wire format (reference: inbound.md §1). The verdicts and the answered email
 * are additional fields.
 */
import { Type, type Static } from 'typebox'
import { getUnfoldedValue, splitMessage } from '../mail/headers.ts'
import { AUTH_RESULTS, type AuthVerdict, type SpamVerdict } from '../mail/inbound.ts'
import type { AttachmentInfo, ReceivedEmail as Stored, ReceivedForward } from '../storage/storage.ts'
import { AttachmentList, Attachment } from './attachments.ts'
import { EmailWebhookEvents } from './emails.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import {
  byId,
  choice,
  id,
  page,
  path,
  pathId,
  pathText,
  pathUuid,
  query,
  shortPage,
  text,
} from './parameters.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  number,
  object,
  record,
  string,
} from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const addresses = (description: string) => array(Type.String(), description)
const Verdict = object('One check.', {
  result: literals(AUTH_RESULTS, 'The result (RFC 8601).'),
  domain: Nullable(Type.String(), 'The domain that was checked; null: none.'),
})

const summary = {
  id: Id,
  to: addresses('The To field.'),
  from: string('The From field. It is not verified; see `authentication_results`.'),
  created_at: Timestamp,
  subject: string('The subject; empty: none.'),
  bcc: addresses('The Bcc field, which is usually absent.'),
  cc: addresses('The Cc field.'),
  reply_to: addresses('The Reply-To field.'),
  received_for: addresses('The envelope recipients of the team.'),
  message_id: string('The Message-ID. If the message came without one, Posthaste has generated it.'),
  attachments: arrayOfObjects('Attachments, without their content.', {
    id: Id,
    filename: Nullable(Type.String(), 'File name.'),
    size: integer('Size in bytes.'),
    content_type: string('Media type.'),
    content_id: Nullable(Type.String(), 'Content ID, for `cid:` in the HTML.'),
    content_disposition: literals(['attachment', 'inline'], 'How it is meant.'),
  }),
  authentication_results: object('Whether the message comes from whom it says. Not part of the hosted API.', {
    spf: Verdict,
    dkim: Verdict,
    dmarc: Verdict,
    arc: Verdict,
  }),
  spam: Nullable(
    Type.Object({
      flagged: boolean('Whether the spam filter marked the message as spam.'),
      score: number('The score of the message.'),
      reject_score: number('The score from which messages are rejected.'),
      symbols: array(Type.String(), "The filter's rules that matched, heaviest first."),
    }),
    'What the spam filter said; null: none was asked (docs/receiving.md). Not part of the hosted API.',
  ),
  in_reply_to_email_id: Nullable(
    Id,
    "The team's email that this answers; null: unknown. Not part of the hosted API.",
  ),
  envelope: object('The SMTP transaction. Not part of the hosted API.', {
    mail_from: string('The envelope sender; empty for the null sender.'),
    ip: string('IP address of the client.'),
    helo: string('The EHLO name of the client.'),
    tls: Nullable(Type.String(), 'TLS version; null: no TLS.'),
    size: integer('Size of the message in bytes.'),
  }),
}

export const ReceivedEmailSummary = object('A received email.', summary)
export type ReceivedEmailSummary = Static<typeof ReceivedEmailSummary>

export const ReceivedEmail = object('A received email with its content.', {
  object: kind('email'),
  ...summary,
  html: Nullable(Type.String(), 'The HTML body; null: none.'),
  text: Nullable(Type.String(), 'The plain-text body; null: none.'),
  html_format: literals(['data_uri', 'cid'], 'How inline images are written in `html`.'),
  headers: record(Type.String(), 'Header fields by lower-case name. Of a repeated field, the topmost.'),
  raw: Nullable(
    Type.Object({
      download_url: string('URL of the message. Requires no key.'),
      expires_at: string('When `download_url` expires.'),
    }),
    'The message itself; null: the domain keeps no content. Always null in the output of commands.',
  ),
  forwards: arrayOfObjects('Where rules of the domain forward it. Not part of the hosted API.', {
    to: string('The address.'),
    status: literals(
      ['pending', 'sent', 'skipped'],
      'Whether it was forwarded. `sent`: as an email of its own.',
    ),
    email_id: Nullable(Id, 'The email that was sent; null: none.'),
    reason: Nullable(Type.String(), 'Why it was not forwarded; null otherwise.'),
  }),
})
export type ReceivedEmail = Static<typeof ReceivedEmail>

const operation = operationsIn('Receiving')

export const listReceivedEmails = operation('GET /emails/receiving', {
  summary: 'List received emails',
  querystring: query({
    ...page,
    search: text(string('Part of the sender, a recipient or the subject. Not part of the hosted API.')),
    in_reply_to_email_id: text(string('Only replies to this email. Not part of the hosted API.')),
    domain_id: id('Only mail to this domain. Not part of the hosted API.'),
    dmarc: choice(AUTH_RESULTS, 'Only mail with this DMARC result. Not part of the hosted API.'),
    spam: choice(
      ['true', 'false'],
      'true: only mail that the spam filter marked; false: only other mail. Not part of the hosted API.',
    ),
    has_attachments: choice(
      ['true', 'false'],
      'true: only mail with attachments; false: only mail without. Not part of the hosted API.',
    ),
  }),
  response: { 200: listOf(ReceivedEmailSummary, 'received emails') },
})
export const getReceivedEmail = operation('GET /emails/receiving/:id', {
  summary: 'Get a received email',
  params: byId,
  querystring: query({
    html_format: choice(
      ['data_uri', 'cid'],
      'data_uri (default): inline images are embedded in the HTML, up to 10 MB · cid: as in the message.',
    ),
  }),
  response: { 200: ReceivedEmail },
})
export const listReceivedAttachments = operation('GET /emails/receiving/:id/attachments', {
  summary: "List a received email's attachments",
  params: byId,
  querystring: query(shortPage),
  response: { 200: AttachmentList },
})
export const getReceivedAttachment = operation('GET /emails/receiving/:id/attachments/:attachment_id', {
  summary: 'Get an attachment of a received email',
  description: 'The `download_url` gives access to the file without a key for one hour.',
  params: path({ id: pathId, attachment_id: pathUuid('The id.') }),
  response: { 200: Attachment },
})
export const getReceivedSource = operation('GET /emails/receiving/:id/source', {
  summary: 'Get the source of a received email',
  description: 'The message with the trace fields that were added. Not part of the hosted API.',
  params: byId,
  response: { 200: nonJsonContent('message/rfc822', 'The RFC 5322 message.') },
})
export const listReceivedWebhooks = operation('GET /emails/receiving/:id/webhooks', {
  summary: 'List the webhook deliveries of a received email',
  description: 'The first 100. Not part of the hosted API.',
  params: byId,
  response: { 200: EmailWebhookEvents },
})
export const downloadReceived = operation('GET /downloads/received/:token', {
  access: 'public',
  summary: 'Download a received email or attachment',
  description:
    'The target of `download_url`. Requires no key: anyone with the link can get the file until it expires.',
  params: path({ token: pathText('The signed part of the link. It expires.') }),
  response: { 200: nonJsonContent('application/octet-stream', 'The file, as received.') },
  errors: ['410'],
})

const verdict = ({ result, domain }: AuthVerdict) => ({ result, domain })

const presentSpam = ({ flagged, score, rejectScore, symbols }: SpamVerdict) => ({
  flagged,
  score,
  reject_score: rejectScore,
  symbols,
})

const presentFile = ({ id, filename, size, contentType, contentId, disposition }: AttachmentInfo) => ({
  id,
  filename,
  size,
  content_type: contentType,
  content_id: contentId,
  content_disposition: disposition,
})

/** Formats an element of GET /emails/receiving. */
export function presentReceivedEmail(email: Stored): ReceivedEmailSummary {
  const { id, to, from, subject, bcc, cc, mailFrom, ip, helo, tls, size } = email
  const { spf, dkim, dmarc, arc } = email.authentication
  return {
    id,
    to,
    from,
    created_at: timestamp(email.receivedAt),
    subject,
    bcc,
    cc,
    reply_to: email.replyTo,
    received_for: email.receivedFor,
    message_id: email.messageId,
    attachments: email.attachments.map(presentFile),
    authentication_results: {
      spf: verdict(spf),
      dkim: verdict(dkim),
      dmarc: verdict(dmarc),
      arc: verdict(arc),
    },
    spam: email.spam && presentSpam(email.spam),
    in_reply_to_email_id: email.answers,
    envelope: { mail_from: mailFrom, ip, helo, tls, size },
  }
}

/**
 * Formats the response of GET /emails/receiving/:id, without fields that only the HTTP server knows. @param bytes
 * undefined if the domain stores no content
 */
export function presentReceivedContent(
  email: Stored,
  bytes: Uint8Array | undefined,
  { html, text }: { html: string | null; text: string | null },
  forwards: readonly ReceivedForward[],
): Omit<ReceivedEmail, 'html_format' | 'raw'> {
  return {
    object: 'email',
    ...presentReceivedEmail(email),
    html,
    text,
    headers: bytes ? headersOf(bytes) : {},
    forwards: forwards.map((one) => ({
      to: one.to,
      status: one.state,
      email_id: one.state === 'sent' ? one.emailId : null,
      reason: one.state === 'skipped' ? one.reason : null,
    })),
  }
}

/** Returns the first field of each name. */
function headersOf(bytes: Uint8Array): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (const field of splitMessage(bytes, 1000).fields)
    headers[field.name.toLowerCase()] ??= getUnfoldedValue(field).toWellFormed()
  return headers
}
