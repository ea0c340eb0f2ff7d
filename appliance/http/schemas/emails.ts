import { Type, type Static } from 'typebox'
import { LAST_EVENTS } from '../../mail/event.ts'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

const Addresses = Type.Union([Type.String(), Type.Array(Type.String())])
export const TagSchema = Type.Object({ name: Type.String(), value: Type.String() })

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
  filename: Type.Optional(Nullable(Type.String({ description: 'Name shown to the reader.' }))),
  content_type: Type.Optional(
    Nullable(Type.String({ description: 'Media type; by default from the file name.' })),
  ),
  content_id: Type.Optional(
    Nullable(Type.String({ description: 'Makes the attachment inline, for `cid:` in the html.' })),
  ),
})
export type AttachmentInput = Static<typeof AttachmentInput>

/** Body of POST /emails. */
export const SendEmail = Type.Object({
  from: Type.String({ description: '`Name <address>` or an address of a verified domain.' }),
  to: Addresses,
  cc: Type.Optional(Nullable(Addresses)),
  bcc: Type.Optional(Nullable(Addresses)),
  reply_to: Type.Optional(Nullable(Addresses)),
  subject: Type.String(),
  html: Type.Optional(Nullable(Type.String())),
  text: Type.Optional(Nullable(Type.String({ description: 'Made from the html when absent; "" for none.' }))),
  headers: Type.Optional(Nullable(Type.Record(Type.String(), Type.String()))),
  attachments: Type.Optional(Nullable(Type.Array(AttachmentInput))),
  tags: Type.Optional(Nullable(Type.Array(TagSchema))),
})
export type SendEmail = Static<typeof SendEmail>

export const EmailCreated = Type.Object({ id: Id })

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
