import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import type { RequestLogsTable, Tables } from '../schema.ts'
import type { ListedRequest, Page, PageArgs, RequestLog, RequestLogSummary } from '../storage.ts'
import { pageOf } from './page.ts'

type Db = Kysely<Tables>

const summaryColumns = [
  'id',
  'team_id',
  'api_key_id',
  'method',
  'endpoint',
  'query',
  'status',
  'enhanced',
  'message',
  'duration_ms',
  'ip',
  'user_agent',
  'created_at',
] as const

/** What a list has of a request. Bodies are long: only that of SMTP is read, for the envelope. */
export const listedColumns = (row: ExpressionBuilder<Tables, 'request_logs'>) => [
  ...summaryColumns,
  row.case().when('method', '=', 'SMTP').then(row.ref('request_body')).end().as('smtp_request'),
]

type SummaryRow = Pick<Selectable<RequestLogsTable>, (typeof summaryColumns)[number]>

const toSummary = (row: SummaryRow): RequestLogSummary => ({
  id: row.id,
  teamId: row.team_id,
  apiKeyId: row.api_key_id,
  method: row.method,
  endpoint: row.endpoint,
  query: row.query,
  status: row.status,
  enhanced: row.enhanced,
  message: row.message,
  durationMs: row.duration_ms,
  ip: row.ip,
  userAgent: row.user_agent,
  createdAt: row.created_at,
})

/** The row as a list has it. */
export const toListed = (row: SummaryRow & { smtp_request: string | null }): ListedRequest => ({
  ...toSummary(row),
  smtpRequest: row.smtp_request,
})

/** See `Storage.listLogs`. */
export async function listLogs(
  db: Db,
  args: PageArgs & { emailId?: string | undefined },
): Promise<Page<ListedRequest>> {
  const { teamId, emailId } = args
  let query = db.selectFrom('request_logs').select(listedColumns).where('team_id', '=', teamId)
  if (emailId !== undefined)
    query = query.where('id', 'in', (of) =>
      of.selectFrom('request_log_emails').select('log_id').where('email_id', '=', emailId),
    )
  return pageOf(query, args, toListed)
}

/** See `Storage.getLog`. */
export async function getLog(db: Db, args: { teamId: string; id: string }): Promise<RequestLog | undefined> {
  const row = await db
    .selectFrom('request_logs')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  if (!row) return undefined
  const emails = await db
    .selectFrom('request_log_emails')
    .select('email_id')
    .where('log_id', '=', args.id)
    .orderBy('email_id')
    .execute()
  return {
    ...toSummary(row),
    requestBody: row.request_body,
    responseBody: row.response_body,
    emailIds: emails.map((email) => email.email_id),
  }
}

/** See `Storage.purgeLogs`. */
export async function purgeLogs(db: Db, args: { before: number; most: number }): Promise<number> {
  const oldest = db
    .selectFrom('request_logs')
    .select('id')
    .where('created_at', '<', args.before)
    .orderBy('created_at')
    .limit(args.most)
  const deleted = await db.deleteFrom('request_logs').where('id', 'in', oldest).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}
