/** Mail that port 25 accepts from clients that haven't signed in. Nothing in it is verified. */
import { type Selectable, sql } from 'kysely'
import { isPseudonym } from '../mail/erasure.ts'
import type { ReturnedMailReport } from '../mail/returned.ts'
import { firstIdAt } from '../mail/ids.ts'
import type { Db, PostmasterMessagesTable } from './schema.ts'
import type { DomainStatus } from './values.ts'

/** A received message without its bytes. */
export interface ReceivedMessage {
  id: string
  receivedAt: number
  /** The MAIL FROM; empty for the null sender. */
  mailFrom: string
  rcptTo: string
  /** The client's IP, and the name that the client gave. */
  ip: string
  helo: string
  /** TLS version; null for plaintext. */
  tls: string | null
  /** Bytes of the message. */
  size: number
}

/** A message to the return path of an email. */
export interface ReturnedMessage extends ReceivedMessage {
  /** Whether the message is stored. False if only the envelope is stored, because the email's content isn't kept. */
  hasContent: boolean
  /** The content of the report and its effects; null if there is no valid report, or if it hasn't been read yet. */
  report: ReturnedMailReport | null
}

/** The bytes as received, with CRLF line ends, dots unstuffed. */
export interface MessageBytes {
  bytes: Uint8Array
}

/** Storage limits. Every row counts as its content plus 1024 bytes. */
export interface ReturnedMailLimits {
  /** Maximum number of messages and bytes for one email. Further messages are refused. */
  emailMessages: number
  emailBytes: number
  /**
   * Maximum bytes for one team and for all teams. Above it, the oldest messages are removed; above the total, those of the
   * largest team.
   */
  teamBytes: number
  allBytes: number
}

/** Overhead of a row, as counted by the triggers of the migration. */
export const ROW_BYTES = 1024

/** Number of rows to remove per step while there are too many. */
const ROUND = 100

/** The columns of an envelope. */
export const ENVELOPE_COLUMNS = [
  'id',
  'received_at',
  'mail_from',
  'rcpt_to',
  'ip',
  'helo',
  'tls',
  'size',
] as const

type Row = Pick<Selectable<PostmasterMessagesTable>, (typeof ENVELOPE_COLUMNS)[number]>

/** Converts a row to a message. */
export const toMessage = (row: Row): ReceivedMessage => ({
  id: row.id,
  receivedAt: row.received_at,
  mailFrom: row.mail_from,
  rcptTo: row.rcpt_to,
  ip: row.ip,
  helo: row.helo,
  tls: row.tls,
  size: row.size,
})

/** Converts a message to a row. */
export const toRow = (message: ReceivedMessage): Row => ({
  id: message.id,
  received_at: message.receivedAt,
  mail_from: message.mailFrom,
  rcpt_to: message.rcptTo,
  ip: message.ip,
  helo: message.helo,
  tls: message.tls,
  size: message.size,
})

/** Returns the team and return path of an email; undefined if it doesn't exist. */
async function findReturnPath(
  db: Db,
  { emailId }: { emailId: string },
): Promise<{ teamId: string; returnPath: string } | undefined> {
  const row = await db
    .selectFrom('emails')
    .select(['team_id', 'return_path'])
    .where('id', '=', emailId)
    .executeTakeFirst()
  return row && { teamId: row.team_id, returnPath: row.return_path }
}

/** Lists the statuses of domains with `name` (lower case, A-labels) as their name or return path host. */
async function domainsServedAs(db: Db, { name }: { name: string }): Promise<DomainStatus[]> {
  // The return path host is one label below the domain.
  const dot = name.indexOf('.')
  const [label, parent] = [name.slice(0, dot), name.slice(dot + 1)]
  const rows = await db
    .selectFrom('domains')
    .select('status')
    .where('name', 'in', [name, parent])
    .where((where) => where.or([where('name', '=', name), where('return_path', '=', label)]))
    .execute()
  return rows.map(({ status }) => status)
}

/**
 * Stores a returned message and, if it is `proven`, queues it for reading. Stores nothing unless the result is `kept`.
 */
