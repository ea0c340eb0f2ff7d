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
import { choice, id, page, path, pathId, pathText, pathUuid, query, shortPage, text } from './parameters.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const addresses = (description: string) => Type.Array(Type.String(), { description })
const Verdict = Type.Object(
  {
    result: literals(AUTH_RESULTS, { description: 'The result (RFC 8601).' }),
    domain: Nullable(Type.String(), { description: 'The domain that was checked; null: none.' }),
  },
  { description: 'One check.' },
)

const summary = {
  id: Id,
  to: addresses('The To field.'),
  from: Type.String({ description: 'The From field. It is not verified; see `authentication_results`.' }),
  created_at: Timestamp,
  subject: Type.String({ description: 'The subject; empty: none.' }),
  bcc: addresses('The Bcc field, which is usually absent.'),
  cc: addresses('The Cc field.'),
  reply_to: addresses('The Reply-To field.'),
  received_for: addresses('The envelope recipients of the team.'),
  message_id: Type.String({
    description: 'The Message-ID. Posthaste generates one if the message has none.',
  }),
  attachments: Type.Array(
    Type.Object({
      id: Id,
      filename: Nullable(Type.String(), { description: 'File name.' }),
      size: Type.Integer({ description: 'Size in bytes.' }),
      content_type: Type.String({ description: 'Media type.' }),
      content_id: Nullable(Type.String(), { description: 'Content ID, for `cid:` in the HTML.' }),
      content_disposition: literals(['attachment', 'inline'], { description: 'How it is meant.' }),
    }),
    { description: 'Attachments, without their content.' },
  ),
  authentication_results: Type.Object(
    { spf: Verdict, dkim: Verdict, dmarc: Verdict, arc: Verdict },
    { description: 'Whether the message comes from whom it says. Not part of the hosted API.' },
  ),
  spam: Nullable(
    Type.Object({
      flagged: Type.Boolean({ description: 'Whether the spam filter marked the message as spam.' }),
      score: Type.Number({ description: 'The score of the message.' }),
      reject_score: Type.Number({ description: 'The score from which messages are rejected.' }),
      symbols: Type.Array(Type.String(), { description: "The filter's rules that matched, heaviest first." }),
    }),
    {
      description:
        'What the spam filter said; null: none was asked (docs/receiving.md). Not part of the hosted API.',
    },
  ),
  in_reply_to_email_id: Nullable(Id, {
    description: "The team's email that this answers; null: unknown. Not part of the hosted API.",
  }),
  envelope: Type.Object(
    {
      mail_from: Type.String({ description: 'The envelope sender; empty for the null sender.' }),
      ip: Type.String({ description: 'IP address of the client.' }),
      helo: Type.String({ description: 'The EHLO name of the client.' }),
      tls: Nullable(Type.String(), { description: 'TLS version; null: no TLS.' }),
      size: Type.Integer({ description: 'Size of the message in bytes.' }),
    },
    { description: 'The SMTP transaction. Not part of the hosted API.' },
  ),
}

/** An element of GET /emails/receiving. */
export const ReceivedEmailSummary = Type.Object(summary, { description: 'A received email.' })
export type ReceivedEmailSummary = Static<typeof ReceivedEmailSummary>

/** GET /emails/receiving/:id */
export const ReceivedEmail = Type.Object(
  {
    object: kind('email'),
    ...summary,
    html: Nullable(Type.String(), { description: 'The HTML body; null: none.' }),
    text: Nullable(Type.String(), { description: 'The plain-text body; null: none.' }),
    html_format: literals(['data_uri', 'cid'], { description: 'How inline images are written in `html`.' }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Header fields by lower-case name. Of a repeated field, the topmost.',
    }),
    raw: Nullable(
      Type.Object({
        download_url: Type.String({ description: 'URL of the message. Requires no key.' }),
        expires_at: Type.String({ description: 'When `download_url` expires.' }),
      }),
      {
        description:
          'The message itself; null: the domain keeps no content. Always null in the output of commands.',
      },
    ),
    forwards: Type.Array(
      Type.Object({
        to: Type.String({ description: 'The address.' }),
        status: literals(['pending', 'sent', 'skipped'], {
          description: 'Whether it was forwarded. `sent`: as an email of its own.',
        }),
        email_id: Nullable(Id, { description: 'The email that was sent; null: none.' }),
        reason: Nullable(Type.String(), { description: 'Why it was not forwarded; null otherwise.' }),
      }),
      { description: 'Where rules of the domain forward it. Not part of the hosted API.' },
    ),
  },
  { description: 'A received email with its content.' },
)
export type ReceivedEmail = Static<typeof ReceivedEmail>

const operation = operationsIn('Receiving')
const params = path({ id: pathId })

export const listReceivedEmails = operation('GET /emails/receiving', {
  summary: 'List received emails',
  querystring: query({
    ...page,
    search: text(
      Type.String({
        description: 'Part of the sender, a recipient or the subject. Not part of the hosted API.',
      }),
    ),
    in_reply_to_email_id: text(
      Type.String({ description: 'Only replies to this email. Not part of the hosted API.' }),
    ),
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
  params,
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
  params,
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
  params,
  response: { 200: nonJsonContent('message/rfc822', 'The RFC 5322 message.') },
})
export const listReceivedWebhooks = operation('GET /emails/receiving/:id/webhooks', {
  summary: 'List the webhook deliveries of a received email',
  description: 'The first 100. Not part of the hosted API.',
  params,
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
