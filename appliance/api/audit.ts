import { Type, type Static } from 'typebox'
import { ACTOR_KINDS } from '../mail/audit.ts'
import { kind, literals, Nullable, object, record, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { describeAuditEntry } from '../mail/audit-sentence.ts'
import { getTargetName } from '../mail/audit-target.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import type { AuditEntry as StoredAuditEntry } from '../storage/storage.ts'
import { isoTimestamp, timestamp } from './timestamp.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { refuse } from '../mail/refusals.ts'
import { byId, instant, optional, page, type Parameter, type RawParameters, search } from './parameters.ts'

/** GET /audit/:id, and an element of the list; not part of the hosted API. */
export const AuditEntry = object('An action in the audit log.', {
  object: kind('audit_entry'),
  id: Id,
  team_id: Nullable(Id, 'The team that the action concerned; null: the whole server.'),
  at: Timestamp,
  actor: string('The user, the id of the API key, or the account on the command line.'),
  actor_kind: literals(ACTOR_KINDS, 'Kind of actor.'),
  actor_name: Nullable(Type.String(), 'Name of the API key at that time; null: see `actor`.'),
  ip: Nullable(Type.String(), 'IP address of the request; null: not a request.'),
  action: string('Noun and verb.', { examples: ['queue.hold'] }),
  target: string('What it concerned: a noun, with an id if there is one.'),
  target_name: Nullable(
    Type.String(),
    'Name of the target at that time, kept after deletion; null: unknown.',
  ),
  sentence: string('The entry as one English sentence. The wording may change.', {
    examples: ['ada@acme.com rotated DKIM for acme.com'],
  }),
  before: Type.Unknown({ description: 'State before the action; null: not applicable.' }),
  after: Type.Unknown({
    description: 'Result; null: unknown whether the action finished.',
  }),
  outcome: literals(
    ['done', 'refused', 'unknown'],
    'Whether the action succeeded. `unknown`: in progress, or interrupted.',
  ),
  details: record(Type.Unknown(), "The request's parameters."),
})
export type AuditEntry = Static<typeof AuditEntry>
export const AuditList = listOf(AuditEntry, 'audit log entries')

const operation = operationsIn('Audit log')

/** Maximum number of characters of a condition; an email address fits. */
const LONGEST = 320

const condition = (description: string) =>
  optional(string(description), (given, parameter) => {
    if (given === '' || given.length > LONGEST || given.includes('\0'))
      throw refuse('invalid_parameter', {
        parameter,
        expected: `a single string of at most ${LONGEST} characters`,
      })
    return given.trim()
  })

const conditions = {
  actor: condition('Only actions by this user, API key or account. Part of an address or a name is enough.'),
  action: condition('Only this action, such as `domain.update`, or all actions on a type, such as `domain`.'),
  target: condition('Only this target: a noun, an id, both, or part of a name.'),
  since: instant('Only entries at or after this time (ISO 8601).'),
  until: instant('Only entries before this time (ISO 8601).'),
}
/** The filter parameters in a request. */
export type AuditConditions = RawParameters<typeof conditions>

const FORMATS = ['csv', 'json'] as const

const format: Parameter<(typeof FORMATS)[number]> = {
  schema: Type.Unsafe({
    type: 'string',
    enum: FORMATS,
    default: 'csv',
    description: 'File format. Default: CSV.',
  }),
  read(given = 'csv', parameter) {
    const found = FORMATS.find((one) => one === given)
    if (found === undefined) throw refuse('invalid_parameter', { parameter, expected: 'csv or json' })
    return found
  },
}

export const listAudit = operation('GET /audit', {
  summary: 'List audit log entries',
  description: 'Newest first. The team that operates the server also sees actions on the whole server.',
  querystring: search({ ...conditions, ...page }),
  response: { 200: AuditList },
})
export const getAuditEntry = operation('GET /audit/:id', {
  summary: 'Get an audit log entry',
  params: byId,
  response: { 200: AuditEntry },
})
export const exportAudit = operation('GET /audit/export', {
  summary: 'Export the audit log',
  description: 'All matching entries, as CSV or as a JSON array.',
  querystring: search({ ...conditions, format }),
  response: { 200: nonJsonContent('text/csv', 'The entries, with a header row.') },
})

/** Formats the response of GET /audit/:id, and an element of the list. */
export function presentAuditEntry(entry: StoredAuditEntry): AuditEntry {
  return {
    object: 'audit_entry',
    id: entry.id,
    team_id: entry.teamId,
    at: timestamp(entry.at),
    actor: entry.actor,
    actor_kind: entry.actorKind,
    actor_name: entry.actorName,
    ip: entry.ip,
    action: entry.action,
    target: entry.target,
    target_name: entry.targetName ?? getTargetName(entry),
    sentence: describeAuditEntry(entry),
    before: entry.before,
    after: entry.after,
    outcome: outcomeOf(entry),
    details: entry.details,
  }
}

function outcomeOf({ after }: StoredAuditEntry): AuditEntry['outcome'] {
  if (after === null) return 'unknown'
  return typeof after === 'object' && 'refused' in after ? 'refused' : 'done'
}

/** The header row of an export. */
export const AUDIT_CSV_HEADER = formatCsvRecord([
  'at',
  'actor',
  'actor_kind',
  'ip',
  'action',
  'target',
  'outcome',
  'before',
  'after',
  'details',
  'team_id',
  'id',
  'sentence',
])

/** Formats an entry as a CSV row; objects become JSON. */
export function formatAuditRow(entry: StoredAuditEntry): string {
  const json = (value: unknown): string => (value === null ? '' : JSON.stringify(value))
  return formatCsvRecord([
    isoTimestamp(entry.at),
    entry.actor,
    entry.actorKind,
    entry.ip ?? '',
    entry.action,
    entry.target,
    outcomeOf(entry),
    json(entry.before),
    json(entry.after),
    json(entry.details),
    entry.teamId ?? '',
    entry.id,
    describeAuditEntry(entry),
  ])
}
