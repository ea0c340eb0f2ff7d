/** Finding emails without an index for each question: accepting is not to pay for what few ask. */
import { sql, type Expression, type ExpressionBuilder, type Kysely, type SqlBool } from 'kysely'
import { firstIdAt } from '../../mail/ids.ts'
import { countStatuses, recipientStatus } from '../../mail/recipient-status.ts'
import type { LastEvent } from '../../mail/event.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Tables } from '../schema.ts'
import type {
  EmailFilter,
  EmailsFound,
  EmailSearchStorage,
  EmailSummary,
  FoundEmail,
  WebhookDelivery,
} from '../storage.ts'
import { summaryColumns, toSummary } from './emails.ts'
import { happenedTo } from './happened.ts'
import { selectDeliveries, toDelivery } from './recipients.ts'
import { contains, like, lowered, lowest, madeWith } from './searching.ts'
import {
  selectDeliveries as selectWebhookDeliveries,
  toDelivery as toWebhookDelivery,
  withLast,
} from './webhooks.ts'

type Db = Kysely<Tables>
type Args<M extends keyof EmailSearchStorage> = Parameters<EmailSearchStorage[M]>[0]
type Where = ExpressionBuilder<Tables, 'emails'>

/** Emails looked at in one step: some 20 ms of the reading thread. */
const LOOK = 4000

/** What the partial index `emails_trouble` holds, word for word. */
const TROUBLE = ['delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed'] as const

/** Which emails a stretch is counted in: all of the team, or those of one status that has an index. */
interface Scope {
  teamId: string
  trouble: (typeof TROUBLE)[number] | null
}

const troubleOf = (status: LastEvent): Scope['trouble'] => TROUBLE.find((one) => one === status) ?? null

/** See `EmailSearchStorage.searchEmails`. */
export async function searchEmails(db: Db, args: Args<'searchEmails'>): Promise<EmailsFound> {
  const { teamId, filter, limit } = args
  const troubles = filter.status?.map(troubleOf) ?? []
  const found =
    troubles.length === 0 || troubles.includes(null)
      ? [await searchStretch(db, { teamId, trouble: null }, args)]
      : await Promise.all(troubles.map((trouble) => searchStretch(db, { teamId, trouble }, args)))
  // As far back as all of them have looked.
  const floor = found.flatMap(({ next }) => next ?? []).reduce((a, b) => (a > b ? a : b), '')
  const all = found
    .flatMap(({ rows }) => rows)
    .filter(({ id }) => id >= floor)
    .sort((a, b) => (a.id < b.id ? 1 : -1))
  const rows = all.slice(0, limit)
  const standing = await standingOf(
    db,
    rows.map(({ id }) => id),
  )
  const items = rows.map((row): FoundEmail => {
    const email = toSummary(row)
    return { ...email, apiKeyId: row.api_key_id, ...summarize(email, standing.get(row.id) ?? NOBODY) }
  })
  return { items, next: all.length > limit ? rows.at(-1)!.id : floor || null }
}

