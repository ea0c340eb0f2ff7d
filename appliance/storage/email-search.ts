/**
 * Finding emails by what is known of them and by what happened to them, without an index for each question: accepting is not to pay for what
 * few ask.
 */
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from 'kysely'
import type { Category } from '../mail/bounce.ts'
import { bouncedAbout, type Counted } from '../mail/counted.ts'
import type { LastEvent } from '../mail/event.ts'
import { firstIdAt } from '../mail/ids.ts'
import { countStatuses, type RecipientCounts, recipientStatus } from '../mail/recipient-status.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { type EmailSummary, ofTeam, summaryColumns, toSummary } from './emails.ts'
import { selectDeliveries, toDelivery } from './deliveries.ts'
import type { Db, Tables } from './schema.ts'
import { contains, like, lowered, lowest, madeWith } from './lists.ts'

/**
 * What an email has to meet, all of it; what is absent is not asked. Texts are compared without regard to the case of ASCII
 * letters, and found wherever they stand unless it says otherwise.
 */
export interface EmailFilter {
  id?: string | undefined
  /** One of these. */
  status?: readonly LastEvent[] | undefined
  /** The whole domain of the From address. */
  domain?: string | undefined
  from?: string | undefined
  /** A recipient, as To, Cc or Bcc name them: the whole address, or a part where there is no local part before an @. */
  to?: string | undefined
  /** The whole domain of a recipient. */
  toDomain?: string | undefined
  /** `value` null: whatever it is. */
  tag?: { name: string; value: string | null } | undefined
  /** Id or name of the API key. */
  apiKey?: string | undefined
  /** Each stands in the subject. */
  subject?: readonly string[] | undefined
  /** Whole, with its angle brackets. */
  messageId?: string | undefined
  /** Id of the broadcast that it is part of. */
  broadcast?: string | undefined
  /** Stands in what was last said about a recipient: the id in the queue of the remote server for one. */
  reply?: string | undefined
  /** Something happened to it, all of it in one event. */
  happened?: Happened | undefined
  /** Accepted at or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** What happened: the numbers of the metrics, asked the other way round. What is absent is not asked. */
interface Happened {
  event?: Counted | undefined
  /** At or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
  /** Id of the recipient's mailbox provider. */
  provider?: string | undefined
  /** What a bounce was about; `undetermined`: that was not told. */
  bounce?: Category | 'undetermined' | undefined
}

export interface FoundEmail extends EmailSummary {
  apiKeyId: string | null
  /** Of the recipient who was tried most often. */
  attempts: number
  /** How its recipients stand. */
  recipients: RecipientCounts
  /** A person opened it, or followed a link, whatever happened since. */
  opened: boolean
  clicked: boolean
  /** The recipient of whom something was heard last; null before that. */
  last: { recipient: string; state: DeliveryState; cause: Cause } | null
}

/** One stretch of a search, newest first. */
export interface EmailsFound {
  items: FoundEmail[]
  /** Where to go on: older than this id. Null: everything was looked at. */
  next: string | null
}

type Where = ExpressionBuilder<Tables, 'emails'>

/** Emails looked at in one step: some 20 ms of the reading thread. */
const LOOK = 4000

/** What the partial index `emails_trouble` holds, word for word. */
const TROUBLE = ['delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed'] as const

/** Which emails a stretch is counted in: all of the team or of a broadcast, or those of one status that has an index. */
interface Scope {
  teamId: string
  broadcastId: string | undefined
  trouble: (typeof TROUBLE)[number] | null
}

const troubleOf = (status: LastEvent): Scope['trouble'] => TROUBLE.find((one) => one === status) ?? null

/**
 * Looks at some thousands of emails at most, so that other questions need not wait long: it may find fewer than `limit`, or
 * none, and have more to look at. Without reports, which nobody sent.
 */
async function searchEmails(
  db: Db,
  args: { teamId: string; filter: EmailFilter; limit: number; after?: string | undefined },
): Promise<EmailsFound> {
  const { teamId, filter, limit } = args
  const broadcastId = filter.broadcast
  const troubles = broadcastId === undefined ? (filter.status?.map(troubleOf) ?? []) : []
  const found =
    troubles.length === 0 || troubles.includes(null)
      ? [await searchStretch(db, { teamId, broadcastId, trouble: null }, args)]
      : await Promise.all(
          troubles.map((trouble) => searchStretch(db, { teamId, broadcastId, trouble }, args)),
        )
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
async function searchStretch(
  db: Db,
  scope: Scope,
  {
    filter,
    limit,
    after,
  }: { teamId: string; filter: EmailFilter; limit: number; after?: string | undefined },
) {
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
const inScope = (where: Where, { teamId, broadcastId, trouble }: Scope): Expression<SqlBool>[] => [
  ...ofTeam(where, { teamId, broadcastId }),
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
  if (tag !== undefined) found.push(like('tags', tagPattern(tag)))
  if (apiKey !== undefined) found.push(madeWith(apiKey, teamId))
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

/** A tag as `put` wrote it. */
function tagPattern({ name, value }: NonNullable<EmailFilter['tag']>): string {
  const start = `{"name":"${inJson(name)}","value":"`
  return `%${lowered(value === null ? start : `${start}${inJson(value)}"}`)}%`
}

/**
 * The fields that name recipients, as JSON lists of `address` or `Name <address>`. Between them they name every recipient, and a look into
 * `deliveries` for each email takes four times as long.
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
    .where('d.email_id', 'in', ids)
    .orderBy('d.updated_at', 'desc')
    .orderBy('d.id', 'desc')
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

/** Of the two kinds of opens and clicks, the one that is counted for itself. */
const BY_ROBOTS = '_by_robots'

/**
 * Whether one event of an email meets all of it. The events of each email that is looked at are read by an index, some
 * microseconds an email.
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

function isCounted(event: Counted): Expression<SqlBool> {
  const robots = event.endsWith(BY_ROBOTS)
  const type = `email.${robots ? event.slice(0, -BY_ROBOTS.length) : event}`
  if (!robots && event !== 'opened' && event !== 'clicked') return sql<SqlBool>`e.type = ${type}`
  return robots
    ? sql<SqlBool>`e.type = ${type} and e.counted = ${event}`
    : sql<SqlBool>`e.type = ${type} and e.counted <> ${event + BY_ROBOTS}`
}

/** The counters of an event are words with spaces between; that of the category stands last. */
const isAbout = (category: NonNullable<Happened['bounce']>): Expression<SqlBool> =>
  category === 'undetermined'
    ? sql<SqlBool>`e.counted not like ${`% ${bouncedAbout('%')}`}`
    : sql<SqlBool>`e.counted like ${`% ${bouncedAbout(category)}`}`

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { searchEmails },
}
