import Database from 'better-sqlite3'
import type { Connection } from '../../../appliance/storage/sqlite/connection.ts'
import { formatQueueName, type QueueNameParts } from '../../../appliance/mail/queue.ts'
import { applyMigrations, shippedMigrations } from '../../../appliance/storage/sqlite/migrate.ts'

/** Opens an in-memory database with the schema. Deliveries may be queued without a known team. */
export function openMemory(): Connection {
  const db = new Database(':memory:')
  applyMigrations(db, shippedMigrations())
  db.pragma('foreign_keys = off')
  return db
}

/** A queued delivery: a recipient of email `email`, by default one of its own. */
export interface Waiting {
  queue: QueueNameParts
  dueAt: number
  email?: string
  domain?: string
}

/** Adds queued deliveries. Returns their IDs in sort order. */
export function fill(db: Connection, waiting: readonly Waiting[], prefix = ''): string[] {
  const email = db.prepare(`
    insert or ignore into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header,
      bcc_header, reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event,
      scheduled_at, sent_at, created_at)
    values (?, ?, 'd', null, 'rest', '', '[]', '[]', '[]', '[]', '', '[]', '[]', '[]', '', 'back@example', 0, 'queued',
      null, null, 0)`)
  const delivery = db.prepare(`
    insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at,
      queue, stream, domain, due_at, expires_at)
    values (?, ?, ?, 'a@x', 'to', ?, ?, 'waiting', 0, 0, 0, ?, ?, ?, ?, 9e15)`)
  return db.transaction(() =>
    waiting.map(({ queue, dueAt, email: emailId, domain }, i) => {
      const id = `${prefix}d${String(i).padStart(7, '0')}`
      const { pool, provider, stream, teamId } = queue
      const of = emailId ?? `${prefix}e${i}`
      email.run(of, teamId)
      const where = [pool, provider, formatQueueName(queue), stream, domain ?? `${provider}.example`]
      delivery.run(of, id, teamId, ...where, dueAt)
      return id
    }),
  )()
}
