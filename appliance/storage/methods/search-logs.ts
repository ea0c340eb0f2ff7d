/** Finding requests without an index for each question: keeping one is not to pay for what few ask. */
import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool } from 'kysely'
import { firstIdAt } from '../../mail/ids.ts'
import type { Tables } from '../schema.ts'
import type { LogFilter, LogsFound, LogStorage } from '../storage.ts'
import { listedColumns, toListed } from './logs.ts'
import { contains, lowest, madeWith } from './searching.ts'

type Db = Kysely<Tables>
type Args = Parameters<LogStorage['searchLogs']>[0]
type Where = ExpressionBuilder<Tables, 'request_logs'>

/** Requests looked at in one step. */
const LOOK = 4000

/** Longest time from the beginning of an SMTP message, which its row tells, to its end, when its id is made (milliseconds). */
const LONGEST_SESSION = 24 * 3600 * 1000

/** See `LogStorage.searchLogs`. */
export async function searchLogs(db: Db, { teamId, filter, limit, after }: Args): Promise<LogsFound> {
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
  if (emailId !== undefined)
    found.push(
      where('id', 'in', (of) =>
        of.selectFrom('request_log_emails').select('log_id').where('email_id', '=', emailId),
      ),
    )
  return found
}
