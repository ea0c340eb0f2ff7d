/** Received emails of teams. */
import { type Selectable, sql } from 'kysely'
import type { Authentication, AuthResult, AuthVerdict, SpamVerdict } from '../mail/inbound.ts'
import type { ReceivingRule } from '../mail/receiving-rules.ts'
import type { AttachmentInfo } from './emails.ts'
import { recordOtherEvents } from './events.ts'
import { contains, type Page, type PageArgs, readPage } from './lists.ts'
import type { ReceivedMessage, MessageBytes } from './received.ts'
import type { Db, ReceivedEmailsTable } from './schema.ts'
import type { DomainStatus } from './values.ts'

/** A received email of one team. Everything but the envelope is untrusted text. */
export interface ReceivedEmail extends Omit<ReceivedMessage, 'rcptTo'> {
  teamId: string
  domainId: string
  /** The recipients of the transaction that belong to this team. */
  receivedFor: string[]
  /** The address fields of the header, decoded. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  /** The Message-ID with angle brackets; generated if the message doesn't have one. */
  messageId: string
  attachments: AttachmentInfo[]
  authentication: Authentication
  /** The spam filter's verdict; null if no filter was used. */
  spam: SpamVerdict | null
  /** ID of the team's email that this email replies to; null if there is none. */
  answers: string | null
  /** Whether the content is stored. False if only this row is stored, because the domain doesn't keep content. */
  hasContent: boolean
}

/** The decisions of receiving rules about an email. */
interface Routed {
  /** Addresses to forward the email to; none by default. */
  forwardTo?: readonly string[] | undefined
  /** Whether to store only the event of the email; false by default. */
  eventOnly?: boolean | undefined
}

/** A received email to store. */
export type NewReceivedEmail = Omit<ReceivedEmail, 'hasContent'> & MessageBytes & Routed

/** A received email for the writer. `body` is null if the message is already in a file. */
export type StoredReceivedEmail = Omit<ReceivedEmail, 'hasContent'> & Routed & { body: Uint8Array | null }

/** Limits on the mail that a team receives in 24 hours. */
export interface ReceivedLimits {
  messages: number
  bytes: number
}

/** A domain that receives mail under a name. */
export interface Receiver {
  teamId: string
  domainId: string
  status: DomainStatus
  /** Receiving rules, of which the first match applies (mail/receiving-rules.ts). */
  rules: ReceivingRule[]
}

const DAY = 86_400_000

const toEmail = (row: Selectable<ReceivedEmailsTable>): ReceivedEmail => ({
  id: row.id,
  teamId: row.team_id,
  domainId: row.domain_id,
  receivedAt: row.received_at,
  mailFrom: row.mail_from,
  receivedFor: JSON.parse(row.received_for) as string[],
  ip: row.ip,
  helo: row.helo,
  tls: row.tls,
  size: row.size,
  from: row.from_header,
  to: JSON.parse(row.to_header) as string[],
  cc: JSON.parse(row.cc_header) as string[],
  bcc: JSON.parse(row.bcc_header) as string[],
  replyTo: JSON.parse(row.reply_to_header) as string[],
  subject: row.subject,
  messageId: row.message_id,
  attachments: JSON.parse(row.attachments) as AttachmentInfo[],
  authentication: JSON.parse(row.authentication) as Authentication,
  spam: row.spam === null ? null : (JSON.parse(row.spam) as SpamVerdict),
  answers: row.answers_email_id,
  hasContent: Boolean(row.has_content),
})

/** Returns the results with their fields in the order that the filter of `listReceivedEmails` expects. */
function inOrder({ spf, dkim, dmarc, arc }: Authentication): Authentication {
  const verdict = ({ result, domain }: AuthVerdict) => ({ result, domain })
  return { spf: verdict(spf), dkim: verdict(dkim), dmarc: verdict(dmarc), arc: verdict(arc) }
}

const toRow = (email: ReceivedEmail, inFile: boolean): Selectable<ReceivedEmailsTable> => ({
  id: email.id,
  team_id: email.teamId,
  domain_id: email.domainId,
  received_at: email.receivedAt,
  mail_from: email.mailFrom,
  received_for: JSON.stringify(email.receivedFor),
  ip: email.ip,
  helo: email.helo,
  tls: email.tls,
  size: email.size,
  from_header: email.from,
  to_header: JSON.stringify(email.to),
  cc_header: JSON.stringify(email.cc),
  bcc_header: JSON.stringify(email.bcc),
  reply_to_header: JSON.stringify(email.replyTo),
  subject: email.subject,
  message_id: email.messageId,
  attachments: JSON.stringify(email.attachments),
  authentication: JSON.stringify(inOrder(email.authentication)),
  spam: email.spam && JSON.stringify(email.spam),
  is_spam: Number(email.spam?.flagged ?? false),
  answers_email_id: email.answers,
  has_content: Number(email.hasContent),
  in_file: Number(inFile),
})

/**
 * Finds the domains that receive mail under `name` (lower case, A-labels). There is more than one only while several teams
 * claim the name.
 */
async function findReceivers(db: Db, { name }: { name: string }): Promise<Receiver[]> {
  const rows = await db
    .selectFrom('domains')
    .select(['id', 'team_id', 'status', 'receiving_rules'])
    .where('name', '=', name)
    .where('receiving', '=', 1)
    .execute()
  return rows.map((row) => ({
    teamId: row.team_id,
    domainId: row.id,
    status: row.status,
    rules: JSON.parse(row.receiving_rules) as ReceivingRule[],
  }))
}

