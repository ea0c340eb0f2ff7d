/** Accepted emails: lists, details, and changes to scheduled ones. */
import { type Expression, type ExpressionBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import { type EmailEventType, type EventData, type LastEvent, toLastEvent } from '../mail/event.ts'
import type { Transcript } from '../mail/transcript.ts'
import type { Cause } from '../mail/verdict.ts'
import { type Page, type PageArgs, readPage } from './lists.ts'
import {
  type Delivery,
  finalQueueColumns,
  isQueued,
  parseTranscript,
  selectDeliveries,
  toDelivery,
} from './deliveries.ts'
import type { Db, EmailsTable, Tables } from './schema.ts'
import type { ContentLocation, SubmissionChannel } from './values.ts'

export interface Tag {
  name: string
  value: string
}

export interface AttachmentInfo {
  id: string
  filename: string | null
  contentType: string
  contentId: string | null
  disposition: 'attachment' | 'inline'
  size: number
}

/** Where the HTML and text of an email are stored. */
export interface StoredContent {
  /**
   * Where the content is stored. `row`: in these fields; null means that there is none. `message`: parts that are null
   * here are in the message. `unfinished`: like `message`, but the line end at the end of the message isn't the app's.
   */
  place: ContentLocation
  html: string | null
  text: string | null
}

/** The fields of an email that lists show. */
export interface EmailSummary {
  id: string
  teamId: string
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  messageId: string
  lastEvent: LastEvent
  scheduledAt: number | null
  createdAt: number
  /** ID of the email's broadcast; null if there is none. */
  broadcastId: string | null
}

export interface Email extends EmailSummary {
  domainId: string
  apiKeyId: string | null
  via: SubmissionChannel
  content: StoredContent
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  returnPath: string
  /** Bytes of the message. */
  size: number
  /** ID of the email's topic; null if there is none. */
  topicId: string | null
  /** The email's template; null if there is none. */
  template: { id: string; versionId: string } | null
}

export interface Attempt {
  id: string
  teamId: string
  emailId: string
  deliveryIds: string[]
  startedAt: number
  endedAt: number
  transcript: Transcript
}

export interface EmailEvent {
  id: string
  emailId: string
  deliveryId: string | null
  type: EmailEventType
  createdAt: number
  data: EventData
}

/** The deliveries, attempts and events of an email, in one read. */
export interface EmailHistory {
  deliveries: Delivery[]
  attempts: Attempt[]
  events: EmailEvent[]
}

/** The result of changing a scheduled email. Nothing was changed unless it is `changed`. */
export type ScheduleChangeResult =
  { kind: 'changed' } | { kind: 'unknown' } | { kind: 'not_scheduled'; lastEvent: LastEvent }

/** The columns that lists show. */
export const summaryColumns = [
  'id',
  'team_id',
  'from_header',
  'to_header',
  'cc_header',
  'bcc_header',
  'reply_to',
  'subject',
  'message_id',
  'last_event',
  'scheduled_at',
  'created_at',
  'broadcast_id',
] as const

const strings = (json: string): string[] => JSON.parse(json) as string[]

/** Converts a row of `summaryColumns`. */
export const toSummary = (
  row: Pick<Selectable<EmailsTable>, (typeof summaryColumns)[number]>,
): EmailSummary => ({
  id: row.id,
  teamId: row.team_id,
  from: row.from_header,
  to: strings(row.to_header),
  cc: strings(row.cc_header),
  bcc: strings(row.bcc_header),
  replyTo: strings(row.reply_to),
  subject: row.subject,
  messageId: row.message_id,
  lastEvent: row.last_event,
  scheduledAt: row.scheduled_at,
  createdAt: row.created_at,
  broadcastId: row.broadcast_id,
})

/**
 * Selects the emails of a team or of one of its broadcasts. For a broadcast, the condition doesn't use the team's
 * index, because the planners would have to guess which index is more selective.
 */
export const selectTeamEmails = (
  where: ExpressionBuilder<Tables, 'emails'>,
  { teamId, broadcastId }: { teamId: string; broadcastId?: string | undefined },
): Expression<SqlBool>[] =>
  broadcastId === undefined
    ? [where('team_id', '=', teamId)]
    : [where('broadcast_id', '=', broadcastId), sql<SqlBool>`team_id || '' = ${teamId}`]

/**
 * Lists emails, newest first, except reports, which the server created itself.
 * @param args broadcastId: only emails of this broadcast
 */
export async function listEmails(
  db: Db,
  args: PageArgs & { broadcastId?: string | undefined },
): Promise<Page<EmailSummary>> {
  const { teamId, broadcastId } = args
  const emails = db
    .selectFrom('emails')
    .select(summaryColumns)
    .where((where) => where.and(selectTeamEmails(where, { teamId, broadcastId })))
    .where('via', '!=', 'report')
  return readPage(emails, args, toSummary)
}

async function getEmail(db: Db, args: { teamId: string; id: string }): Promise<Email | undefined> {
  const row = await db
    .selectFrom('emails')
    .leftJoin('messages', 'messages.email_id', 'emails.id')
    .selectAll('emails')
    .select(['messages.content', 'messages.html', 'messages.text'])
    .where('emails.id', '=', args.id)
    .where('emails.team_id', '=', args.teamId)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    ...toSummary(row),
    domainId: row.domain_id,
    apiKeyId: row.api_key_id,
    via: row.via,
    // An email whose message was deleted has no content.
    content: { place: row.content ?? 'row', html: row.html, text: row.text },
    headers: JSON.parse(row.headers) as Email['headers'],
    tags: JSON.parse(row.tags) as Tag[],
    attachments: JSON.parse(row.attachments) as AttachmentInfo[],
    returnPath: row.return_path,
    size: row.size,
    topicId: row.topic_id,
    template:
      row.template_id === null ? null : { id: row.template_id, versionId: row.template_version_id ?? '' },
  }
}

