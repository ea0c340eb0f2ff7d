import type { Kysely, Selectable } from 'kysely'
import type { RequestLogsTable, Tables } from '../schema.ts'
import type { Page, PageArgs, RequestLog, RequestLogSummary } from '../storage.ts'

type Db = Kysely<Tables>

/** Three parameters each; SQLite takes 32766 in a statement, PostgreSQL twice as many. */
const EMAILS_AT_ONCE = 5000

const summaryColumns = [
  'id',
  'team_id',
  'api_key_id',
  'method',
  'endpoint',
  'status',
  'duration_ms',
  'ip',
  'user_agent',
  'created_at',
] as const

const toSummary = (
  row: Pick<Selectable<RequestLogsTable>, (typeof summaryColumns)[number]>,
): RequestLogSummary => ({
  id: row.id,
  teamId: row.team_id,
  apiKeyId: row.api_key_id,
  method: row.method,
  endpoint: row.endpoint,
  status: row.status,
  durationMs: row.duration_ms,
  ip: row.ip,
  userAgent: row.user_agent,
  createdAt: row.created_at,
})

/** See `Storage.saveLogs`. Two statements for all of them: a statement costs more here than a row. */
export async function saveLogs(db: Db, { logs }: { logs: RequestLog[] }): Promise<void> {
  if (logs.length === 0) return
  await db
    .insertInto('request_logs')
    .values(
      logs.map((log) => ({
        id: log.id,
        team_id: log.teamId,
        api_key_id: log.apiKeyId,
        method: log.method,
        endpoint: log.endpoint,
        status: log.status,
        duration_ms: log.durationMs,
        ip: log.ip,
        user_agent: log.userAgent,
        request_body: log.requestBody,
        response_body: log.responseBody,
        created_at: log.createdAt,
      })),
    )
    .execute()
  const made = logs.flatMap(({ id, teamId, emailIds }) =>
    emailIds.map((emailId) => ({ log_id: id, email_id: emailId, team_id: teamId })),
  )
  for (let start = 0; start < made.length; start += EMAILS_AT_ONCE)
    await db
      .insertInto('request_log_emails')
      .values(made.slice(start, start + EMAILS_AT_ONCE))
      .execute()
}

/** See `Storage.listLogs`. Pages as `listEmails` makes them. */
export async function listLogs(
  db: Db,
  args: PageArgs & { emailId?: string | undefined },
): Promise<Page<RequestLogSummary>> {
  const { after, before, emailId } = args
  const upwards = before !== undefined && after === undefined
  let query = db.selectFrom('request_logs').select(summaryColumns).where('team_id', '=', args.teamId)
  if (emailId !== undefined)
    query = query.where('id', 'in', (of) =>
      of.selectFrom('request_log_emails').select('log_id').where('email_id', '=', emailId),
    )
  if (after !== undefined) query = query.where('id', '<', after)
  if (before !== undefined) query = query.where('id', '>', before)
  const rows = await query
    .orderBy('id', upwards ? 'asc' : 'desc')
    .limit(args.limit + 1)
    .execute()
  const items = rows.slice(0, args.limit).map(toSummary)
  return { items: upwards ? items.reverse() : items, hasMore: rows.length > args.limit }
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
