import { Type, type Static } from 'typebox'
import { LAST_EVENTS } from '../../mail/event.ts'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])
const described = (description: string) => ({ description })

export const TagSchema = Type.Object({
  name: Type.String(
    described('At most 256 ASCII letters, digits, underscores and dashes; the value likewise.'),
  ),
  value: Type.String(),
})

const Bytes = Type.Array(Type.Integer())

export const AttachmentInput = Type.Object({
  content: Type.Optional(
    Nullable(
      Type.Union([
        Type.String({ description: 'The file, base64.' }),
        Bytes,
        Type.Object(
          { type: Type.Literal('Buffer'), data: Bytes },
          { description: 'What Node makes of a Buffer.' },
        ),
      ]),
    ),
  ),
  path: Type.Optional(
    Nullable(
      Type.String({
        description: 'Instead of the content: an http(s) URL that the server fetches the file from.',
      }),
    ),
  ),
  filename: Type.Optional(
    Nullable(Type.String({ description: 'Name shown to the reader; for a `path` by default its own.' })),
  ),
  content_type: Type.Optional(
    Nullable(Type.String({ description: 'Media type; by default from the file name.' })),
  ),
  content_id: Type.Optional(
    Nullable(Type.String({ description: 'Makes the attachment inline, for `cid:` in the html.' })),
  ),
  contentType: Type.Optional(
    Nullable(Type.String({ description: '`content_type`, as one client library writes it.' })),
  ),
  inline_content_id: Type.Optional(
    Nullable(Type.String({ description: '`content_id`, as older client libraries write it.' })),
  ),
})
export type AttachmentInput = Static<typeof AttachmentInput>

/** Body of POST /emails. */
export const SendEmail = Type.Object({
  from: Type.String({ description: '`Name <address>` or an address of a verified domain.' }),
  to: Type.Union(Addresses.anyOf, described('One address or up to 50.')),
  cc: Type.Optional(Nullable(Addresses, described('As `to`.'))),
  bcc: Type.Optional(Nullable(Addresses, described('As `to`; no recipient sees these.'))),
  reply_to: Type.Optional(Nullable(Addresses, described('Where answers go.'))),
  subject: Type.String(),
  html: Type.Optional(Nullable(Type.String(), described('This or `text` is needed, or both.'))),
  text: Type.Optional(Nullable(Type.String({ description: 'Made from the html when absent; "" for none.' }))),
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
      Type.String({
        description:
          'When to send it, at most 30 days ahead: ISO 8601, or English words such as `in 1 hour` or `tomorrow at 9am`; UTC unless it names a time zone.',
        examples: ['2026-12-01T09:00:00Z', 'in 1 hour'],
      }),
    ),
  ),
})
export type SendEmail = Static<typeof SendEmail>

export const EmailCreated = Type.Object({ id: Id })
export type EmailCreated = Static<typeof EmailCreated>

const summary = {
  id: Id,
  message_id: Nullable(Type.String()),
  to: Type.Array(Type.String()),
  from: Type.String(),
  created_at: Timestamp,
  subject: Type.String(),
  bcc: Nullable(Type.Array(Type.String())),
  cc: Nullable(Type.Array(Type.String())),
  reply_to: Nullable(Type.Array(Type.String())),
  last_event: literals(LAST_EVENTS),
  scheduled_at: Nullable(Timestamp),
}

/** An element of GET /emails. */
export const EmailSummary = Type.Object(summary)
export type EmailSummary = Static<typeof EmailSummary>
export const EmailList = listOf(EmailSummary)
export type EmailList = Static<typeof EmailList>

/** GET /emails/:id */
export const Email = Type.Object({
  object: Type.Literal('email'),
  ...summary,
  html: Nullable(Type.String()),
  text: Nullable(Type.String()),
  tags: Type.Array(TagSchema),
})
export type Email = Static<typeof Email>

/** Body of PATCH /emails/:id */
export const UpdateEmail = Type.Object({
  scheduled_at: Type.String({
    description: 'The new time, at most 30 days ahead: ISO 8601 or English words.',
    examples: ['in 1 hour'],
  }),
})

/** What changes of an email answer with. */
export const EmailChanged = Type.Object({ object: Type.Literal('email'), id: Id })

/** Body of POST /emails/:id/share */
export const ShareEmail = Type.Object({
  expires_in: Type.Optional(
    Nullable(
      Type.String({
        description:
          'How long the link works: a duration such as `10m`, `2 hours` or `1 day`; 48 hours by default and at most.',
        examples: ['2 hours'],
      }),
    ),
  ),
})

/** POST /emails/:id/share */
export const EmailShared = Type.Object({
  object: Type.Literal('email'),
  id: Id,
  url: Type.String({ description: 'Shows the email to whoever has it.' }),
})
