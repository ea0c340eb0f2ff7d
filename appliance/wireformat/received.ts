import type * as schema from '../http/schemas/received.ts'
import type { PostmasterMessage, ReceivedMessage, ReturnedMessage } from '../storage/storage.ts'
import { timestamp } from '../api/timestamp.ts'

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
export function presentReturned(message: ReturnedMessage): schema.ReturnedMessage {
  return { object: 'returned_message', ...presentReceived(message), has_content: message.hasContent }
}

/** An element of GET /postmaster. */
export function presentPostmaster(message: PostmasterMessage): schema.PostmasterMessage {
  const { forwarding } = message
  return {
    object: 'postmaster_message',
    ...presentReceived(message),
    forwarding: forwarding.state,
    forwarded_as: forwarding.state === 'done' ? forwarding.emailId : null,
    reason: forwarding.state === 'skipped' ? forwarding.reason : null,
  }
}
