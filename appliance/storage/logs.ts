/**
 * The log of API requests and their responses. There is no index for each kind of search, because indexes would make every
 * request slower.
 */
import { type Expression, type ExpressionBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import { firstIdAt } from '../mail/ids.ts'
import { contains, minId, isCreatedWithKey, type Page, type PageArgs, readPage } from './lists.ts'
import type { Db, RequestLogsTable, Tables } from './schema.ts'
import type { Connection } from './connection.ts'

/** A request as it appears in lists. */
export interface RequestLogSummary {
  /** ID of the request; the response carries it as `x-request-id`. */
  id: string
  teamId: string
  apiKeyId: string
  method: string
  /**
   * The path without the query. For SMTP, the listener and the command that determined the result, such as
   * `smtp://587 MAIL FROM:<a@b.example>`.
   */
  endpoint: string
  /** The query string, truncated and without secrets; null if there is none. */
  query: string | null
  /** The HTTP status or the SMTP reply code. */
  status: number
  /** The enhanced status code of the SMTP reply (RFC 3463); null for HTTP or if there is none. */
  enhanced: string | null
  /** Why the request failed: the message of the HTTP error, or the text of the SMTP reply; null if it succeeded. */
  message: string | null
  durationMs: number
  ip: string
  userAgent: string | null
  createdAt: number
}

/** A request in a list. */
export interface ListedRequest extends RequestLogSummary {
  /** For SMTP, the stored body with the envelope; null for HTTP. */
  smtpRequest: string | null
}

export interface RequestLog extends RequestLogSummary {
  /** The request body as a JSON object, truncated and without secrets; null if there was no readable body. */
  requestBody: string | null
  responseBody: string | null
  /** The emails that the request created, oldest first. */
  emailIds: string[]
}

/** A filter for requests. All given conditions must match. Texts ignore the case of ASCII letters. */
export interface LogFilter {
  /** ID of an email that the request created. */
  emailId?: string | undefined
  /** HTTP methods, or SMTP. */
  methods?: readonly string[] | undefined
  /** Ranges of statuses (inclusive). Either the status is in one of them, or the code matches `enhanced`. */
  statuses?: readonly { from: number; to: number }[] | undefined
  /** Enhanced codes, such as `5.7.1`; `5.7.x` matches any detail. */
  enhanced?: readonly string[] | undefined
  /** ID or name of the API key. */
  apiKey?: string | undefined
  /** Text in the path, the query or the SMTP command. */
  endpoint?: string | undefined
  ip?: string | undefined
  /** Text in the user agent. */
  userAgent?: string | undefined
  /** Time of the request: at or after `since` and before `until` (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** One chunk of search results, newest first. */
export interface LogSearchChunk {
  items: ListedRequest[]
  /** Continue with requests older than this ID; null if the search is complete. */
  next: string | null
}

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

/** The columns for lists. Bodies are long, so only those of SMTP messages are read, for the envelope. */
const listedColumns = (row: ExpressionBuilder<Tables, 'request_logs'>) => [
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

/** Converts a row for a list. */
const toListed = (row: SummaryRow & { smtp_request: string | null }): ListedRequest => ({
  ...toSummary(row),
  smtpRequest: row.smtp_request,
})

/** Returns a subquery for the IDs of the requests that created these emails. */
export const selectRequestIds = (emailIds: readonly string[]) =>
  sql<string>`(select id from request_logs where email_id in (${sql.join(emailIds)})
    union all select log_id from request_log_emails where email_id in (${sql.join(emailIds)}))`

/** Lists requests; with `emailId`, only the one that created that email. */
async function listLogs(
  db: Db,
  args: PageArgs & { emailId?: string | undefined },
): Promise<Page<ListedRequest>> {
  const { teamId, emailId } = args
  let query = db.selectFrom('request_logs').select(listedColumns).where('team_id', '=', teamId)
  if (emailId !== undefined) query = query.where('id', 'in', selectRequestIds([emailId]))
  return readPage(query, args, toListed)
}

async function getLog(db: Db, args: { teamId: string; id: string }): Promise<RequestLog | undefined> {
  const row = await db
    .selectFrom('request_logs')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  if (!row) return undefined
  const { email_id: one } = row
  const emails = db
    .selectFrom('request_log_emails')
    .select('email_id')
    .where('log_id', '=', args.id)
    .orderBy('email_id')
  return {
    ...toSummary(row),
    requestBody: row.request_body,
    responseBody: row.response_body,
    emailIds: one === null ? (await emails.execute()).map(({ email_id: id }) => id) : [one],
  }
}

/**
 * Deletes at most `most` requests from before `before`, oldest first. Returns their number. IDs sort by the end of their
 * requests, so the primary key has the oldest ones first, and no index by age is needed.
 */
async function purgeLogs(db: Db, args: { before: number; most: number }): Promise<number> {
  const first = db.selectFrom('request_logs').select(['id', 'created_at']).orderBy('id').limit(args.most)
  const oldest = db
    .selectFrom(first.as('first'))
    .select('first.id')
    .where('first.created_at', '<', args.before)
  const deleted = await db.deleteFrom('request_logs').where('id', 'in', oldest).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

type Where = ExpressionBuilder<Tables, 'request_logs'>

/** Number of requests that one step examines. */
const LOOK = 4000

/**
 * Maximum duration of an SMTP message in milliseconds, from its start, which is stored in the row, to its end, when the ID
 * is created.
 */
const LONGEST_SESSION = 24 * 3600 * 1000

/**
 * Searches one chunk. Examines at most a few thousand requests, so that other reads don't have to wait long. It may find
 * fewer than `limit`, or none, although there are more to examine.
 */
async function searchLogs(
  db: Db,
  {
    teamId,
    filter,
    limit,
    after,
  }: { teamId: string; filter: LogFilter; limit: number; after?: string | undefined },
): Promise<LogSearchChunk> {
  const lower = filter.since === undefined ? undefined : firstIdAt(filter.since)
  const upper = minId(
    after,
    filter.until === undefined ? undefined : firstIdAt(filter.until + LONGEST_SESSION),
  )
  const range = (where: Where, from: string | undefined): Expression<SqlBool>[] => [
    where('team_id', '=', teamId),
    ...(from === undefined ? [] : [where('id', '>=', from)]),
    ...(upper === undefined ? [] : [where('id', '<', upper)]),
  ]
  const floor = await db
    .selectFrom('request_logs')
    .select('id')
    .where((where) => where.and(range(where, lower)))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(LOOK - 1)
    .executeTakeFirst()
  const rows = await db
    .selectFrom('request_logs')
    .select(listedColumns)
    .where((where) => where.and([...range(where, floor?.id ?? lower), ...conditions(where, filter, teamId)]))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  const next = rows.length === limit ? rows.at(-1)!.id : (floor?.id ?? null)
  return { items: rows.map(toListed), next }
}

/**
 * Matches an enhanced status code.
 * @param code digits and dots; an `x` at the end matches any number
 */
const withEnhanced = (where: Where, code: string): Expression<SqlBool> =>
  code.endsWith('.x') ? where('enhanced', 'like', `${code.slice(0, -1)}%`) : where('enhanced', '=', code)

function conditions(where: Where, filter: LogFilter, teamId: string): Expression<SqlBool>[] {
  const { emailId, methods, apiKey, endpoint, ip, userAgent, since, until } = filter
  const found: Expression<SqlBool>[] = []
  if (since !== undefined) found.push(where('created_at', '>=', since))
  if (until !== undefined) found.push(where('created_at', '<', until))
  if (methods !== undefined) found.push(where('method', 'in', methods))
  const answers = [
    ...(filter.statuses ?? []).map(({ from, to }) => where.between('status', from, to)),
    ...(filter.enhanced ?? []).map((code) => withEnhanced(where, code)),
  ]
  if (answers.length > 0) found.push(where.or(answers))
  if (apiKey !== undefined) found.push(isCreatedWithKey(apiKey, teamId))
  if (endpoint !== undefined)
    found.push(where.or([contains('endpoint', endpoint), contains('query', endpoint)]))
  if (userAgent !== undefined) found.push(contains('user_agent', userAgent))
  if (ip !== undefined) found.push(where('ip', '=', ip))
  if (emailId !== undefined) found.push(where('id', 'in', selectRequestIds([emailId])))
  return found
}

/** Stores many requests at once. Performance-critical, because it runs for every request of an app. */
function createSaveLogs(db: Connection): (args: { logs: RequestLog[] }, now: number) => void {
  const insertLog = db.prepare(
    `insert into request_logs (id, team_id, api_key_id, method, endpoint, status, duration_ms, ip, user_agent,
       request_body, response_body, created_at, query, enhanced, message, email_id)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertEmail = db.prepare(
    'insert into request_log_emails (log_id, email_id, team_id) values (?, ?, ?)',
  )
  return ({ logs }) => {
    for (const log of logs) {
      const { id, teamId, apiKeyId, method, endpoint, status, durationMs, ip, userAgent } = log
      const { requestBody, responseBody, emailIds, createdAt, query, enhanced, message } = log
      const about = [id, teamId, apiKeyId, method, endpoint, status, durationMs, ip, userAgent]
      const [first = null, ...others] = emailIds
      const one = others.length === 0 ? first : null
      insertLog.run(...about, requestBody, responseBody, createdAt, query, enhanced, message, one)
      if (one === null) for (const emailId of emailIds) insertEmail.run(id, emailId, teamId)
    }
  }
}

export const methods = {
  reads: { listLogs, searchLogs, getLog },
  writes: { purgeLogs },
  prepared: { saveLogs: createSaveLogs },
}
