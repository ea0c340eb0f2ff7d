/**
 * Erases an address from everything except emails: requests, webhooks, receipts, the suppression list and received
 * mail.
 */
import { sql } from 'kysely'
import { createErasedSuppressionKey } from '../../mail/erasure.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { START_CURSOR, type EventCursor, formatCursor, parseCursor } from '../event-cursor.ts'
import { isAfterCursor, toCursor, eventOrder } from '../events.ts'
import type { Db } from '../schema.ts'
import { findContactByAddress, removeNames } from './contacts.ts'
import type { PhaseResult, ErasureContext } from './scan.ts'
import { firstTeam } from '../teams.ts'

/** Number of rows per step. A row has up to 32 KB to search. */
const REQUESTS = 50

/** Number of rows per step. Webhook payloads and responses have a few kilobytes each. */
const TOLD = 200

const RECEIPTS = 500

/** Replaces the address in JSON, or in plain text if the text isn't JSON. */
function hideText({ eraser }: ErasureContext, text: string): string {
  try {
    return JSON.stringify(eraser.hideIn(JSON.parse(text) as unknown))
  } catch {
    return eraser.hide(text) // The response of an endpoint may be in any format.
  }
}

const hideMaybe = (scan: ErasureContext, text: string | null): string | null =>
  text === null ? null : hideText(scan, text)

/** Erases the address from the request log. */
export async function requestsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const rows = await db
    .selectFrom('request_logs')
    .select(['id', 'endpoint', 'query', 'message', 'request_body', 'response_body'])
    .where('team_id', '=', scan.teamId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(REQUESTS)
    .execute()
  // Requests about the contact may contain personal data even if they don't contain the address.
  const contact = await findContactByAddress(db, scan)
  const about = (endpoint: string): boolean => contact !== undefined && endpoint.includes(contact.id)
  const found = rows.filter(
    (row) =>
      about(row.endpoint) ||
      scan.eraser.finds(
        [row.endpoint, row.query, row.message, row.request_body, row.response_body].join('\n'),
      ),
  )
  for (const row of scan.write ? found : [])
    await db
      .updateTable('request_logs')
      .set({
        endpoint: scan.eraser.hide(row.endpoint),
        query: hideMaybe(scan, row.query),
        message: hideMaybe(scan, row.message),
        request_body: isOfContacts(row.endpoint) ? null : hideMaybe(scan, row.request_body),
        response_body: isOfContacts(row.endpoint) ? null : hideMaybe(scan, row.response_body),
      })
      .where('id', '=', row.id)
      .execute()
  return { counts: { requests: found.length }, next: rows.length < REQUESTS ? null : rows.at(-1)!.id }
}

const isOfContacts = (endpoint: string): boolean => /\/contacts(\/|$)/.test(endpoint)

/** Removes from a payload the address, names, the subject, and data about who opened or clicked. */
function hidePayload({ eraser }: ErasureContext, payload: string): string {
  const told = eraser.hideIn(JSON.parse(payload) as { data?: Record<string, unknown> })
  const { data } = told
  if (typeof data !== 'object' || data === null) return JSON.stringify(told)
  const hidden: Record<string, unknown> = { ...data }
  if ('subject' in data) hidden.subject = ''
  for (const name of ['first_name', 'last_name']) delete hidden[name]
  for (const act of ['open', 'click'])
    if (typeof data[act] === 'object' && data[act] !== null) {
      const emptied = Object.entries(data[act]).map(([name, value]) => [
        name,
        ['ipAddress', 'userAgent', 'link'].includes(name) ? '' : (value as unknown),
      ])
      hidden[act] = Object.fromEntries(emptied)
    }
  return JSON.stringify({ ...told, data: hidden })
}

