import { Type, type Static } from 'typebox'
import { LAST_EVENTS } from '../../mail/event.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])
const described = (description: string) => ({ description })

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
    from: Type.String({ description: '`Name <address>` or an address, on a verified domain.' }),
    to: Type.Union(Addresses.anyOf, described('One address, or up to 50.')),
    cc: Type.Optional(Nullable(Addresses, described('Same format as `to`.'))),
    bcc: Type.Optional(Nullable(Addresses, described('Same format as `to`. Hidden from all recipients.'))),
    reply_to: Type.Optional(Nullable(Addresses, described('Address for replies.'))),
    subject: Type.String(described('The subject.')),
    html: Type.Optional(Nullable(Type.String(), described('Either this or `text` is required, or both.'))),
    text: Type.Optional(
      Nullable(Type.String(), described('Plain text. Default: generated from the HTML; "" for no text.')),
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

export const EmailCreated = Type.Object({ id: Id }, described('The accepted and stored email.'))
export type EmailCreated = Static<typeof EmailCreated>

const summary = {
  id: Id,
  message_id: Nullable(Type.String(), described('The Message-ID field, in angle brackets.')),
  to: Type.Array(Type.String(), described('The To field, one address each.')),
  from: Type.String(described('The From field.')),
  created_at: Timestamp,
  subject: Type.String(described('The subject.')),
  bcc: Nullable(Type.Array(Type.String()), described('Recipients hidden from the others; null: none.')),
  cc: Nullable(Type.Array(Type.String()), described('The Cc field, one address each; null: none.')),
  reply_to: Nullable(Type.Array(Type.String()), described('Address for replies; null: the sender.')),
  last_event: literals(LAST_EVENTS, described('The last event.')),
  scheduled_at: Nullable(Timestamp, described('When it will be sent; null: not scheduled.')),
}

/** An element of GET /emails. */
export const EmailSummary = Type.Object(summary, described('An email, without its content.'))
export type EmailSummary = Static<typeof EmailSummary>
export const EmailList = listOf(EmailSummary, 'emails')
export type EmailList = Static<typeof EmailList>

/** GET /emails/:id */
export const Email = Type.Object(
  {
    object: kind('email'),
    ...summary,
    html: Nullable(Type.String(), described('The HTML, as sent; null: none.')),
    text: Nullable(Type.String(), described('The plain text, as sent; null: none.')),
    tags: Type.Array(TagSchema, described('The tags of the email.')),
  },
  described('An email.'),
)
export type Email = Static<typeof Email>

/** Body of PATCH /emails/:id */
export const UpdateEmail = Type.Object(
  {
    scheduled_at: Type.String({
      description: 'The new time, at most 30 days ahead: ISO 8601 or English words.',
      examples: ['in 1 hour'],
    }),
  },
  described('The new time of a scheduled email.'),
)

/** What changes of an email answer with. */
export const EmailChanged = Type.Object({ object: kind('email'), id: Id }, described('The changed email.'))

/** Body of POST /emails/:id/share */
export const ShareEmail = Type.Object(
  {
    expires_in: Type.Optional(
      Nullable(
        Type.String({ examples: ['2 hours'] }),
        described(
          'How long the link works: a duration such as `10m`, `2 hours` or `1 day`. Default and maximum: 48 hours.',
        ),
      ),
    ),
  },
  described('Options of the link. The body is optional.'),
)

/** POST /emails/:id/share */
export const EmailShared = Type.Object(
  {
    object: kind('email'),
    id: Id,
    url: Type.String(described('A link that shows the email to anyone who has it.')),
  },
  described('The link.'),
)