/** Returns the team of an email; undefined if the email doesn't exist. */
async function teamOfEmail(db: Db, { emailId }: { emailId: string }): Promise<string | undefined> {
  const found = db.selectFrom('emails').select('team_id').where('id', '=', emailId)
  return (await found.executeTakeFirst())?.team_id
}

async function getHistory(db: Db, args: { teamId: string; id: string }): Promise<EmailHistory> {
  const deliveries = await selectDeliveries(db)
    .where('d.email_id', '=', args.id)
    .where('d.team_id', '=', args.teamId)
    .orderBy('d.id')
    .execute()
  return {
    deliveries: deliveries.map(toDelivery),
    attempts: await attemptsOf(db, args),
    events: await eventsOf(db, args),
  }
}

async function attemptsOf(db: Db, args: { teamId: string; id: string }): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('attempts')
    .selectAll()
    .where('email_id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    teamId: row.team_id,
    emailId: row.email_id,
    deliveryIds: strings(row.delivery_ids),
    startedAt: row.started_at,
    endedAt: row.ended_at,
    transcript: parseTranscript(row.transcript),
  }))
}

async function eventsOf(db: Db, args: { teamId: string; id: string }): Promise<EmailEvent[]> {
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('email_id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .orderBy('seq')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    emailId: args.id,
    deliveryId: row.delivery_id,
    // Events of an email have only these types.
    type: row.type as EmailEventType,
    createdAt: row.created_at,
    data: JSON.parse(row.data) as EventData,
  }))
}

/** Returns the stored bytes of a message; null if they are in a file; undefined if there is no message. */
async function messageBody(db: Db, args: { emailId: string }): Promise<Uint8Array | null | undefined> {
  const row = await db
    .selectFrom('messages')
    .select('body')
    .where('email_id', '=', args.emailId)
    .executeTakeFirst()
  return row?.body
}

/** Returns the emails, sent or received, whose message is in a file. A sweep of message files must keep these files. */
async function messagesInFiles(db: Db, { ids }: { ids: string[] }): Promise<string[]> {
  if (ids.length === 0) return []
  const sent = db.selectFrom('messages').select('email_id as id').where('email_id', 'in', ids)
  const received = db.selectFrom('received_emails').select('id').where('id', 'in', ids)
  const rows = await sent
    .where('body', 'is', null)
    .unionAll(received.where('in_file', '=', 1))
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * If a lease and a change run at the same time, the email's status decides which succeeds: `lease` turns `scheduled`
 * into `sent` in the transaction that leases the first delivery, so only one of them finds `scheduled`.
 */
const scheduled = toLastEvent('email.scheduled')

/** Reschedules a scheduled email. Only one of this and the first lease of its deliveries can succeed. */
async function reschedule(
  db: Db,
  args: { teamId: string; id: string; scheduledAt: number; expiresAt: number },
): Promise<ScheduleChangeResult> {
  const { numUpdatedRows } = await db
    .updateTable('emails')
    .set({ scheduled_at: args.scheduledAt })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .where('last_event', '=', scheduled)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return refusal(db, args)
  await db
    .updateTable('deliveries')
    .set({ due_at: args.scheduledAt, expires_at: args.expiresAt })
    .where('email_id', '=', args.id)
    .where(isQueued)
    .execute()
  return { kind: 'changed' }
}

const cause: Cause = {
  phase: 'queue',
  host: null,
  ip: null,
  reply: null,
  by: 'sender',
  note: 'canceled by its sender',
}

/** Cancels a scheduled email and its queued deliveries. Only one of this and a lease can succeed. */
async function cancel(
  db: Db,
  args: { teamId: string; id: string },
  now: number,
): Promise<ScheduleChangeResult> {
  const { numUpdatedRows } = await db
    .updateTable('emails')
    .set({ last_event: 'canceled' })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .where('last_event', '=', scheduled)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return refusal(db, args)
  await db
    .updateTable('deliveries')
    .set({ ...finalQueueColumns, state: 'canceled', cause: JSON.stringify(cause), updated_at: now })
    .where('email_id', '=', args.id)
    .where(isQueued)
    .execute()
  return { kind: 'changed' }
}

async function refusal(db: Db, args: { teamId: string; id: string }): Promise<ScheduleChangeResult> {
  const row = await db
    .selectFrom('emails')
    .select('last_event')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row ? { kind: 'not_scheduled', lastEvent: row.last_event } : { kind: 'unknown' }
}

export const methods = {
  reads: { listEmails, getEmail, teamOfEmail, getHistory },
  writes: { reschedule, cancel },
  innerReads: { messageBody, messagesInFiles },
}