/** Erases the address from webhook deliveries, pending and final. */
export async function webhooksPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(['id', 'team_id', 'payload'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(TOLD)
    .execute()
  const found = rows.filter((row) => row.team_id === scan.teamId && scan.eraser.finds(row.payload))
  for (const row of scan.write ? found : [])
    await db
      .updateTable('webhook_deliveries')
      .set({ payload: hidePayload(scan, row.payload) })
      .where('id', '=', row.id)
      .execute()
  return { counts: { webhook_deliveries: found.length }, next: rows.length < TOLD ? null : rows.at(-1)!.id }
}

/** Erases the address from webhook responses. */
export async function attemptsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const rows = await db
    .selectFrom('webhook_attempts')
    .select(['id', 'team_id', 'error', 'request_headers', 'response_headers', 'response'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(TOLD)
    .execute()
  const found = rows.filter(
    (row) =>
      row.team_id === scan.teamId &&
      scan.eraser.finds(
        [row.error ?? '', row.request_headers, row.response_headers, row.response].join('\n'),
      ),
  )
  for (const row of scan.write ? found : [])
    await db
      .updateTable('webhook_attempts')
      .set({
        error: row.error === null ? null : scan.eraser.hide(row.error),
        request_headers: hideText(scan, row.request_headers),
        response_headers: hideText(scan, row.response_headers),
        response: hideText(scan, row.response),
      })
      .where('id', '=', row.id)
      .execute()
  return { counts: { webhook_attempts: found.length }, next: rows.length < TOLD ? null : rows.at(-1)!.id }
}

/** Deletes stored responses to idempotent requests that contain the address. They would have expired within a day. */
export async function receiptsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const [scope = '', key = ''] = after === '' ? [] : (JSON.parse(after) as [string, string])
  const rows = await db
    .selectFrom('receipts')
    .select(['scope', 'key', 'body'])
    .where('team_id', '=', scan.teamId)
    .where(sql<boolean>`(scope, key) > (${scope}, ${key})`)
    .orderBy('scope')
    .orderBy('key')
    .limit(RECEIPTS)
    .execute()
  const found = rows.filter((row) => scan.eraser.finds(`${row.key}\n${row.body}`))
  for (const row of scan.write ? found : [])
    await db
      .deleteFrom('receipts')
      .where('team_id', '=', scan.teamId)
      .where('scope', '=', row.scope)
      .where('key', '=', row.key)
      .execute()
  const last = rows.at(-1)
  return {
    counts: { receipts: found.length },
    next: rows.length < RECEIPTS ? null : JSON.stringify([last!.scope, last!.key]),
  }
}

/** Erases the address from the suppression list, and from events about it. */
export async function suppressionsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const listed = after === '' ? await eraseListed(db, scan) : 0
  const { count, next } = await eraseTold(db, scan, parseCursor(after) ?? START_CURSOR)
  return { counts: { suppressions: listed, events: count }, next }
}

/** Number of events per step that aren't about an email. An event has a few hundred bytes. */
const OTHERS = 500

async function eraseTold(
  db: Db,
  { teamId, eraser, write }: ErasureContext,
  after: EventCursor,
): Promise<{ count: number; next: string | null }> {
  const rows = await db
    .selectFrom('events')
    .select(['seq', 'team_id', 'data'])
    .where('email_id', 'is', null)
    .where(isAfterCursor('events', after))
    .orderBy(eventOrder('events'))
    .limit(OTHERS)
    .execute()
  const found = rows.filter((row) => row.team_id === teamId && eraser.finds(row.data))
  for (const { seq, data } of write ? found : []) {
    const hidden = JSON.stringify(eraser.hideIn(removeNames(JSON.parse(data) as object)))
    await db.updateTable('events').set({ data: hidden }).where('seq', '=', seq).execute()
  }
  return { count: found.length, next: rows.length < OTHERS ? null : formatCursor(toCursor(rows.at(-1)!)) }
}

/**
 * Keeps a suppressed address suppressed under its hash. If the address was removed from the list, deletes the record of
 * that.
 */
async function eraseListed(db: Db, scan: ErasureContext): Promise<number> {
  const { teamId, address, hash, pseudonym, write } = scan
  const key = toSuppressionKey(address)
  const row = await db
    .selectFrom('suppressions')
    .select('id')
    .where('team_id', '=', teamId)
    .where('address', '=', key)
    .executeTakeFirst()
  const count = row ? 1 : 0
  if (!write) return count
  await db.deleteFrom('unsuppressed').where('team_id', '=', teamId).where('address', '=', key).execute()
  if (!row) return count
  const hashed = createErasedSuppressionKey(hash)
  await db.deleteFrom('suppressions').where('team_id', '=', teamId).where('address', '=', hashed).execute()
  await db
    .updateTable('suppressions')
    .set({ address: hashed, email: pseudonym, reply: null, reason: null })
    .where('id', '=', row.id)
    .execute()
  return count
}

/** Number of rows examined in one step, and maximum number of their bytes; at least one row is examined. */
const ROWS = 200

const BYTES = 2_000_000

interface Candidate {
  id: string
  bytes: number
}

