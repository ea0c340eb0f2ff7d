import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const fields = {
  id: Id,
  received_at: Timestamp,
  mail_from: Type.String({ description: 'The envelope sender; empty for the null sender.' }),
  rcpt_to: Type.String({ description: 'The envelope recipient.' }),
  ip: Type.String({ description: 'IP address of the client.', examples: ['192.0.2.7'] }),
  helo: Type.String({ description: 'The EHLO name of the client.', examples: ['mx.example.net'] }),
  tls: Nullable(Type.String(), { description: 'TLS version; null: no TLS.' }),
  size: Type.Integer({ description: 'Size of the message in bytes.' }),
}

/** An element of GET /emails/:id/returned. Ours. */
export const ReturnedMessage = Type.Object(
  {
    object: kind('returned_message'),
    ...fields,
    has_content: Type.Boolean({
      description: 'Whether the message itself is stored; false if the content of the email is not kept.',
    }),
  },
  { description: 'A message sent to the return path of an email. It is not verified.' },
)
export type ReturnedMessage = Static<typeof ReturnedMessage>
export const ReturnedMessageList = listOf(ReturnedMessage, 'returned messages')

/** An element of GET /postmaster. Ours. */
export const PostmasterMessage = Type.Object(
  {
    object: kind('postmaster_message'),
    ...fields,
    forwarding: literals(['off', 'due', 'done', 'skipped'], {
      description:
        'off: `smtp.postmaster` was not set · due: not forwarded yet · done · skipped: see `reason`.',
    }),
    forwarded_as: Nullable(Id, { description: 'The email that forwarded it.' }),
    reason: Nullable(Type.String(), { description: 'Why it was not forwarded.' }),
  },
  { description: 'A message to postmaster or abuse. It is not verified.' },
)
export type PostmasterMessage = Static<typeof PostmasterMessage>
export const PostmasterMessageList = listOf(PostmasterMessage, 'messages to postmaster')
