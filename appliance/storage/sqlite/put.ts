import { reportWanted } from '../../mail/dsn.ts'
import { lastEventOf, type EmailEventType, type EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import {
  suppressedCause,
  suppressedData,
  suppressionKey,
  type SuppressionOrigin,
} from '../../mail/suppression.ts'
import type { NewEmail, NewReceipt, PutResult, QuotaLimit } from '../storage.ts'
import { toReceipt } from '../methods/receipts.ts'
import { toNotify } from '../methods/recipients.ts'
import type { Connection } from './connection.ts'
import { createCount } from './count.ts'
import { createOwe } from './owe.ts'

/** A new email as it crosses to the writer: `body` is null when the message is in a file already. */
export type StoredEmail = Omit<NewEmail, 'message'> & { body: Uint8Array | null; size: number }

/** Arguments of `put` as they cross to the writer. */
export interface StoreArgs {
  emails: StoredEmail[]
  receipt: NewReceipt | null
  quota: QuotaLimit | null
}

/** `Storage.put`, hot: plain statements, prepared once. */
export function createPut(db: Connection): (args: StoreArgs, now: number) => PutResult {
  const insert = createInsertEmail(db)
  const count = createCount(db)
  // Asked where it is written: elsewhere it would be one more trip to a thread, and older than the commit.
  const origin = db
    .prepare<[string, string], SuppressionOrigin>(
      'select origin from suppressions where team_id = ? and address = ?',
    )
    .pluck()
  const heedSuppressions = ({ teamId, deliveries }: StoredEmail): void => {
    for (const delivery of deliveries) {
      const found = origin.get(teamId, suppressionKey(delivery.recipient))
      if (found !== undefined) delivery.suppressed ??= suppressedCause({ origin: found })
    }
  }
  const findReceipt = db.prepare<[string, string, string, number], Parameters<typeof toReceipt>[0]>(
    `select fingerprint, body, email_ids from receipts
     where team_id = ? and scope = ? and key = ? and expires_at > ?`,
  )
  // What it replaces has expired.
  const insertReceipt = db.prepare(
    `insert or replace into receipts (team_id, scope, key, fingerprint, body, email_ids, created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )

  return ({ emails, receipt, quota }, now) => {
    // The receipt before the quota: what was answered once is answered again, whatever is left.
    const known = receipt && findReceipt.get(receipt.teamId, receipt.scope, receipt.key, now)
    if (known) return { kind: 'replay', receipt: toReceipt(known) }
    const recipients = emails.reduce((sum, { deliveries }) => sum + deliveries.length, 0)
    const usage = quota && count(quota, recipients, now)
    if (typeof usage === 'string') return { kind: 'over_quota', period: usage }
    for (const email of emails) {
      heedSuppressions(email)
      insert(email, now)
    }
    if (receipt) {
      const { teamId, scope, key, fingerprint, body, emailIds, expiresAt } = receipt
      insertReceipt.run(teamId, scope, key, fingerprint, body, JSON.stringify(emailIds), now, expiresAt)
    }
    return { kind: 'stored', usage }
  }
}

/** Stores an email with its deliveries, and what is to be told of those that are not made. */
export function createInsertEmail(db: Connection): (email: StoredEmail, now: number) => void {
  const owe = createOwe(db)
  const insertEmail = db.prepare(
    `insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
       reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at,
       sent_at, created_at, report_to, ret, envid, require_tls)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?, ?, ?, ?, ?)`,
  )
  const insertContent = db.prepare('insert into contents (email_id, team_id, html, text) values (?, ?, ?, ?)')
  const insertMessage = db.prepare('insert into messages (email_id, team_id, body) values (?, ?, ?)')
  const insertRecipient = db.prepare(
    `insert into recipients (id, team_id, email_id, recipient, field, lane, state, attempts, cause, created_at, updated_at,
       notify, orcpt)
     values (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
  )
  const insertDelivery = db.prepare(
    `insert into deliveries (id, team_id, email_id, lane, domain, due_at, lease_owner, lease_until, held, attempts,
       created_at, expires_at)
     values (?, ?, ?, ?, ?, ?, null, null, 0, 0, ?, ?)`,
  )
  const insertEvent = db.prepare(
    'insert into events (id, team_id, email_id, delivery_id, type, created_at, data) values (?, ?, ?, ?, ?, ?, ?)',
  )

  return (email, now) => {
    const { id, teamId, deliveries } = email
    const record = (type: EmailEventType, deliveryId: string | null, data: EventData): void =>
      void insertEvent.run(newId(now), teamId, id, deliveryId, type, now, JSON.stringify(data))
    const queued = deliveries.some(({ suppressed }) => suppressed === null)
    insertEmail.run(...emailValues(email, queued, now))
    insertContent.run(id, teamId, email.html, email.text)
    insertMessage.run(id, teamId, email.body)
    if (queued && email.scheduledAt !== null) record('email.scheduled', null, {})
    for (const { id: deliveryId, recipient, field, lane, dueAt, expiresAt, suppressed, dsn } of deliveries) {
      const state = suppressed ? 'suppressed' : 'waiting'
      const cause = suppressed && JSON.stringify(suppressed)
      const asked = [toNotify(dsn?.notify ?? null), dsn?.orcpt ?? null]
      insertRecipient.run(deliveryId, teamId, id, recipient, field, lane, state, cause, now, now, ...asked)
      if (suppressed) {
        record('email.suppressed', deliveryId, {
          recipient,
          cause: suppressed,
          suppressed: suppressedData(suppressed),
        })
        if (email.reportTo !== null && reportWanted(dsn?.notify ?? null, 'failed'))
          owe({ deliveryId, kind: 'failed', teamId, emailId: id }, now)
        continue
      }
      const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase()
      insertDelivery.run(deliveryId, teamId, id, lane, domain, dueAt, now, expiresAt)
    }
  }
}

/** What `last_event` of a new email is; one that goes to nobody is done. */
function firstState({ scheduledAt }: StoredEmail, queued: boolean): string {
  if (!queued) return lastEventOf('email.suppressed')
  return scheduledAt === null ? 'queued' : lastEventOf('email.scheduled')
}

function emailValues(email: StoredEmail, queued: boolean, now: number): (string | number | null)[] {
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
    firstState(email, queued),
    email.scheduledAt,
    now,
    email.reportTo,
    email.dsn?.ret ?? null,
    email.dsn?.envid ?? null,
    email.requireTls,
  ]
}
