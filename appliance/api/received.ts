import { Type, type Static } from 'typebox'
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { RETURNED_MAIL_EFFECTS, RETURNED_MAIL_KINDS, type ReturnedMailReport } from '../mail/returned.ts'
import { arrayOfObjects, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import type {
  PostmasterMessage as StoredPostmasterMessage,
  ReceivedMessage,
  ReturnedMessage as StoredReturnedMessage,
} from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId, page, path, pathId, pathUuid, query } from './parameters.ts'

const fields = {
  id: Id,
  received_at: Timestamp,
  mail_from: string('The envelope sender; empty for the null sender.'),
  rcpt_to: string('The envelope recipient.'),
  ip: string('IP address of the client.', { examples: ['192.0.2.7'] }),
  helo: string('The EHLO name of the client.', { examples: ['mx.example.net'] }),
  tls: Nullable(Type.String(), 'TLS version; null: no TLS.'),
  size: integer('Size of the message in bytes.'),
}

/** The content of a returned message (mail/returned.ts). Everything but `effect` is the sender's claim. */
const Report = object('What the message says, and what it changed.', {
  kind: literals([...RETURNED_MAIL_KINDS, 'unreadable'], 'What the message is.'),
  format: string('How it was recognized (docs/inbound.md).'),
  reporting_mta: Nullable(Type.String(), 'The server that wrote it; null: unknown.'),
  entries: arrayOfObjects('One per recipient, at most 100.', {
    recipient: Nullable(Type.String(), 'The recipient; null: none is named.'),
    delivery_id: Nullable(Id, 'The delivery; null: none matches.'),
    action: Nullable(
      literals(['failed', 'delayed', 'delivered', 'relayed', 'expanded']),
      'The action of a delivery report; null for a complaint.',
    ),
    status: Nullable(Type.String(), 'The enhanced status code; null: none.'),
    diagnostic: Nullable(Type.String(), 'What the last server said; null: nothing.'),
    category: Nullable(literals(BOUNCE_CATEGORIES), 'Category of the failure; null: none.'),
    effect: literals(
      RETURNED_MAIL_EFFECTS,
      'bounced: the delivery bounced · suppressed: and the address was suppressed · complained · noted: it says nothing final · unchanged: the delivery is queued, or bounced or was complained about before · stranger: not a recipient of the email · ambiguous: the email has several recipients.',
    ),
  }),
})

/** An element of GET /emails/:id/returned. Not part of the hosted API. */
export const ReturnedMessage = object('A message sent to the return path of an email.', {
  object: kind('returned_message'),
  ...fields,
  has_content: boolean(
    'Whether the message itself is stored; false if the content of the email is not kept.',
  ),
  report: Nullable(Report, 'Null: not read yet, or the return path has no code.'),
})
export type ReturnedMessage = Static<typeof ReturnedMessage>
export const ReturnedMessageList = listOf(ReturnedMessage, 'returned messages')

/** An element of GET /postmaster. Not part of the hosted API. */
export const PostmasterMessage = object('A message to postmaster or abuse. It is not verified.', {
  object: kind('postmaster_message'),
  ...fields,
  forwarding: literals(
    ['off', 'due', 'done', 'skipped'],
    'off: `smtp.postmaster` was not set · due: not forwarded yet · done · skipped: see `reason`.',
  ),
  forwarded_as: Nullable(Id, 'The email that forwarded it.'),
  reason: Nullable(Type.String(), 'Why it was not forwarded.'),
})
export type PostmasterMessage = Static<typeof PostmasterMessage>
export const PostmasterMessageList = listOf(PostmasterMessage, 'messages to postmaster')

const emailOperation = operationsIn('Emails')
const serviceOperation = operationsIn('Service')

export const listReturnedMessages = emailOperation('GET /emails/:id/returned', {
  summary: 'List messages returned to an email',
  description:
    'Messages sent to the return path of the email, usually delivery reports. `report` says what each one changed (docs/bounces.md). Not part of the hosted API.',
  params: byId,
  response: { 200: ReturnedMessageList },
})
export const getReturnedMessage = emailOperation('GET /emails/:id/returned/:returned_id', {
  summary: 'Get a returned message',
  description: 'Not part of the hosted API.',
  params: path({ id: pathId, returned_id: pathUuid('The id of the returned message.') }),
  response: { 200: nonJsonContent('message/rfc822', 'The message, exactly as received.') },
})
export const listPostmasterMessages = serviceOperation('GET /postmaster', {
  summary: 'List mail to postmaster and abuse',
  description: 'For the team that operates the server. Not part of the hosted API.',
  querystring: query(page),
  response: { 200: PostmasterMessageList },
})
export const getPostmasterMessage = serviceOperation('GET /postmaster/:id/source', {
  summary: 'Get a message to postmaster',
  description: 'For the team that operates the server. Not part of the hosted API.',
  params: byId,
  response: { 200: nonJsonContent('message/rfc822', 'The message, exactly as received.') },
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

const presentReport = ({
  reportingMta,
  entries,
  ...report
}: ReturnedMailReport): ReturnedMessage['report'] => ({
  ...report,
  reporting_mta: reportingMta,
  entries: entries.map(({ deliveryId, ...entry }) => ({ ...entry, delivery_id: deliveryId })),
})

/** Formats an element of GET /emails/:id/returned. */
export function presentReturnedMessage(message: StoredReturnedMessage): ReturnedMessage {
  return {
    object: 'returned_message',
    ...presentReceived(message),
    has_content: message.hasContent,
    report: message.report && presentReport(message.report),
  }
}

/** Formats an element of GET /postmaster. */
export function presentPostmasterMessage(message: StoredPostmasterMessage): PostmasterMessage {
  const { forwarding } = message
  return {
    object: 'postmaster_message',
    ...presentReceived(message),
    forwarding: forwarding.state,
    forwarded_as: forwarding.state === 'done' ? forwarding.emailId : null,
    reason: forwarding.state === 'skipped' ? forwarding.reason : null,
  }
}