async function keepReturned(
  db: Db,
  {
    emailId,
    message,
    limits,
    proven = false,
  }: {
    emailId: string
    message: ReceivedMessage & MessageBytes
    limits: ReturnedMailLimits
    /** Whether the return path has a valid MAC. */
    proven?: boolean
  },
): Promise<'kept' | 'full' | 'unknown'> {
  const email = await db
    .selectFrom('emails as e')
    .leftJoin('domains as d', 'd.id', 'e.domain_id')
    .select(['e.team_id', 'd.keep_bodies'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  if (!email) return 'unknown'
  const { count, bytes } = await heldOf(db, emailId)
  const erased = await isErased(db, emailId)
  const body = email.keep_bodies !== 0 && !erased ? message.bytes : null
  const more = body?.byteLength ?? 0
  if (count >= limits.emailMessages || bytes + more > limits.emailBytes) return 'full'
  await db
    .insertInto('returned_messages')
    .values({ ...toRow(message), team_id: email.team_id, email_id: emailId, body, report: null })
    .execute()
  // Reading a report about an erased email would store the recipient's address again.
  if (proven && !erased)
    await db
      .insertInto('returned_unread')
      .values({
        id: message.id,
        due_at: message.receivedAt,
        attempts: 0,
        body: body === null ? message.bytes : null,
      })
      .execute()
  await trimTeam(db, email.team_id, limits.teamBytes)
  await trimAll(db, limits.allBytes)
  return 'kept'
}

async function heldOf(db: Db, emailId: string): Promise<{ count: number; bytes: number }> {
  const row = await db
    .selectFrom('returned_messages')
    .select((of) => of.fn.countAll<number>().as('count'))
    .select(sql<number>`coalesce(sum(length(body)), 0)`.as('bytes'))
    .where('email_id', '=', emailId)
    .executeTakeFirstOrThrow()
  return { count: Number(row.count), bytes: Number(row.bytes) }
}

/** Whether a recipient of the email was erased. Returned mail would contain that address again. */
async function isErased(db: Db, emailId: string): Promise<boolean> {
  const rows = await db
    .selectFrom('deliveries')
    .select('recipient')
    .where('email_id', '=', emailId)
    .where('recipient', 'like', 'erased-%')
    .execute()
  return rows.some(({ recipient }) => isPseudonym(recipient))
}

async function trimTeam(db: Db, teamId: string, most: number): Promise<void> {
  for (;;) {
    const use = await db
      .selectFrom('returned_use')
      .select('bytes')
      .where('team_id', '=', teamId)
      .executeTakeFirst()
    if (!use || use.bytes <= most || !(await removeOldest(db, teamId, use.bytes - most))) return
  }
}

/** Removes messages of the team that uses the most space, so that no team can displace another's messages. */
async function trimAll(db: Db, most: number): Promise<void> {
  for (;;) {
    const uses = await db.selectFrom('returned_use').selectAll().orderBy('bytes', 'desc').execute()
    const excess = uses.reduce((sum, { bytes }) => sum + bytes, 0) - most
    if (excess <= 0 || !(await removeOldest(db, uses[0]!.team_id, excess))) return
  }
}

/** Removes up to `ROUND` messages, oldest first. Returns false if there are none. */
async function removeOldest(db: Db, teamId: string, excess: number): Promise<boolean> {
  const rows = await db
    .selectFrom('returned_messages')
    .select(['id', sql<number>`coalesce(length(body), 0)`.as('bytes')])
    .where('team_id', '=', teamId)
    // Keep unread messages until they are read, because the client got a 250.
    .where('id', 'not in', db.selectFrom('returned_unread').select('id'))
    .orderBy('id')
    .limit(ROUND)
    .execute()
  if (rows.length === 0) return false
  await db.deleteFrom('returned_messages').where('id', 'in', oldestOf(rows, excess)).execute()
  return true
}

/** Returns the first IDs, until their bytes reach `enough`. */
function oldestOf(rows: { id: string; bytes: number }[], enough: number): string[] {
  let sum = 0
  const last = rows.findIndex(({ bytes }) => (sum += bytes + ROW_BYTES) >= enough)
  return rows.slice(0, last < 0 ? rows.length : last + 1).map(({ id }) => id)
}

/** Lists all returned messages of an email, newest first. `ReturnedMailLimits` limits their number. */
async function listReturned(
  db: Db,
  { teamId, emailId }: { teamId: string; emailId: string },
): Promise<ReturnedMessage[]> {
  const rows = await db
    .selectFrom('returned_messages')
    .select(ENVELOPE_COLUMNS)
    .select('report')
    .select(sql<number>`(body is not null)`.as('has_content'))
    .where('email_id', '=', emailId)
    .where('team_id', '=', teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map((row) => ({
    ...toMessage(row),
    hasContent: Boolean(row.has_content),
    report: row.report === null ? null : (JSON.parse(row.report) as ReturnedMailReport),
  }))
}

/** Returns the bytes of a message; undefined if it doesn't exist or its content isn't kept. */
async function getReturned(
  db: Db,
  { teamId, emailId, id }: { teamId: string; emailId: string; id: string },
): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('returned_messages')
    .select('body')
    .where('id', '=', id)
    .where('email_id', '=', emailId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row?.body ?? undefined
}

/** Deletes messages received before a time. `most` limits the rows of each kind. */
async function purgeReceived(
  db: Db,
  { before, most }: { before: number; most: number },
): Promise<{ count: number; files: string[] }> {
  const files = await db
    .selectFrom('received_emails')
    .select(['id', 'in_file'])
    .where('id', '<', firstIdAt(before))
    .orderBy('id')
    .limit(most)
    .execute()
  let count = 0
  for (const table of ['returned_messages', 'postmaster_messages', 'received_emails'] as const) {
    const old = db
      .selectFrom(table)
      .select('id')
      .where('id', '<', firstIdAt(before))
      .orderBy('id')
      .limit(most)
    const removed = await db.deleteFrom(table).where('id', 'in', old).executeTakeFirst()
    count += Number(removed.numDeletedRows)
  }
  return { count, files: files.filter((row) => row.in_file === 1).map(({ id }) => id) }
}

export const methods = {
  reads: { findReturnPath, domainsServedAs, listReturned, getReturned },
  writes: { keepReturned },
  innerWrites: { purgeReceived },
}
