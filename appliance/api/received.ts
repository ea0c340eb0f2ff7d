import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import type {
  PostmasterMessage as StoredPostmasterMessage,
  ReceivedMessage,
  ReturnedMessage as StoredReturnedMessage,
} from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operation, other } from './operation.ts'
import { page, path, pathId, pathUuid, query } from './parameters.ts'

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

export const listReturnedMessages = operation('GET /emails/:id/returned', {
  operationId: 'listReturnedMessages',
  tags: ['Emails'],
  summary: 'List messages returned to an email',
  description:
    'Messages sent to the return path of the email, usually delivery reports. They are not verified, and change neither the email nor the suppression list. Not part of the hosted API.',
  params: path({ id: pathId }),
  response: { 200: ReturnedMessageList },
})
export const getReturnedMessage = operation('GET /emails/:id/returned/:returned_id', {
  operationId: 'getReturnedMessage',
  tags: ['Emails'],
  summary: 'Get a returned message',
  description: 'Not part of the hosted API.',
  params: path({ id: pathId, returned_id: pathUuid('The id of the returned message.') }),
  response: { 200: other('message/rfc822', 'The message, exactly as received.') },
})
export const listPostmasterMessages = operation('GET /postmaster', {
  operationId: 'listPostmasterMessages',
  tags: ['Service'],
  summary: 'List mail to postmaster and abuse',
  description: 'For the team that operates the server. Not part of the hosted API.',
  querystring: query(page),
  response: { 200: PostmasterMessageList },
})
export const getPostmasterMessage = operation('GET /postmaster/:id/source', {
  operationId: 'getPostmasterMessage',
  tags: ['Service'],
  summary: 'Get a message to postmaster',
  description: 'For the team that operates the server. Not part of the hosted API.',
  params: path({ id: pathId }),
  response: { 200: other('message/rfc822', 'The message, exactly as received.') },
})

const presentReceived = ({ id, receivedAt, mailFrom, rcptTo, ip, helo, tls, size }: ReceivedMessage) => ({
  id,
  received_at: timestamp(receivedAt),
  mail_from: mailFrom,
  rcpt_to: rcptTo,
  ip,
  helo,
  tls,
  size,
})

/** An element of GET /emails/:id/returned. */
export function presentReturned(message: StoredReturnedMessage): ReturnedMessage {
  return { object: 'returned_message', ...presentReceived(message), has_content: message.hasContent }
}

/** An element of GET /postmaster. */
export function presentPostmaster(message: StoredPostmasterMessage): PostmasterMessage {
  const { forwarding } = message
  return {
    object: 'postmaster_message',
    ...presentReceived(message),
    forwarding: forwarding.state,
    forwarded_as: forwarding.state === 'done' ? forwarding.emailId : null,
    reason: forwarding.state === 'skipped' ? forwarding.reason : null,
  }
}
