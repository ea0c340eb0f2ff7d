/**
 * What apps asked of the API and what they were answered. Requests are found without an index for each question: keeping one is not to pay for
 * what few ask.
 */
import { type Expression, type ExpressionBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import { firstIdAt } from '../mail/ids.ts'
import { contains, lowest, madeWith, type Page, type PageArgs, pageOf } from './lists.ts'
import type { Db, RequestLogsTable, Tables } from './schema.ts'
import type { Connection } from './connection.ts'

/** One request as lists show it. */
export interface RequestLogSummary {
  /** The request's own id: what its answer carried as `x-request-id`. */
  id: string
  teamId: string
  apiKeyId: string
  method: string
  /** The path, without the query; of SMTP the listener and the command that was decided about, `smtp://587 MAIL FROM:<a@b.example>`. */
  endpoint: string
  /** The query string without secrets, bounded; null: none. */
  query: string | null
  /** The HTTP status, or the code of the SMTP reply. */
  status: number
  /** The enhanced status code of the SMTP reply (RFC 3463); null: none, or HTTP. */
  enhanced: string | null
  /** Why it was refused: the message of the HTTP error, or the text of the SMTP reply; null: it was not. */
  message: string | null
  durationMs: number
  ip: string
  userAgent: string | null
  createdAt: number
}

/** An element of a list. */
export interface ListedRequest extends RequestLogSummary {
  /** The body of a request over SMTP, which tells its envelope; null for the others. */
  smtpRequest: string | null
}

export interface RequestLog extends RequestLogSummary {
  /** JSON of an object, bounded and without secrets; null when there was none that could be read. */
  requestBody: string | null
  responseBody: string | null
  /** The emails that the request made, oldest first. */
  emailIds: string[]
}

/** What a request has to meet, all of it; what is absent is not asked. Texts are compared without regard to the case of ASCII letters. */
export interface LogFilter {
  /** It made this email. */
  emailId?: string | undefined
  /** One of these HTTP methods, or SMTP. */
  methods?: readonly string[] | undefined
  /** Its answer is in one of these ranges, both ends included, … */
  statuses?: readonly { from: number; to: number }[] | undefined
  /** … or has one of these enhanced codes, `5.7.1`; `5.7.x` stands for any detail. */
  enhanced?: readonly string[] | undefined
  /** Id or name of the API key. */
  apiKey?: string | undefined
  /** Stands in the path, the query or the SMTP command. */
  endpoint?: string | undefined
  ip?: string | undefined
  /** Stands in what the program calls itself. */
  userAgent?: string | undefined
  /** At or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** One stretch of a search, newest first. */
export interface LogsFound {
  items: ListedRequest[]
  /** Where to go on: older than this id. Null: everything was looked at. */
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

/** What a list has of a request. Bodies are long: only that of SMTP is read, for the envelope. */
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

/** The row as a list has it. */
const toListed = (row: SummaryRow & { smtp_request: string | null }): ListedRequest => ({
  ...toSummary(row),
  smtpRequest: row.smtp_request,
})

/** Ids of the requests that made these emails. */
export const requestsOf = (emailIds: readonly string[]) =>
  sql<string>`(select id from request_logs where email_id in (${sql.join(emailIds)})
    union all select log_id from request_log_emails where email_id in (${sql.join(emailIds)}))`

/** With `emailId`, the request that made that email. */
async function listLogs(
  db: Db,
  args: PageArgs & { emailId?: string | undefined },
): Promise<Page<ListedRequest>> {
  const { teamId, emailId } = args
  let query = db.selectFrom('request_logs').select(listedColumns).where('team_id', '=', teamId)
  if (emailId !== undefined) query = query.where('id', 'in', requestsOf([emailId]))
  return pageOf(query, args, toListed)
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
 * Removes at most `most` requests from before `before`, oldest first; returns how many. Ids sort as their requests ended, so the oldest stand
 * at the beginning of the primary key, and no index by age is kept for them.
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

/** Requests looked at in one step. */
const LOOK = 4000

/** Longest time from the beginning of an SMTP message, which its row tells, to its end, when its id is made (milliseconds). */
const LONGEST_SESSION = 24 * 3600 * 1000

/**
 * Looks at some thousands of requests at most, so that other questions need not wait long: it may find fewer than `limit`,
 * or none, and have more to look at.
 */
async function searchLogs(
  db: Db,
  {
    teamId,
    filter,
    limit,
    after,
  }: { teamId: string; filter: LogFilter; limit: number; after?: string | undefined },
): Promise<LogsFound> {
  const lower = filter.since === undefined ? undefined : firstIdAt(filter.since)
  const upper = lowest(
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

/** @param code digits and dots; at its end, `x` stands for any number */
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
  if (apiKey !== undefined) found.push(madeWith(apiKey, teamId))
  if (endpoint !== undefined)
    found.push(where.or([contains('endpoint', endpoint), contains('query', endpoint)]))
  if (userAgent !== undefined) found.push(contains('user_agent', userAgent))
  if (ip !== undefined) found.push(where('ip', '=', ip))
  if (emailId !== undefined) found.push(where('id', 'in', requestsOf([emailId])))
  return found
}

/**
 * Keeps requests, many at once.
 * hot: every request of an app comes by here.
 */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listLogs, searchLogs, getLog },
  writes: { purgeLogs },
  prepared: { saveLogs: createSaveLogs },
}
