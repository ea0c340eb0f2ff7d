import type { Kysely, Selectable } from 'kysely'
import type { EmailEventType, EventData } from '../../mail/event.ts'
import type { Transcript } from '../../mail/transcript.ts'
import type { EmailsTable, Tables } from '../schema.ts'
import type {
  Attempt,
  AttachmentInfo,
  Email,
  EmailEvent,
  EmailHistory,
  EmailSummary,
  Page,
  PageArgs,
  Tag,
} from '../storage.ts'
import { pageOf } from './page.ts'
import { selectDeliveries, toDelivery } from './recipients.ts'

type Db = Kysely<Tables>

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
] as const

const strings = (json: string): string[] => JSON.parse(json) as string[]

/** A row of `summaryColumns` as the port shows it. */
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
})

/** See `Storage.listEmails`. */
export async function listEmails(db: Db, args: PageArgs): Promise<Page<EmailSummary>> {
  const emails = db
    .selectFrom('emails')
    .select(summaryColumns)
    .where('team_id', '=', args.teamId)
    .where('via', '!=', 'report')
  return pageOf(emails, args, toSummary)
}

/** See `Storage.getEmail`. */
export async function getEmail(db: Db, args: { teamId: string; id: string }): Promise<Email | undefined> {
  const row = await db
    .selectFrom('emails')
    .leftJoin('contents', 'contents.email_id', 'emails.id')
    .selectAll('emails')
    .select(['contents.html', 'contents.text'])
    .where('emails.id', '=', args.id)
    .where('emails.team_id', '=', args.teamId)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    ...toSummary(row),
    domainId: row.domain_id,
    apiKeyId: row.api_key_id,
    via: row.via,
    html: row.html,
    text: row.text,
    headers: JSON.parse(row.headers) as Email['headers'],
    tags: JSON.parse(row.tags) as Tag[],
    attachments: JSON.parse(row.attachments) as AttachmentInfo[],
    returnPath: row.return_path,
    size: row.size,
  }
}

/** See `Storage.teamOfEmail`. */
export async function teamOfEmail(db: Db, { emailId }: { emailId: string }): Promise<string | undefined> {
  const found = db.selectFrom('emails').select('team_id').where('id', '=', emailId)
  return (await found.executeTakeFirst())?.team_id
}

/** See `Storage.getHistory`. */
export async function getHistory(db: Db, args: { teamId: string; id: string }): Promise<EmailHistory> {
  const deliveries = await selectDeliveries(db)
    .where('r.email_id', '=', args.id)
    .where('r.team_id', '=', args.teamId)
    .orderBy('r.id')
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
    transcript: JSON.parse(row.transcript) as Transcript,
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
    // Those of an email are of no other kind.
    type: row.type as EmailEventType,
    createdAt: row.created_at,
    data: JSON.parse(row.data) as EventData,
  }))
}

/** The stored bytes of a message; null when the engine keeps them in a file; undefined when there is no such email. */
export async function messageBody(db: Db, args: { emailId: string }): Promise<Uint8Array | null | undefined> {
  const row = await db
    .selectFrom('messages')
    .select('body')
    .where('email_id', '=', args.emailId)
    .executeTakeFirst()
  return row?.body
}

/** Which of these emails have their message in a file: what a sweep of message files must keep. */
export async function messagesInFiles(db: Db, args: { ids: string[] }): Promise<string[]> {
  if (args.ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .select('email_id')
    .where('email_id', 'in', args.ids)
    .where('body', 'is', null)
    .execute()
  return rows.map((row) => row.email_id)
}
