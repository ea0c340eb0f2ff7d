/** Converts rules to conditions of a query on `contacts`, and finds the segments whose rules match contacts. */
import { type Expression, sql, type SqlBool } from 'kysely'
import type { PropertyType, Subscription } from '../../mail/audience.ts'
import {
  type BROADCAST_ACTIVITIES,
  eachRule,
  type Rule,
  type RuleField,
  resolveRuleField,
  type Rules,
  resolveRuleTime,
} from '../../mail/rules.ts'
import { toAsciiLowerCase, escapeLike } from '../lists.ts'
import type { Db } from '../schema.ts'

/** Stored data about the properties and topics that rules refer to. */
interface Known {
  /** Properties by key. */
  properties: Map<string, { label: string; type: PropertyType }>
  /** Default subscriptions of topics, by ID. */
  topics: Map<string, Subscription>
}

type Condition = Expression<SqlBool>

const NEVER: Condition = sql<SqlBool>`1 = 0`

/**
 * Converts rules to a condition. A deleted property, topic, segment or broadcast is treated as if no contact had it.
 */
export async function buildCondition(db: Db, teamId: string, rules: Rules, now: number): Promise<Condition> {
  const known = await knownOf(db, teamId, rules)
  return conditionIn(rules, known, now)
}

async function knownOf(db: Db, teamId: string, rules: Rules): Promise<Known> {
  const kinds = new Set(Array.from(eachRule(rules), ([{ field }]) => resolveRuleField(field)?.kind))
  const properties = kinds.has('property')
    ? await db
        .selectFrom('contact_properties')
        .select(['key', 'label', 'type'])
        .where('team_id', '=', teamId)
        .execute()
    : []
  const topics = kinds.has('topic')
    ? await db
        .selectFrom('topics')
        .select(['id', 'default_subscription'])
        .where('team_id', '=', teamId)
        .where('deleted_at', 'is', null)
        .execute()
    : []
  return {
    properties: new Map(properties.map(({ key, label, type }) => [key, { label, type }])),
    topics: new Map(topics.map((topic) => [topic.id, topic.default_subscription])),
  }
}

function conditionIn(rules: Rules, known: Known, now: number): Condition {
  if (rules.type === 'rule') return ofRule(rules, known, now)
  const parts = rules.rules.map((one) => conditionIn(one, known, now))
  return sql<SqlBool>`(${sql.join(parts, rules.type === 'and' ? sql` and ` : sql` or `)})`
}

function ofRule(rule: Rule, known: Known, now: number): Condition {
  const field = resolveRuleField(rule.field)
  switch (field?.kind) {
    case undefined:
      return NEVER
    case 'broadcast':
      return ofBroadcast(field.id, rule)
    case 'text':
      return ofText(sql`${sql.ref(`contacts.${field.column}`)}`, rule)
    case 'time':
      return ofTime(sql`${sql.ref(`contacts.${field.column}`)}`, rule, now)
    case 'property':
      return ofProperty(field, rule, known)
    case 'flag':
      return ofFlag(flags[field.name], rule)
    case 'segment':
      return ofFlag(inSegment(field.id), rule)
    case 'topic':
      return ofTopic(field, rule, known)
  }
}

/** Matches contacts whose address is on the suppression list. */
export const isSuppressed: Condition = sql<SqlBool>`exists (select 1 from suppressions as u
  where u.team_id = contacts.team_id and u.address = contacts.address_key)`

const flags = {
  unsubscribed: sql<SqlBool>`contacts.unsubscribed_at is not null`,
  suppressed: isSuppressed,
}

const inSegment = (id: string): Condition =>
  sql<SqlBool>`exists (select 1 from contact_segments as g where g.segment_id = ${id} and g.contact_id = contacts.id)`

/** For each activity, the condition that a recipient row must meet. */
const DEEDS: Record<(typeof BROADCAST_ACTIVITIES)[number], Condition> = {
  sent: sql<SqlBool>`r.email_id is not null`,
  opened: sql<SqlBool>`r.opens > 0`,
  clicked: sql<SqlBool>`r.clicks > 0`,
}

/** Matches recipients of a broadcast of the contact's team. */
function ofBroadcast(id: string, { operator, value }: Rule): Condition {
  const deed = DEEDS[value as keyof typeof DEEDS]
  const did = sql<SqlBool>`exists (select 1 from broadcasts as b
    join broadcast_recipients as r on r.broadcast = b.seq and r.contact_id = contacts.id
    where b.id = ${id} and b.team_id = contacts.team_id and ${deed})`
  return operator === 'eq' ? did : sql<SqlBool>`not (${did})`
}