/** Returns the rows that one step may search. */
function affordable<T extends Candidate>(rows: T[]): T[] {
  let sum = 0
  const end = rows.findIndex(({ bytes }, at) => (sum += bytes) > BYTES && at > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

const named = (
  { eraser }: ErasureContext,
  row: { mail_from: string; rcpt_to: string; body: Uint8Array | null; report?: string | null },
): boolean =>
  eraser.finds(
    `${row.mail_from}\n${row.rcpt_to}\n${row.report ?? ''}\n${row.body ? Buffer.from(row.body).toString('utf8') : ''}`,
  )

const nextOf = (listed: Candidate[], looked: Candidate[]): string | null =>
  looked.length === listed.length && listed.length < ROWS ? null : looked.at(-1)!.id

/** Deletes returned messages that contain the address, in any encoding, or that belong to an email to it. */
export async function returnedMessagesPhase(
  db: Db,
  scan: ErasureContext,
  after: string,
): Promise<PhaseResult> {
  const recipients = [scan.address.toLowerCase(), scan.pseudonym]
  const listed = await db
    .selectFrom('returned_messages as m')
    .select(['m.id', sql<number>`coalesce(length(m.body), 0)`.as('bytes')])
    .select(
      sql<number>`exists (select 1 from deliveries d
        where d.email_id = m.email_id and lower(d.recipient) in (${sql.join(recipients)}))`.as('about'),
    )
    .where('m.team_id', '=', scan.teamId)
    .where('m.id', '>', after)
    .orderBy('m.id')
    .limit(ROWS)
    .execute()
  const looked = affordable(listed)
  if (looked.length === 0) return { counts: {}, next: null }
  const rows = await db
    .selectFrom('returned_messages')
    .select(['id', 'mail_from', 'rcpt_to', 'body', 'report'])
    .where(
      'id',
      'in',
      looked.map(({ id }) => id),
    )
    .execute()
  const about = new Set(looked.filter((row) => Boolean(row.about)).map(({ id }) => id))
  const ids = rows.filter((row) => about.has(row.id) || named(scan, row)).map(({ id }) => id)
  if (scan.write && ids.length > 0) await db.deleteFrom('returned_messages').where('id', 'in', ids).execute()
  return { counts: { received_messages: ids.length }, next: nextOf(listed, looked) }
}

/** Deletes messages to postmaster that contain the address. They belong to the first team, which runs the server. */
export async function postmasterPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const first = await firstTeam(db)
  if (first?.id !== scan.teamId) return { counts: {}, next: null }
  const listed = await db
    .selectFrom('postmaster_messages')
    .select(['id', sql<number>`length(body)`.as('bytes')])
    .where('id', '>', after)
    .orderBy('id')
    .limit(ROWS)
    .execute()
  const looked = affordable(listed)
  if (looked.length === 0) return { counts: {}, next: null }
  const rows = await db
    .selectFrom('postmaster_messages')
    .select(['id', 'mail_from', 'rcpt_to', 'body'])
    .where(
      'id',
      'in',
      looked.map(({ id }) => id),
    )
    .execute()
  const ids = rows.filter((row) => named(scan, row)).map(({ id }) => id)
  if (scan.write && ids.length > 0)
    await db.deleteFrom('postmaster_messages').where('id', 'in', ids).execute()
  return { counts: { received_messages: ids.length }, next: nextOf(listed, looked) }
}

async function receivedAfter(db: Db, teamId: string, after: string) {
  return db
    .selectFrom('received_emails')
    .select(['id', 'size as bytes', 'in_file'])
    .where('team_id', '=', teamId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(ROWS)
    .execute()
}

/** Lists the received emails with files that a step after `after` examines. */
export async function listReceivedEmailsInFiles(db: Db, teamId: string, after: string): Promise<string[]> {
  const looked = affordable(await receivedAfter(db, teamId, after))
  return looked.filter((row) => row.in_file === 1).map(({ id }) => id)
}

/** Erases the address as a forwarding target. Mail from other people that was forwarded to it stays. */
async function forgetForwards(db: Db, { teamId, address }: ErasureContext): Promise<void> {
  await db
    .deleteFrom('received_forwards')
    .where((where) => where(sql`lower(recipient)`, '=', address.toLowerCase()))
    .where('received_id', 'in', db.selectFrom('received_emails').select('id').where('team_id', '=', teamId))
    .execute()
}

/** Deletes received email that has the address in its envelope or anywhere in the message. */
export async function receivedEmailsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  if (after === '' && scan.write) await forgetForwards(db, scan)
  const listed = await receivedAfter(db, scan.teamId, after)
  if (listed.length === 0) return { counts: {}, next: null }
  // Leave emails that arrived after the files were searched to the next step.
  const end = listed.findIndex((row) => row.in_file === 1 && !scan.searched.has(row.id))
  const looked = affordable(end < 0 ? listed : listed.slice(0, end))
  if (looked.length === 0) return { counts: {}, next: after }
  const rows = await db
    .selectFrom('received_emails as r')
    .leftJoin('received_sources as s', 's.id', 'r.id')
    .select(['r.id', 'r.in_file', 'r.mail_from', 'r.received_for', 'r.from_header', 'r.to_header'])
    .select(['r.cc_header', 'r.bcc_header', 'r.reply_to_header', 's.body'])
    .where(
      'r.id',
      'in',
      looked.map(({ id }) => id),
    )
    .execute()
  const found = rows.filter((row) => {
    const fields = [row.from_header, row.to_header, row.cc_header, row.bcc_header, row.reply_to_header]
    const inRow = named(scan, { ...row, rcpt_to: row.received_for, report: fields.join('\n') })
    return inRow || scan.searched.get(row.id) === true
  })
  const ids = found.map(({ id }) => id)
  if (scan.write && ids.length > 0) await db.deleteFrom('received_emails').where('id', 'in', ids).execute()
  const files = found.filter((row) => row.in_file === 1).map(({ id }) => id)
  return { counts: { received_messages: ids.length }, next: nextOf(listed, looked), files }
}
