import { lastEventOf, type EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import type { NewEmail } from '../storage.ts'
import type { Connection } from './connection.ts'

/** A new email as it crosses to the writer: `body` is null when the message is in a file already. */
export type PutArgs = Omit<NewEmail, 'message'> & { body: Uint8Array | null; size: number }

/** `Storage.put`, hot: plain statements, prepared once. */
export function createPut(db: Connection): (args: PutArgs, now: number) => void {
  const insertEmail = db.prepare(
    `insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
       reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at,
       sent_at, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?)`,
  )
  const insertContent = db.prepare('insert into contents (email_id, team_id, html, text) values (?, ?, ?, ?)')
  const insertMessage = db.prepare('insert into messages (email_id, team_id, body) values (?, ?, ?)')
  const insertRecipient = db.prepare(
    `insert into recipients (id, team_id, email_id, recipient, field, lane, state, attempts, cause, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, 'waiting', 0, null, ?, ?)`,
  )
  const insertDelivery = db.prepare(
    `insert into deliveries (id, team_id, email_id, lane, domain, due_at, lease_owner, lease_until, held, attempts,
       created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, null, null, 0, 0, ?, ?)`,
  )
  const insertEvent = db.prepare(
    'insert into events (id, team_id, email_id, delivery_id, type, created_at, data) values (?, ?, ?, null, ?, ?, ?)',
  )

  return (email, now) => {
    const { id, teamId, scheduledAt } = email
    insertEmail.run(...emailValues(email, now))
    insertContent.run(id, teamId, email.html, email.text)
    insertMessage.run(id, teamId, email.body)
    for (const { id: deliveryId, recipient, field, lane, dueAt, expiresAt } of email.deliveries) {
      const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase()
      insertRecipient.run(deliveryId, teamId, id, recipient, field, lane, now, now)
      insertDelivery.run(deliveryId, teamId, id, lane, domain, dueAt, now, expiresAt)
    }
    if (scheduledAt === null) return
    const data: EventData = {}
    insertEvent.run(newId(now), teamId, id, 'email.scheduled', now, JSON.stringify(data))
  }
}

function emailValues(email: PutArgs, now: number): (string | number | null)[] {
  return [
    email.id,
    email.teamId,
    email.domainId,
    email.apiKeyId,
    email.via,
    email.from,
    JSON.stringify(email.to),
    JSON.stringify(email.cc),
    JSON.stringify(email.bcc),
    JSON.stringify(email.replyTo),
    email.subject,
    JSON.stringify(email.headers),
    JSON.stringify(email.tags),
    JSON.stringify(email.attachments),
    email.messageId,
    email.returnPath,
    email.size,
    email.scheduledAt === null ? 'queued' : lastEventOf('email.scheduled'),
    email.scheduledAt,
    now,
  ]
}
