/** Parses and formats queue filters. The API, the dashboard and the command line use the same names. Pure. */
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { parseDomain } from '../mail/domain.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { STREAMS } from '../mail/source.ts'
import type { QueueFilter } from '../storage/storage.ts'
import { parseDuration } from '../mail/date.ts'

/** Maximum length of a condition's text, and maximum number of deliveries listed by ID. */
const MOST = 500
const MOST_IDS = 200
const MOST_IDS_TEXT = 40 * MOST_IDS

/** Returned for an invalid value, with a description of what is expected instead. */
class Unreadable {
  readonly expected: string
  constructor(expected: string) {
    this.expected = expected
  }
}

type Read = (text: string, now: number) => QueueFilter | Unreadable

const oneOf =
  <T extends string>(values: readonly T[], filter: (value: T) => QueueFilter): Read =>
  (text) => {
    const value = values.find((one) => one === text.toLowerCase())
    return value === undefined ? new Unreadable(`one of ${values.join(', ')}`) : filter(value)
  }

const anId =
  (filter: (id: string) => QueueFilter): Read =>
  (text) =>
    isId(text) ? filter(text.toLowerCase()) : new Unreadable('a UUID')

const shaped =
  (shape: RegExp, expected: string, filter: (text: string) => QueueFilter): Read =>
  (text) =>
    shape.test(text) ? filter(text) : new Unreadable(expected)

const anAge =
  (filter: (instant: number) => QueueFilter): Read =>
  (text, now) => {
    const age = parseDuration(text)
    return age === undefined ? new Unreadable('a duration such as 90m, 2h or 3d') : filter(now - age)
  }

/** Every condition by its external name. */
const CONDITIONS: Record<string, Read> = {
  domain: (text) => {
    const domain = parseDomain(text)
    return domain === undefined ? new Unreadable('a domain such as example.com') : { domain }
  },
  provider: shaped(/^[\w.?[\]:-]+$/, 'a provider ID as returned by GET /queue', (text) => ({
    provider: text.toLowerCase(),
  })),
  pool: shaped(/^[a-z0-9_-]+$/, 'a pool name', (pool) => ({ pool })),
  region: shaped(/^[A-Za-z0-9-]+$/, 'the name of a region', (text) => ({ region: text.toLowerCase() })),
  node: shaped(/^[\w.-]+$/, 'the name or ID of a node', (node) => ({ node })),
  stream: oneOf(STREAMS, (stream) => ({ stream })),
  tag: shaped(/^[\w-]+(=[\w-]*)?$/, 'a tag as name or name=value', (text) => {
    const [name = '', value = null] = text.split('=')
    return { tag: { name, value } }
  }),
  state: oneOf(['waiting', 'held'], (state) => ({ state })),
  older_than: anAge((createdBefore) => ({ createdBefore })),
  newer_than: anAge((createdFrom) => ({ createdFrom })),
  reply: (reply) => ({ reply }),
  category: oneOf(BOUNCE_CATEGORIES, (category) => ({ category })),
  email_id: anId((emailId) => ({ emailId })),
  broadcast: anId((broadcastId) => ({ broadcastId })),
  id: (text) => {
    const ids = text.split(',').map((id) => id.trim())
    if (ids.length > MOST_IDS || !ids.every(isId))
      return new Unreadable(`up to ${MOST_IDS} comma-separated UUIDs`)
    return { deliveryIds: ids.map((id) => id.toLowerCase()) }
  },
  source: shaped(/^(auto|[0-9a-fA-F.:]+)$/, 'an address of this machine, or auto', (text) => ({
    source: text.toLowerCase(),
  })),
}

/** The names that `parseQueueFilter` accepts, and `team_id`, which selects the team. */
const QUEUE_CONDITIONS = [...Object.keys(CONDITIONS), 'team_id'] as const

/** A filter and its team: an id, `all`, or undefined if not given. */
export interface ParsedQueueFilter {
  filter: QueueFilter
  team: string | undefined
}

/**
 * Parses a filter. Refuses unknown names, because ignoring a misspelled condition could drop everybody's mail.
 * Refuses: `invalid_field` with the name of the condition.
 * @param called returns the caller's name of a condition, for the refusal
 */
export function parseQueueFilter(
  given: object,
  now: number,
  called = (name: string) => name,
): ParsedQueueFilter {
  let filter: QueueFilter = {}
  let team: string | undefined
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined || value === null || value === '') continue
    const field = called(name.slice(0, 50))
    const reader = Object.hasOwn(CONDITIONS, name) ? CONDITIONS[name] : undefined
    if (!reader && name !== 'team_id')
      throw refuse('invalid_field', {
        field,
        expected: `unknown condition; expected one of ${QUEUE_CONDITIONS.join(', ')}`,
      })
    const most = name === 'id' ? MOST_IDS_TEXT : MOST
    if (typeof value !== 'string' || value.length > most)
      throw refuse('invalid_field', {
        field,
        expected: `it must be a single string of at most ${most} characters`,
      })
    if (!reader) {
      team = readTeam(value, field)
      continue
    }
    const read = reader(value, now)
    if (read instanceof Unreadable)
      throw refuse('invalid_field', { field, expected: `it must be ${read.expected}` })
    filter = { ...filter, ...read }
  }
  return { filter, team }
}

function readTeam(text: string, field: string): string {
  if (text === 'all') return text
  if (!isId(text)) throw refuse('invalid_field', { field, expected: 'it must be a UUID, or all' })
  return text.toLowerCase()
}

/** Formats a filter for the audit log, with times instead of durations. */
export function formatQueueFilter(filter: QueueFilter): Record<string, string> {
  const { tag, createdBefore, createdFrom } = filter
  const words = {
    team_id: filter.teamId,
    domain: filter.domain,
    provider: filter.provider,
    pool: filter.pool,
    region: filter.region,
    node: filter.node,
    stream: filter.stream,
    tag: tag && (tag.value === null ? tag.name : `${tag.name}=${tag.value}`),
    state: filter.state,
    created_before: createdBefore === undefined ? undefined : new Date(createdBefore).toISOString(),
    created_from: createdFrom === undefined ? undefined : new Date(createdFrom).toISOString(),
    reply: filter.reply,
    category: filter.category,
    email_id: filter.emailId,
    broadcast: filter.broadcastId,
    id: filter.deliveryIds?.join(','),
    source: filter.source,
    touched_by: filter.touchedBy,
  }
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}

/** Whether a filter matches all mail of a team, or all mail. */
export function matchesEverything({ teamId: _team, ...conditions }: QueueFilter): boolean {
  return Object.values(conditions).every((value) => value === undefined)
}