function ofFlag(flag: Condition, { operator, value }: Rule): Condition {
  return (value === true) === (operator === 'eq') ? flag : sql<SqlBool>`not (${flag})`
}

/** Matches a text field, ignoring the case of ASCII letters. */
function ofText(text: Expression<unknown>, { operator, value }: Rule): Condition {
  const asked = String(value)
  const pattern = escapeLike(asked)
  const matches = (one: string) => sql<SqlBool>`lower(${text}) like ${one} escape '\\'`
  switch (operator) {
    case 'eq':
      return sql<SqlBool>`lower(${text}) = ${toAsciiLowerCase(asked)}`
    case 'neq':
      return sql<SqlBool>`(${text} is null or lower(${text}) <> ${toAsciiLowerCase(asked)})`
    case 'contains':
      return matches(`%${pattern}%`)
    case 'starts_with':
      return matches(`${pattern}%`)
    case 'ends_with':
      return matches(`%${pattern}`)
    case 'exists':
      return sql<SqlBool>`${text} <> ''`
    case 'is_empty':
      return sql<SqlBool>`(${text} is null or ${text} = '')`
    default:
      return NEVER
  }
}

const COMPARED = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function ofNumber(number: Expression<unknown>, operator: Rule['operator'], value: number): Condition {
  if (operator === 'exists') return sql<SqlBool>`${number} is not null`
  if (operator === 'is_empty') return sql<SqlBool>`${number} is null`
  if (operator === 'neq') return sql<SqlBool>`(${number} is null or ${number} <> ${value})`
  if (!(operator in COMPARED)) return NEVER
  return sql<SqlBool>`${number} ${sql.raw(COMPARED[operator as keyof typeof COMPARED])} ${value}`
}

function ofTime(time: Expression<unknown>, { operator, value }: Rule, now: number): Condition {
  return ofNumber(time, operator, resolveRuleTime(String(value), now) ?? 0)
}

/** Matches a contact property. `json_extract` is built into SQLite; on PostgreSQL, the migrations define it. */
function ofProperty({ key }: Extract<RuleField, { kind: 'property' }>, rule: Rule, known: Known): Condition {
  const property = known.properties.get(key)
  if (!property) return rule.operator === 'is_empty' || rule.operator === 'neq' ? sql<SqlBool>`1 = 1` : NEVER
  const value = sql`json_extract(contacts.properties, ${`$.${property.label}`})`
  if (property.type === 'string') return ofText(value, rule)
  return ofNumber(sql`cast(${value} as double precision)`, rule.operator, Number(rule.value))
}

function ofTopic({ id }: { id: string }, { operator, value }: Rule, known: Known): Condition {
  const preset = known.topics.get(id)
  if (preset === undefined) return NEVER
  const chosen = sql`(select t.subscription from contact_topics as t where t.topic_id = ${id} and t.contact_id = contacts.id)`
  const is = sql<SqlBool>`coalesce(${chosen}, ${preset}) = ${String(value)}`
  return operator === 'eq' ? is : sql<SqlBool>`not (${is})`
}

/** Returns the rules of a segment; undefined if it has none or doesn't exist. */
export async function getSegmentRules(db: Db, teamId: string, segmentId: string): Promise<Rules | undefined> {
  const row = await db
    .selectFrom('segments')
    .select('filter')
    .where('id', '=', segmentId)
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.filter ? (JSON.parse(row.filter) as Rules) : undefined
}

/** A segment whose rules match some contacts. */
export interface MatchedSegment {
  id: string
  name: string
  createdAt: number
  contactIds: string[]
}

/** Finds the segments whose rules match some of these contacts, by name. */
export async function findMatchingSegments(
  db: Db,
  teamId: string,
  contactIds: readonly string[],
  now: number,
): Promise<MatchedSegment[]> {
  if (contactIds.length === 0) return []
  const segments = await db
    .selectFrom('segments')
    .select(['id', 'name', 'filter', 'created_at'])
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .where('filter', 'is not', null)
    .orderBy('name')
    .execute()
  const matched: MatchedSegment[] = []
  for (const { id, name, filter, created_at: createdAt } of segments) {
    const rows = await db
      .selectFrom('contacts')
      .select('id')
      .where('team_id', '=', teamId)
      .where('id', 'in', contactIds)
      .where(await buildCondition(db, teamId, JSON.parse(filter!) as Rules, now))
      .execute()
    if (rows.length > 0) matched.push({ id, name, createdAt, contactIds: rows.map((row) => row.id) })
  }
  return matched
}
