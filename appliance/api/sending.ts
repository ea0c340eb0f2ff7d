/** Sending one email, a batch, or an email again. Request bodies are parsed in intake/request.ts. */
import { Type, type Static } from 'typebox'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'
import { described, Id, kind, Nullable } from './shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])

export const TagSchema = Type.Object(
  {
    name: Type.String(described('At most 256 ASCII letters, digits, underscores and dashes.')),
    value: Type.String(described('At most 256 ASCII letters, digits, underscores and dashes.')),
  },
  described('A tag that the sender sets on an email.'),
)

const Bytes = Type.Array(Type.Integer(), described('The bytes of the file, each from 0 to 255.'))

export const AttachmentInput = Type.Object(
  {
    content: Type.Optional(
      Nullable(
        Type.Union([
          Type.String(described('The file, in base64.')),
          Bytes,
          Type.Object(
            { type: kind('Buffer'), data: Bytes },
            { description: 'A Node Buffer, serialized as JSON.' },
          ),
        ]),
        described('The file. Either this or `path` is required.'),
      ),
    ),
    path: Type.Optional(
      Nullable(
        Type.String(),
        described(
          'An http(s) URL that the server fetches the file from, instead of `content`. If both are set, `content` is used.',
        ),
      ),
    ),
    filename: Type.Optional(
      Nullable(Type.String(), described('File name. Default for a `path`: the name in the URL.')),
    ),
    content_type: Type.Optional(
      Nullable(Type.String(), described('Media type. Default: derived from the file name.')),
    ),
    content_id: Type.Optional(
      Nullable(Type.String(), described('Makes the attachment inline, for `cid:` in the HTML.')),
    ),
    inline_content_id: Type.Optional(
      Nullable(Type.String(), described('Older name of `content_id` in some client libraries.')),
    ),
  },
  described('A file to attach to the email.'),
)
export type AttachmentInput = Static<typeof AttachmentInput>

/** Body of POST /emails. */
export const SendEmail = Type.Object(
  {
    from: Type.Optional(
      Nullable(
        Type.String(),
        described(
          '`Name <address>` or an address, on a verified domain. Required unless the template has one.',
        ),
      ),
    ),
    to: Type.Union(Addresses.anyOf, described('One address, or up to 50.')),
    cc: Type.Optional(Nullable(Addresses, described('Same format as `to`.'))),
    bcc: Type.Optional(Nullable(Addresses, described('Same format as `to`. Hidden from all recipients.'))),
    reply_to: Type.Optional(Nullable(Addresses, described('Address for replies.'))),
    subject: Type.Optional(
      Nullable(Type.String(), described('The subject. Required unless the template has one.')),
    ),
    html: Type.Optional(Nullable(Type.String(), described('This, `text` or `template` is required.'))),
    text: Type.Optional(
      Nullable(Type.String(), described('Plain text. Default: generated from the HTML; "" for no text.')),
    ),
    template: Type.Optional(
      Nullable(
        Type.Object(
          {
            id: Type.String(described('The id or alias of a published template.')),
            variables: Type.Optional(
              Nullable(
                Type.Record(Type.String(), Type.Unknown()),
                described('Values by the name of their variable: strings or numbers. At most 50.'),
              ),
            ),
          },
          described('A template and its values.'),
        ),
        described('The template that the content comes from, instead of `html` and `text`.'),
      ),
    ),
    headers: Type.Optional(
      Nullable(Type.Record(Type.String(), Type.String()), described('Additional header fields.')),
    ),
    attachments: Type.Optional(
      Nullable(
        Type.Array(AttachmentInput),
        described('At most 40 MB in total with the message, unless the server has a different limit.'),
      ),
    ),
    tags: Type.Optional(Nullable(Type.Array(TagSchema), described('Included in the events of the email.'))),
    topic_id: Type.Optional(
      Nullable(
        Type.String(),
        described(
          'The topic that the email is about. Nothing is sent to recipients who opted out of it or of everything. An address that is not a contact gets it if the default of the topic is `opt_in`.',
        ),
      ),
    ),
    scheduled_at: Type.Optional(
      Nullable(
        Type.String({ examples: ['2026-12-01T09:00:00Z', 'in 1 hour'] }),
        described(
          'When to send it, at most 30 days ahead: ISO 8601, or English such as `in 1 hour` or `tomorrow at 9am`. UTC unless a time zone is given.',
        ),
      ),
    ),
  },
  described('An email to send.'),
)
export type SendEmail = Static<typeof SendEmail>

/** POST /emails */
export const EmailCreated = Type.Object({ id: Id }, described('The accepted and stored email.'))
export type EmailCreated = Static<typeof EmailCreated>

/** Maximum number of emails in a batch. */
export const MAX_BATCH = 100

/** Body of POST /emails/batch. */
export const SendBatch = Type.Array(SendEmail, {
  minItems: 1,
  maxItems: MAX_BATCH,
  description: 'Each element is sent as a separate email. Attachments are not supported in batches.',
})

/** POST /emails/batch */
export const BatchCreated = Type.Object(
  {
    data: Type.Array(Type.Object({ id: Id }), {
      description: 'The accepted emails, in the order of the request.',
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'Index in the request, from 0.' }),
          message: Type.String({ description: 'What is wrong with this email.' }),
        }),
        { description: 'Only with `x-batch-validation: permissive`: the emails that were refused.' },
      ),
    ),
  },
  { description: 'The accepted emails, and in permissive mode the refused ones.' },
)
export type BatchCreated = Static<typeof BatchCreated>

const operation = operationsIn('Emails')
const idempotency = {
  'Idempotency-Key': Type.Optional(
    Type.String({
      description: 'Makes it safe to repeat the request: 1 to 256 characters, stored for 24 hours.',
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
  params: path({ id: pathId }),
  headers: repeatable,
  response: { 200: EmailCreated },
  errors: ['409'],
})
