/**
 * Searches emails by their fields and events. There is no index for each kind of search, because indexes would make
 * accepting mail slower.
 */
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from 'kysely'
import type { BounceCategory } from '../mail/bounce.ts'
import { getBounceCategoryCounter, type EventCounter, type LastEvent } from '../mail/event.ts'
import { firstIdAt } from '../mail/ids.ts'
import { countStatuses, type RecipientCounts, deriveRecipientStatus } from '../mail/recipient-status.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { type EmailSummary, selectTeamEmails, summaryColumns, toSummary } from './emails.ts'
import { selectDeliveries, toDelivery } from './deliveries.ts'
import type { Db, Tables } from './schema.ts'
import { contains, like, escapeLike, minId, isCreatedWithKey } from './lists.ts'

/**
 * A filter for emails. All given conditions must match. Texts match anywhere unless noted, ignoring the case of ASCII
 * letters.
 */
export interface EmailFilter {
  id?: string | undefined
  /** Statuses, of which the email must have one. */
  status?: readonly LastEvent[] | undefined
  /** The full domain of the From address. */
  domain?: string | undefined
  from?: string | undefined
  /** A recipient in To, Cc or Bcc: the full address, or a part of it if there is no text before the @. */
  to?: string | undefined
  /** The full domain of a recipient. */
  toDomain?: string | undefined
  /** A tag of the email. With a `value` of null, any value matches. */
  tag?: { name: string; value: string | null } | undefined
  /** ID or name of the API key. */
  apiKey?: string | undefined
  /** Texts that the subject must all contain. */
  subject?: readonly string[] | undefined
  /** The full Message-ID, with angle brackets. */
  messageId?: string | undefined
  /** ID of the email's broadcast. */
  broadcast?: string | undefined
  /** Text in the last reply to a recipient, such as the remote server's queue ID. */
  reply?: string | undefined
  /** Conditions that a single event of the email must all meet. */
  happened?: Happened | undefined
  /** Time of acceptance: at or after `since` and before `until` (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** A filter for events, with the same counters as the metrics. Conditions that are undefined match any event. */
interface Happened {
  event?: EventCounter | undefined
  /** Time of the event: at or after `since` and before `until` (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
  /** ID of the recipient's mailbox provider. */
  provider?: string | undefined
  /** The category of a bounce; `undetermined` if it has none. */
  bounce?: BounceCategory | 'undetermined' | undefined
}

export interface FoundEmail extends EmailSummary {
  apiKeyId: string | null
  /** Number of attempts for the recipient with the most attempts. */
  attempts: number
  /** Number of recipients in each state. */
  recipients: RecipientCounts
  /** Whether a person opened the email or followed a link, regardless of later events. */
  opened: boolean
  clicked: boolean
  /** The recipient whose delivery changed last; null before any change. */
  last: { recipient: string; state: DeliveryState; cause: Cause } | null
}

/** One chunk of search results, newest first. */
export interface EmailSearchChunk {
  items: FoundEmail[]
  /** Continue with emails older than this ID; null if the search is complete. */
  next: string | null
}

type Where = ExpressionBuilder<Tables, 'emails'>

/** Number of emails that one step examines, which takes the reading thread about 20 ms. */
const LOOK = 4000

/** Statuses in the condition of the partial index `emails_trouble`, which they must match exactly. */
const TROUBLE = ['delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed'] as const

/**
 * The emails that a chunk is read from: all emails of a team or broadcast, or those with one of the indexed statuses.
 */
interface Scope {
  teamId: string
  broadcastId: string | undefined
  trouble: (typeof TROUBLE)[number] | null
}

const troubleOf = (status: LastEvent): Scope['trouble'] => TROUBLE.find((one) => one === status) ?? null

/**
 * Searches one chunk. Examines at most a few thousand emails, so that other reads don't have to wait long. It may find
 * fewer than `limit`, or none, although there are more to examine. Excludes reports, which the server created itself.
 */
async function searchEmails(
  db: Db,
  args: { teamId: string; filter: EmailFilter; limit: number; after?: string | undefined },
): Promise<EmailSearchChunk> {
  const { teamId, filter, limit } = args
  const broadcastId = filter.broadcast
  const troubles = broadcastId === undefined ? (filter.status?.map(troubleOf) ?? []) : []
  const found =
    troubles.length === 0 || troubles.includes(null)
      ? [await searchChunk(db, { teamId, broadcastId, trouble: null }, args)]
      : await Promise.all(troubles.map((trouble) => searchChunk(db, { teamId, broadcastId, trouble }, args)))
  // The ID down to which all scopes were searched.
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

/** Reads the next chunk of a scope: an index range whose last column is the ID. */
async function searchChunk(
  db: Db,
  scope: Scope,
  {
    filter,
    limit,
    after,
  }: { teamId: string; filter: EmailFilter; limit: number; after?: string | undefined },
) {
  const upper = minId(after, filter.until === undefined ? undefined : firstIdAt(filter.until))
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

/**
 * Matches the emails of a scope. Statuses are literals, because the planners use a partial index only if the condition
 * isn't a bound parameter.
 */
const inScope = (where: Where, { teamId, broadcastId, trouble }: Scope): Expression<SqlBool>[] => [
  ...selectTeamEmails(where, { teamId, broadcastId }),
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

/** Matches IDs from `lower` (inclusive) to `upper` (exclusive). */
const range = (where: Where, lower: string | undefined, upper: string | undefined): Expression<SqlBool>[] => [
  ...(lower === undefined ? [] : [where('id', '>=', lower)]),
  ...(upper === undefined ? [] : [where('id', '<', upper)]),
]

/** Finds the last ID of the next chunk; undefined if fewer rows are left. Reads only the index. */
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

/** Escapes a text as JSON does. */
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
      where.or([
        like('from_header', `%@${escapeLike(domain)}`),
        like('from_header', `%@${escapeLike(domain)}>`),
      ]),
    )
  if (tag !== undefined) found.push(like('tags', tagPattern(tag)))
  if (apiKey !== undefined) found.push(isCreatedWithKey(apiKey, teamId))
  if (filter.to !== undefined) found.push(addressed(filter.to))
  if (filter.toDomain !== undefined) found.push(addressed(`@${filter.toDomain}`, true))
  if (filter.happened !== undefined) found.push(happenedTo(where, filter.happened))
  if (filter.reply !== undefined) {
    const said = contains('d.cause', inJson(filter.reply))
    found.push(
      where.exists(
        where
          .selectFrom('deliveries as d')
          .select('d.id')
          .whereRef('d.email_id', '=', 'emails.id')
          .where(said),
      ),
    )
  }
  return found
}

/** Returns a pattern that matches a tag as `put` stored it. */
function tagPattern({ name, value }: NonNullable<EmailFilter['tag']>): string {
  const start = `{"name":"${inJson(name)}","value":"`
  return `%${escapeLike(value === null ? start : `${start}${inJson(value)}"}`)}%`
}

/**
 * Matches the fields with recipients: JSON lists of `address` or `Name <address>`. Together they contain every
 * recipient. Reading `deliveries` for each email would take four times as long.
 * @param ends whether the text is the end of an address; a text with a local part is the start of one
 */
function addressed(text: string, ends = false): Expression<SqlBool> {
  const part = escapeLike(inJson(text))
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

/** The recipients and events of one email. */
interface Known {
  /** The recipients. The one whose delivery changed last comes first. */
  recipients: Recipients
  /** IDs of the deliveries with a complaint. */
  complained: ReadonlySet<string>
  /** Types of the events that were caused by people. */
  seen: ReadonlySet<string>
}

const NOBODY: Known = { recipients: [], complained: new Set(), seen: new Set() }

/** Reads the recipients of these emails, and their opens, clicks and complaints, for all of them at once. */
async function standingOf(db: Db, ids: string[]): Promise<Map<string, Known>> {
  if (ids.length === 0) return new Map()
  const rows = await selectDeliveries(db)
    .where('d.email_id', 'in', ids)
    .orderBy('d.updated_at', 'desc')
    .orderBy('d.id', 'desc')
    .execute()
  const recipients = Map.groupBy(rows, ({ email_id: id }) => id)
  // For an email with one recipient, `last_event` has this information. Look up only emails with several recipients.
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

/** Finds the complaints about these emails, and the first open and click of each by a person. */
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
    deriveRecipientStatus({
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

/** Suffix of the counters for bots. */
const BY_ROBOTS = '_by_robots'

/**
 * Matches emails with an event that meets all conditions. An index makes this take only a few microseconds per email.
 */
function happenedTo(where: ExpressionBuilder<Tables, 'emails'>, of: Happened): Expression<SqlBool> {
  let events = where.selectFrom('events as e').select('e.seq').whereRef('e.email_id', '=', 'emails.id')
  if (of.event !== undefined) events = events.where(isCounted(of.event))
  if (of.since !== undefined) events = events.where('e.created_at', '>=', of.since)
  if (of.until !== undefined) events = events.where('e.created_at', '<', of.until)
  if (of.provider !== undefined) events = events.where('e.provider', '=', of.provider)
  if (of.bounce !== undefined) events = events.where('e.type', '=', 'email.bounced').where(isAbout(of.bounce))
  return where.exists(events)
}

function isCounted(event: EventCounter): Expression<SqlBool> {
  const robots = event.endsWith(BY_ROBOTS)
  const type = `email.${robots ? event.slice(0, -BY_ROBOTS.length) : event}`
  if (!robots && event !== 'opened' && event !== 'clicked') return sql<SqlBool>`e.type = ${type}`
  return robots
    ? sql<SqlBool>`e.type = ${type} and e.counted = ${event}`
    : sql<SqlBool>`e.type = ${type} and e.counted <> ${event + BY_ROBOTS}`
}

/**
 * Matches bounces of a category. The counters of an event are words separated by spaces, of which the category is the
 * last.
 */
const isAbout = (category: NonNullable<Happened['bounce']>): Expression<SqlBool> =>
  category === 'undetermined'
    ? sql<SqlBool>`e.counted not like ${`% ${getBounceCategoryCounter('%')}`}`
    : sql<SqlBool>`e.counted like ${`% ${getBounceCategoryCounter(category)}`}`

export const methods = {
  reads: { searchEmails },
}
