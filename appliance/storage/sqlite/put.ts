import { reportWanted } from '../../mail/dsn.ts'
import { lastEventOf, type EmailEventType, type EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import { formatQueue, unplaced } from '../../mail/queue.ts'
import { suppressedCause, suppressedData } from '../../mail/suppression.ts'
import type { NewEmail, NewReceipt, PutResult, QuotaLimit } from '../storage.ts'
import { toReceipt } from '../methods/receipts.ts'
import { toNotify } from '../methods/recipients.ts'
import type { Connection } from './connection.ts'
import { createCount } from './count.ts'
import { createHolds } from './holds.ts'
import { createListed } from './listed.ts'
import { createOwe } from './owe.ts'
import { createRecordEvent, type NewEvent } from './record-event.ts'

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
  const origin = createListed(db)
  const heedSuppressions = ({ teamId, deliveries }: StoredEmail): void => {
    for (const delivery of deliveries) {
      const found = origin(teamId, delivery.recipient)
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
  const insertEmail = db.prepare(
    `insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header,
       reply_to, subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at,
       sent_at, created_at, report_to, ret, envid, require_tls)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?, ?, ?, ?, ?)`,
  )
  const insertContent = db.prepare('insert into contents (email_id, team_id, html, text) values (?, ?, ?, ?)')
  const insertMessage = db.prepare('insert into messages (email_id, team_id, body) values (?, ?, ?)')
  const recordEvent = createRecordEvent(db)
  const insertRecipients = createInsertRecipients(db, recordEvent)

  return (email, now) => {
    const { id, teamId, deliveries, domainId } = email
    const event = newEvent(email, now)
    const queued = deliveries.some(({ suppressed }) => suppressed === null)
    insertEmail.run(...emailValues(email, queued, now))
    insertContent.run(id, teamId, email.html, email.text)
    insertMessage.run(id, teamId, email.body)
    if (queued && email.scheduledAt !== null)
      recordEvent(event('email.scheduled', null, {}), { domainId, provider: '' })
    insertRecipients(email, event, now)
  }
}

/** Stores the recipients of an email: those that are sent to with their deliveries, the others with why not. */
function createInsertRecipients(db: Connection, recordEvent: ReturnType<typeof createRecordEvent>) {
  const owe = createOwe(db)
  const holdsOf = createHolds(db)
  const insertRecipient = db.prepare(
    `insert into recipients (id, team_id, email_id, recipient, field, pool, provider, state, attempts, cause, created_at,
       updated_at, notify, orcpt)
     values (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
  )
  const providerOf = db
    .prepare<[string], string>('select provider from destinations where domain = ?')
    .pluck()
  const insertDelivery = db.prepare(
    `insert into deliveries (id, team_id, email_id, queue, pool, provider, stream, domain, due_at, lease_owner,
       lease_until, held, attempts, created_at, expires_at, touched_by)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, null, null, ?, 0, ?, ?, ?)`,
  )

  return (email: StoredEmail, event: ReturnType<typeof newEvent>, now: number): void => {
    const { id, teamId, deliveries, pool, stream, domainId } = email
    const holding = holdsOf(email)
    for (const { id: deliveryId, recipient, field, dueAt, expiresAt, suppressed, dsn } of deliveries) {
      const state = suppressed ? 'suppressed' : 'waiting'
      const cause = suppressed && JSON.stringify(suppressed)
      const asked = [toNotify(dsn?.notify ?? null), dsn?.orcpt ?? null]
      const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase()
      const provider = providerOf.get(domain) ?? unplaced(domain)
      insertRecipient.run(
        ...[deliveryId, teamId, id, recipient, field, pool, provider, state, cause, now, now],
        ...asked,
      )
      if (suppressed) {
        const data = { recipient, cause: suppressed, suppressed: suppressedData(suppressed) }
        recordEvent(event('email.suppressed', deliveryId, data), { domainId, provider })
        if (email.reportTo !== null && reportWanted(dsn?.notify ?? null, 'failed'))
          owe({ deliveryId, kind: 'failed', teamId, emailId: id }, now)
        continue
      }
      const queue = formatQueue({ pool, provider, stream, teamId })
      const rule = holding({ domain, provider })
      insertDelivery.run(
        ...[deliveryId, teamId, id, queue, pool, provider, stream, domain, dueAt, rule === null ? 0 : 1, now],
        ...[expiresAt, rule],
      )
    }
  }
}

/** Makes the events of a new email. */
const newEvent =
  ({ id: emailId, teamId }: StoredEmail, now: number) =>
  (type: EmailEventType, deliveryId: string | null, data: EventData): NewEvent => ({
    ...{ id: newId(now), teamId, emailId, deliveryId, type, createdAt: now, data },
  })

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