/** The next stretch of a scope: a range of an index that ends with the id. */
async function searchStretch(db: Db, scope: Scope, { filter, limit, after }: Args<'searchEmails'>) {
  const upper = lowest(after, filter.until === undefined ? undefined : firstIdAt(filter.until))
  const lower = filter.since === undefined ? undefined : firstIdAt(filter.since)
  const floor = filter.id === undefined ? await floorOf(db, scope, lower, upper) : undefined
  const rows = await db
    .selectFrom('emails')
    .select([...summaryColumns, 'api_key_id'])
    .where((where) =>
      where.and([
        ...inScope(where, scope),
        where('via', '!=', 'report'),
        ...range(where, floor ?? lower, upper),
        ...conditions(where, filter, scope.teamId),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return { rows, next: rows.length === limit ? rows.at(-1)!.id : (floor ?? null) }
}

/** Written out, not bound: the planners use the partial index only for a condition that they can read. */
const inScope = (where: Where, { teamId, trouble }: Scope): Expression<SqlBool>[] => [
  where('team_id', '=', teamId),
  ...(trouble === null
    ? []
    : [
        where('last_event', '=', sql.lit(trouble)),
        where(
          'last_event',
          'in',
          TROUBLE.map((one) => sql.lit(one)),
        ),
      ]),
]

/** Ids from `lower` on and below `upper`. */
const range = (where: Where, lower: string | undefined, upper: string | undefined): Expression<SqlBool>[] => [
  ...(lower === undefined ? [] : [where('id', '>=', lower)]),
  ...(upper === undefined ? [] : [where('id', '<', upper)]),
]

/** The last id of the next stretch; undefined where what is left is less. Reads nothing but the index. */
async function floorOf(
  db: Db,
  scope: Scope,
  lower: string | undefined,
  upper: string | undefined,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('emails')
    .select('id')
    .where((where) => where.and([...inScope(where, scope), ...range(where, lower, upper)]))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(LOOK - 1)
    .executeTakeFirst()
  return row?.id
}

/** The text as it stands within JSON. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

function conditions(where: Where, filter: EmailFilter, teamId: string): Expression<SqlBool>[] {
  const { id, status, domain, from, tag, apiKey, subject = [], messageId } = filter
  const found: Expression<SqlBool>[] = subject.map((word) => contains('subject', word))
  if (id !== undefined) found.push(where('id', '=', id))
  if (status !== undefined) found.push(where('last_event', 'in', status))
  if (messageId !== undefined) found.push(where('message_id', '=', messageId))
  if (from !== undefined) found.push(contains('from_header', from))
  if (domain !== undefined)
    found.push(
      where.or([like('from_header', `%@${lowered(domain)}`), like('from_header', `%@${lowered(domain)}>`)]),
    )
  if (tag !== undefined) found.push(sql<SqlBool>`tags like ${tagPattern(tag)} escape '\\'`)
  if (apiKey !== undefined) found.push(madeWith(apiKey, teamId))
  if (filter.to !== undefined) found.push(addressed(filter.to))
  if (filter.toDomain !== undefined) found.push(addressed(`@${filter.toDomain}`, true))
  if (filter.happened !== undefined) found.push(happenedTo(where, filter.happened))
  if (filter.reply !== undefined) {
    const said = contains('r.cause', inJson(filter.reply))
    found.push(
      where.exists(
        where
          .selectFrom('recipients as r')
          .select('r.id')
          .whereRef('r.email_id', '=', 'emails.id')
          .where(said),
      ),
    )
  }
  return found
}

/** A tag as `put` wrote it. */
function tagPattern({ name, value }: NonNullable<EmailFilter['tag']>): string {
  const escaped = (text: string): string => inJson(text).replaceAll(/[\\%_]/g, '\\$&')
  const start = `{"name":"${escaped(name)}","value":"`
  return value === null ? `%${start}%` : `%${start}${escaped(value)}"}%`
}

/**
 * The fields that name recipients, as JSON lists of `address` or `Name <address>`. Between them they name every recipient, and a look into
 * `recipients` for each email takes four times as long.
 * @param ends whether the text is the end of an address; a text that has a local part is the beginning of one
 */
function addressed(text: string, ends = false): Expression<SqlBool> {
  const part = lowered(inJson(text))
  const begins = text.indexOf('@') > 0
  const patterns = begins
    ? [`%"${part}%`, `%<${part}%`]
    : ends
      ? [`%${part}"%`, `%${part}>"%`]
      : [`%${part}%`]
  const either = patterns.map((pattern) => sql<SqlBool>`fields like ${pattern} escape '\\'`)
  return sql<SqlBool>`(select ${sql.join(either, sql` or `)} from (select lower(to_header || cc_header || bcc_header) as fields) as named)`
}

type Recipients = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>

/** What is known of the recipients of one email. */
interface Known {
  /** The one of whom something was heard last comes first. */
  recipients: Recipients
  /** Ids of the deliveries that were complained of. */
  complained: ReadonlySet<string>
  /** Types of the events that tell of people. */
  seen: ReadonlySet<string>
}

const NOBODY: Known = { recipients: [], complained: new Set(), seen: new Set() }

/** Reads the recipients of all these emails at once, and who opened, clicked or complained. */
async function standingOf(db: Db, ids: string[]): Promise<Map<string, Known>> {
  if (ids.length === 0) return new Map()
  const rows = await selectDeliveries(db)
    .where('r.email_id', 'in', ids)
    .orderBy('r.updated_at', 'desc')
    .orderBy('r.id', 'desc')
    .execute()
  const recipients = Map.groupBy(rows, ({ email_id: id }) => id)
  // The last event of an email to one recipient says the same; only those to several are looked up.
  const several = [...recipients].filter(([, { length }]) => length > 1).map(([id]) => id)
  const events = Map.groupBy(await reactions(db, several), ({ email_id: id }) => id ?? '')
  return new Map(
    [...recipients].map(([id, group]) => {
      const own = events.get(id) ?? []
      const complained = own.filter(({ type }) => type === 'email.complained')
      return [
        id,
        {
          recipients: group,
          complained: new Set(complained.flatMap(({ delivery_id: of }) => of ?? [])),
          seen: new Set(own.map(({ type }) => type)),
        },
      ]
    }),
  )
}

/** The complaints about these emails, and their first open and click by a person. */
async function reactions(db: Db, ids: string[]) {
  if (ids.length === 0) return []
  return db
    .selectFrom('events')
    .select(['email_id', 'delivery_id', 'type'])
    .where('email_id', 'in', ids)
    .where((event) =>
      event.or([
        event('type', '=', 'email.complained'),
        event('counted', 'like', '%unique_opened%'),
        event('counted', 'like', '%unique_clicked%'),
      ]),
    )
    .execute()
}

type Standing = Pick<FoundEmail, 'attempts' | 'last' | 'recipients' | 'opened' | 'clicked'>

function summarize({ lastEvent }: EmailSummary, { recipients, complained, seen }: Known): Standing {
  const deliveries = recipients.map((row) => toDelivery({ ...row, cause: null }))
  const alone = deliveries.length === 1
  const statuses = deliveries.map(({ id, state, attempts, scheduledAt }, at) =>
    recipientStatus({
      state,
      attempts,
      heard: recipients[at]?.cause !== null,
      scheduled: scheduledAt !== null,
      complained: alone ? lastEvent === 'complained' : complained.has(id),
    }),
  )
  return {
    attempts: deliveries.reduce((most, { attempts }) => Math.max(most, attempts), 0),
    last: recipients.map(lastWord).find((word) => word !== null) ?? null,
    recipients: countStatuses(statuses),
    opened: alone ? ['opened', 'clicked'].includes(lastEvent) : seen.has('email.opened'),
    clicked: alone ? lastEvent === 'clicked' : seen.has('email.clicked'),
  }
}

function lastWord(row: Parameters<typeof toDelivery>[0]): FoundEmail['last'] {
  if (row.cause === null) return null
  return { recipient: row.recipient, state: toDelivery(row).state, cause: JSON.parse(row.cause) as Cause }
}

/** See `EmailSearchStorage.webhooksOfEmail`. */
export async function webhooksOfEmail(
  db: Db,
  { teamId, emailId, limit }: Args<'webhooksOfEmail'>,
): Promise<WebhookDelivery[]> {
  const rows = await selectWebhookDeliveries(db)
    .where('email_id', '=', emailId)
    .where('team_id', '=', teamId)
    .orderBy('id')
    .limit(limit)
    .execute()
  return withLast(db, rows.map(toWebhookDelivery))
}