/** Returns the receiving rules of a domain; none if it doesn't exist. */
async function getReceivingRules(
  db: Db,
  { teamId, domainId }: { teamId: string; domainId: string },
): Promise<ReceivingRule[]> {
  const row = await db
    .selectFrom('domains')
    .select('receiving_rules')
    .where('id', '=', domainId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row ? (JSON.parse(row.receiving_rules) as ReceivingRule[]) : []
}

/** Replaces the receiving rules of a domain. */
async function setReceivingRules(
  db: Db,
  { teamId, domainId, rules }: { teamId: string; domainId: string; rules: ReceivingRule[] },
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ receiving_rules: JSON.stringify(rules) })
    .where('id', '=', domainId)
    .where('team_id', '=', teamId)
    .execute()
}

/**
 * Stores a message for each of its teams, with the event about it. Stores nothing unless the result is `kept`. `unknown`: a
 * domain doesn't exist or no longer receives. `full`: a team has reached its limit.
 */
async function keepReceivedEmails(
  db: Db,
  { emails, limits }: { emails: StoredReceivedEmail[]; limits: ReceivedLimits },
  now: number,
): Promise<'kept' | 'full' | 'unknown'> {
  const kept = new Map<string, boolean>()
  for (const { domainId, teamId, size } of emails) {
    const domain = await db
      .selectFrom('domains')
      .select('keep_bodies')
      .where('id', '=', domainId)
      .where('receiving', '=', 1)
      .executeTakeFirst()
    if (!domain) return 'unknown'
    kept.set(domainId, domain.keep_bodies !== 0)
    if (await isFull(db, teamId, size, limits, now)) return 'full'
  }
  for (const { body, forwardTo = [], eventOnly, ...email } of emails) {
    if (eventOnly) continue
    const hasContent = kept.get(email.domainId)!
    await db
      .insertInto('received_emails')
      .values(toRow({ ...email, hasContent }, hasContent && body === null))
      .execute()
    if (hasContent && body !== null)
      await db.insertInto('received_sources').values({ id: email.id, body }).execute()
    for (const recipient of new Set(forwardTo))
      await db
        .insertInto('received_forwards')
        .values({ received_id: email.id, recipient, state: 'pending', email_id: null, reason: null })
        .execute()
  }
  recordOtherEvents(db, emails.map(eventOf), now)
  return 'kept'
}

async function isFull(
  db: Db,
  teamId: string,
  size: number,
  limits: ReceivedLimits,
  now: number,
): Promise<boolean> {
  const today = await db
    .selectFrom('received_emails')
    .select((of) => of.fn.countAll<number>().as('count'))
    .select(sql<number>`coalesce(sum(size), 0)`.as('bytes'))
    .where('team_id', '=', teamId)
    .where('received_at', '>', now - DAY)
    .executeTakeFirstOrThrow()
  return Number(today.count) >= limits.messages || Number(today.bytes) + size > limits.bytes
}

const eventOf = ({ id, teamId, receivedAt, from, ...email }: Omit<ReceivedEmail, 'hasContent'>) => {
  const { to, cc, bcc, receivedFor, messageId, subject } = email
  const attachments = email.attachments.map(({ size: _, ...attachment }) => attachment)
  const received = { emailId: id, createdAt: receivedAt, from, to, cc, bcc, receivedFor, messageId, subject }
  return { teamId, type: 'email.received' as const, data: { received: { ...received, attachments } } }
}

/** A filter for received emails. Undefined conditions match all. */
export interface ReceivedFilter {
  /** Text in the sender, a recipient or the subject. */
  search?: string | undefined
  /** ID of the email that the received emails reply to. */
  answers?: string | undefined
  domainId?: string | undefined
  dmarc?: AuthResult | undefined
  /** Whether the spam filter marked the received emails as spam. */
  isSpam?: boolean | undefined
  hasAttachments?: boolean | undefined
}

/** Lists received emails, newest first. */
async function listReceivedEmails(db: Db, args: PageArgs & ReceivedFilter): Promise<Page<ReceivedEmail>> {
  let query = db.selectFrom('received_emails').selectAll().where('team_id', '=', args.teamId)
  const { search, answers, domainId, dmarc, isSpam, hasAttachments } = args
  if (answers !== undefined) query = query.where('answers_email_id', '=', answers)
  if (domainId !== undefined) query = query.where('domain_id', '=', domainId)
  // The pattern matches exactly, because `toRow` writes the JSON and no domain contains a quotation mark.
  if (dmarc !== undefined) query = query.where('authentication', 'like', `%"dmarc":{"result":"${dmarc}"%`)
  if (isSpam !== undefined) query = query.where('is_spam', '=', Number(isSpam))
  if (hasAttachments !== undefined) query = query.where('attachments', hasAttachments ? '!=' : '=', '[]')
  if (search !== undefined && search !== '')
    query = query.where((where) =>
      where.or(['from_header', 'subject', 'received_for'].map((column) => contains(column, search))),
    )
  return readPage(query, args, toEmail)
}

async function getReceivedEmail(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<ReceivedEmail | undefined> {
  const row = await db
    .selectFrom('received_emails')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row && toEmail(row)
}

/** Returns the stored message; null if it is in a file; undefined if it doesn't exist or its content isn't kept. */
async function receivedBody(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<Uint8Array | null | undefined> {
  const row = await db
    .selectFrom('received_emails as r')
    .leftJoin('received_sources as s', 's.id', 'r.id')
    .select('s.body')
    .where('r.id', '=', id)
    .where('r.team_id', '=', teamId)
    .where('r.has_content', '=', 1)
    .executeTakeFirst()
  return row?.body
}

export const methods = {
  reads: { findReceivers, getReceivingRules, listReceivedEmails, getReceivedEmail },
  writes: { setReceivingRules },
  innerReads: { receivedBody },
  innerWrites: { keepReceivedEmails },
}
