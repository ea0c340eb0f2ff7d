import { Type, type Static } from 'typebox'
import { LAST_EVENTS } from '../../mail/event.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])
const described = (description: string) => ({ description })

export const TagSchema = Type.Object(
  {
    name: Type.String(described('At most 256 ASCII letters, digits, underscores and dashes.')),
    value: Type.String(described('At most 256 ASCII letters, digits, underscores and dashes.')),
  },
  described('A mark of the sender’s own on an email.'),
)

const Bytes = Type.Array(Type.Integer(), described('The bytes of the file, each from 0 to 255.'))

export const AttachmentInput = Type.Object(
  {
    content: Type.Optional(
      Nullable(
        Type.Union([
          Type.String(described('The file, base64.')),
          Bytes,
          Type.Object({ type: kind('Buffer'), data: Bytes }, { description: 'What Node makes of a Buffer.' }),
        ]),
        described('The file. This or `path` is needed.'),
      ),
    ),
    path: Type.Optional(
      Nullable(
        Type.String(),
        described(
          'Instead of the content: an http(s) URL that the server fetches the file from. Where both are given it is the content that counts.',
        ),
      ),
    ),
    filename: Type.Optional(
      Nullable(Type.String(), described('Name shown to the reader; for a `path` by default its own.')),
    ),
    content_type: Type.Optional(
      Nullable(Type.String(), described('Media type; by default from the file name.')),
    ),
    content_id: Type.Optional(
      Nullable(Type.String(), described('Makes the attachment inline, for `cid:` in the html.')),
    ),
    inline_content_id: Type.Optional(
      Nullable(Type.String(), described('`content_id`, as older client libraries write it.')),
    ),
  },
  described('A file that goes with an email.'),
)
export type AttachmentInput = Static<typeof AttachmentInput>

/** Body of POST /emails. */
export const SendEmail = Type.Object(
  {
    from: Type.String({ description: '`Name <address>` or an address of a verified domain.' }),
    to: Type.Union(Addresses.anyOf, described('One address or up to 50.')),
    cc: Type.Optional(Nullable(Addresses, described('As `to`.'))),
    bcc: Type.Optional(Nullable(Addresses, described('As `to`; no recipient sees these.'))),
    reply_to: Type.Optional(Nullable(Addresses, described('Where answers go.'))),
    subject: Type.String(described('The subject.')),
    html: Type.Optional(Nullable(Type.String(), described('This or `text` is needed, or both.'))),
    text: Type.Optional(Nullable(Type.String(), described('Made from the html when absent; "" for none.'))),
    headers: Type.Optional(
      Nullable(Type.Record(Type.String(), Type.String()), described('Further header fields of the message.')),
    ),
    attachments: Type.Optional(
      Nullable(
        Type.Array(AttachmentInput),
        described('At most 40 MB with the rest, unless the server is set otherwise.'),
      ),
    ),
    tags: Type.Optional(Nullable(Type.Array(TagSchema), described('Go with the events of the email.'))),
    scheduled_at: Type.Optional(
      Nullable(
        Type.String({ examples: ['2026-12-01T09:00:00Z', 'in 1 hour'] }),
        described(
          'When to send it, at most 30 days ahead: ISO 8601, or English words such as `in 1 hour` or `tomorrow at 9am`; UTC unless it names a time zone.',
        ),
      ),
    ),
  },
  described('An email to send.'),
)
export type SendEmail = Static<typeof SendEmail>

export const EmailCreated = Type.Object({ id: Id }, described('The email, safely stored.'))
export type EmailCreated = Static<typeof EmailCreated>

const summary = {
  id: Id,
  message_id: Nullable(Type.String(), described('The Message-ID field, in angle brackets.')),
  to: Type.Array(Type.String(), described('The To field, one address each.')),
  from: Type.String(described('The From field.')),
  created_at: Timestamp,
  subject: Type.String(described('The subject.')),
  bcc: Nullable(Type.Array(Type.String()), described('Recipients that the others do not see; null: none.')),
  cc: Nullable(Type.Array(Type.String()), described('The Cc field, one address each; null: none.')),
  reply_to: Nullable(Type.Array(Type.String()), described('Where answers go; null: to the sender.')),
  last_event: literals(LAST_EVENTS, described('What happened last.')),
  scheduled_at: Nullable(Timestamp, described('When it is to be sent; null: it was not scheduled.')),
}

/** An element of GET /emails. */
export const EmailSummary = Type.Object(summary, described('An email, without its text.'))
export type EmailSummary = Static<typeof EmailSummary>
export const EmailList = listOf(EmailSummary, 'emails')
export type EmailList = Static<typeof EmailList>

/** GET /emails/:id */
export const Email = Type.Object(
  {
    object: kind('email'),
    ...summary,
    html: Nullable(Type.String(), described('The html, as it was sent; null: none.')),
    text: Nullable(Type.String(), described('The plain text, as it was sent; null: none.')),
    tags: Type.Array(TagSchema, described('The tags that it was sent with.')),
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
export const EmailChanged = Type.Object(
  { object: kind('email'), id: Id },
  described('The email that was changed.'),
)

/** Body of POST /emails/:id/share */
export const ShareEmail = Type.Object(
  {
    expires_in: Type.Optional(
      Nullable(
        Type.String({ examples: ['2 hours'] }),
        described(
          'How long the link works: a duration such as `10m`, `2 hours` or `1 day`; 48 hours by default and at most.',
        ),
      ),
    ),
  },
  described('How to share an email. The body may be left out.'),
)

/** POST /emails/:id/share */
export const EmailShared = Type.Object(
  {
    object: kind('email'),
    id: Id,
    url: Type.String(described('Shows the email to whoever has it.')),
  },
  described('The link.'),
)
