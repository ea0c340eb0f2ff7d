/** Sending one email, a batch, or an email again. Request bodies are parsed in intake/request.ts. */
import { Type, type Static } from 'typebox'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  integer,
  kind,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { Id } from './shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])

export const TagSchema = object('A tag that the sender sets on an email.', {
  name: string('At most 256 ASCII letters, digits, underscores and dashes.'),
  value: string('At most 256 ASCII letters, digits, underscores and dashes.'),
})

const Bytes = array(Type.Integer(), 'The bytes of the file, each from 0 to 255.')

export const AttachmentInput = object('A file to attach to the email.', {
  content: optionalOrNull(
    Type.Union([
      string('The file, in base64.'),
      Bytes,
      object('A Node Buffer, serialized as JSON.', { type: kind('Buffer'), data: Bytes }),
    ]),
    'The file. Either this or `path` is required.',
  ),
  path: optionalText(
    'An http(s) URL that the server fetches the file from, instead of `content`. If both are set, `content` is used.',
  ),
  filename: optionalText('File name. Default for a `path`: the name in the URL.'),
  content_type: optionalText('Media type. Default: derived from the file name.'),
  content_id: optionalText('Makes the attachment inline, for `cid:` in the HTML.'),
  inline_content_id: optionalText('Older name of `content_id` in some client libraries.'),
})
export type AttachmentInput = Static<typeof AttachmentInput>

/** Body of POST /emails. */
export const SendEmail = object('An email to send.', {
  from: optionalText(
    '`Name <address>` or an address, on a verified domain. Required unless the template has one.',
  ),
  to: Type.Union(Addresses.anyOf, { description: 'One address, or up to 50.' }),
  cc: optionalOrNull(Addresses, 'Same format as `to`.'),
  bcc: optionalOrNull(Addresses, 'Same format as `to`. Hidden from all recipients.'),
  reply_to: optionalOrNull(Addresses, 'Address for replies.'),
  subject: optionalText('The subject. Required unless the template has one.'),
  html: optionalText('This, `text` or `template` is required.'),
  text: optionalText('Plain text. Default: generated from the HTML; "" for no text.'),
  template: optionalOrNull(
    object('A template and its values.', {
      id: string('The id or alias of a published template.'),
      variables: optionalOrNull(
        Type.Record(Type.String(), Type.Unknown()),
        'Values by the name of their variable: strings or numbers. At most 50.',
      ),
    }),
    'The template that the content comes from, instead of `html` and `text`.',
  ),
  headers: optionalOrNull(Type.Record(Type.String(), Type.String()), 'Additional header fields.'),
  attachments: optionalOrNull(
    Type.Array(AttachmentInput),
    'At most 40 MB in total with the message, unless the server has a different limit.',
  ),
  tags: optionalOrNull(Type.Array(TagSchema), 'Included in the events of the email.'),
  topic_id: optionalText(
    'The topic that the email is about. Nothing is sent to recipients who opted out of it or of everything. An address that is not a contact gets it if the default of the topic is `opt_in`.',
  ),
  scheduled_at: optionalOrNull(
    Type.String({ examples: ['2026-12-01T09:00:00Z', 'in 1 hour'] }),
    'When to send it, at most 30 days ahead: ISO 8601, or English such as `in 1 hour` or `tomorrow at 9am`. UTC unless a time zone is given.',
  ),
})
export type SendEmail = Static<typeof SendEmail>

export const EmailCreated = object('The accepted and stored email.', { id: Id })
export type EmailCreated = Static<typeof EmailCreated>

/** Maximum number of emails in a batch. */
export const MAX_BATCH = 100

/** Body of POST /emails/batch. */
export const SendBatch = array(
  SendEmail,
  'Each element is sent as a separate email. Attachments are not supported in batches.',
  { minItems: 1, maxItems: MAX_BATCH },
)

export const BatchCreated = object('The accepted emails, and in permissive mode the refused ones.', {
  data: arrayOfObjects('The accepted emails, in the order of the request.', { id: Id }),
  errors: Type.Optional(
    arrayOfObjects('Only with `x-batch-validation: permissive`: the emails that were refused.', {
      index: integer('Index in the request, from 0.'),
      message: string('The reason why this email was refused.'),
    }),
  ),
})
export type BatchCreated = Static<typeof BatchCreated>

const operation = operationsIn('Emails')
const idempotency = {
  'Idempotency-Key': Type.Optional(
    string('Makes it safe to repeat the request: 1 to 256 characters, stored for 24 hours.', {
      minLength: 1,
      maxLength: 256,
    }),
  ),
}
const repeatable = Type.Object(idempotency)

export const sendEmail = operation('POST /emails', {
  access: 'sending',
  summary: 'Send an email',
  description:
    'Responds when the email is stored; delivery follows. To, cc and bcc accept 50 recipients each. With `scheduled_at`, the email is sent at that time.',
  headers: repeatable,
  body: SendEmail,
  response: { 200: EmailCreated },
  errors: ['409', '507'],
})

const older = {
  access: 'sending',
  summary: 'Send an email (older path)',
  description: 'The same as `POST /emails`, for older clients.',
  deprecated: true,
  headers: repeatable,
  body: SendEmail,
  response: { 200: EmailCreated },
  errors: ['409', '507'],
} as const
export const sendEmailSingular = operation('POST /email', older)
export const sendEmailSending = operation('POST /emails/sending', older)
export const sendEmailSingularSending = operation('POST /email/sending', older)

export const sendBatch = operation('POST /emails/batch', {
  access: 'sending',
  summary: 'Send up to 100 emails',
  description: 'Each element of the array is a separate email. All are stored in one transaction.',
  headers: Type.Object({
    ...idempotency,
    'x-batch-validation': Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['strict', 'permissive'],
        default: 'strict',
        description:
          '`strict` sends all emails or none. `permissive` sends the valid ones and reports the others.',
      }),
    ),
  }),
  body: SendBatch,
  response: { 200: BatchCreated },
  errors: ['409', '507'],
})

export const resendEmail = operation('POST /emails/:id/resend', {
  summary: 'Send an email again',
  description:
    "Creates a new email with the same sender, recipients, content and tags, subject to the same checks as any new email. Refused if the content is no longer stored, or if an SMTP message's header lists different recipients than its envelope. Not part of the hosted API.",
  params: byId,
  headers: repeatable,
  response: { 200: EmailCreated },
  errors: ['409'],
})
