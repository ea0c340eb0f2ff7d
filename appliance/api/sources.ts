import { Type, type Static } from 'typebox'
import {
  array,
  boolean,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { OTHER_TEAMS, type Finding as StoredFinding } from '../mail/finding.ts'
import type { Assignment, Source as StoredSource } from '../mail/source.ts'
import { timestampOrNull } from './timestamp.ts'
import type { PoolView } from '../mail/region.ts'
import { operationsIn } from './operation.ts'
import { byId, path, pathText } from './parameters.ts'

/** The result of a check. */
export const Finding = object('A finding of a self-check.', {
  id: string('The check, and what it checked.', { examples: ['ptr:192.0.2.1'] }),
  title: string('What was checked, as text.', { examples: ['Reverse DNS of 192.0.2.1'] }),
  status: literals(
    ['failed', 'warning', 'skipped', 'ok'],
    'failed: mail is affected now · warning: mail may be affected · skipped: could not be checked; see `found`.',
  ),
  found: string('What was found.', {
    examples: ['192.0.2.1 resolves to mail.acme.example, and mail.acme.example resolves to 192.0.2.1.'],
  }),
  advice: Nullable(Type.String(), 'How to fix it; null: nothing to do.'),
})
export type Finding = Static<typeof Finding>

const source = {
  ip: string('An IP address of this machine; `auto` if the system chooses.', { examples: ['192.0.2.1'] }),
  pool: string('Its pool.', { examples: ['default'] }),
  hostname: Nullable(Type.String(), "The EHLO name; null: the server's hostname."),
  state: literals(['active', 'suspended'], 'No mail is sent from a suspended IP.'),
  state_reason: Nullable(Type.String(), 'Why it is suspended; null: not suspended.'),
  suspended_by: Nullable(
    literals(['operator', 'check']),
    'Who suspended it. An IP suspended by a check resumes automatically.',
  ),
  warm_up_since: Nullable(Timestamp, 'Start of the warm-up; null: not warming up.'),
  origin: literals(['configuration', 'operator'], 'configuration: managed by `delivery.source_ips`.'),
  ipv6: Nullable(
    Type.Boolean(),
    'Whether mail is sent over IPv6: reverse DNS and SPF pass. Null: no IPv6, or unknown.',
  ),
  checks: array(Finding, 'Results of the last check.'),
  checked_at: Nullable(Timestamp, 'Time of the last check; null: not checked yet.'),
}

/** GET /sources/:ip, an element of GET /sources, and the response to changes. Not part of the hosted API. */
export const Source = object('A sending IP.', { object: kind('source'), ...source })
export type Source = Static<typeof Source>
export const SourceList = listOf(Source, 'sending IPs')

const settings = {
  pool: Type.Optional(string('Lowercase letters, digits, - and _.', { examples: ['default'] })),
  hostname: optionalOrNull(
    Type.String({ examples: ['mail2.acme.example'] }),
    "The EHLO name; null: the server's hostname.",
  ),
  warm_up: Type.Optional(boolean('true: start the warm-up with a low daily limit · false: end the warm-up.')),
}
export const CreateSource = object('A sending IP to add.', {
  ip: string('An IP address of this machine.', { examples: ['192.0.2.1'] }),
  ...settings,
})
export const UpdateSource = object('The settings to change. Others stay the same.', {
  ...settings,
  state: Type.Optional(literals(['active', 'suspended'], 'No mail is sent from a suspended IP.')),
})
export const SourceDeleted = object('The removed sending IP.', {
  object: kind('source'),
  ip: string('The IP address.', { examples: ['192.0.2.1'] }),
  deleted: Deleted,
})

const about = {
  team_id: Nullable(Id, 'Null: any team.'),
  domain_id: Nullable(Id, 'Null: any domain.'),
  stream: Nullable(literals(['transactional', 'broadcast']), 'Null: both.'),
}
/** Assigns mail to a pool. The most specific assignment applies: domain before team before stream. */
export const PoolAssignment = object('A pool assignment.', {
  object: kind('pool_assignment'),
  id: Id,
  ...about,
  pool: string('The pool.', { examples: ['default'] }),
})
export type PoolAssignment = Static<typeof PoolAssignment>
export const PoolAssignmentList = listOf(PoolAssignment, 'assignments')
export const CreatePoolAssignment = object('A pool assignment to create.', {
  team_id: optionalText('The id of a team; null: any.'),
  domain_id: optionalText('The id of a domain; null: any.'),
  stream: Type.Optional(about.stream),
  pool: string('The pool.', { examples: ['default'] }),
})
export const PoolAssignmentDeleted = object('The removed pool assignment.', {
  object: kind('pool_assignment'),
  id: Id,
  deleted: Deleted,
})

export const Pool = object('A pool of sending IPs.', {
  object: kind('pool'),
  name: string('The pool.', { examples: ['default'] }),
  region: Nullable(
    Type.String({ examples: ['eu-west-1'] }),
    'The region it is in. Mail of domains in this region is sent from it. Null: none.',
  ),
  sources: array(Type.String(), 'Its sending IPs, or `auto`.'),
})
export type Pool = Static<typeof Pool>
export const PoolList = listOf(Pool, 'pools', 'All pools, by name.')
export const UpdatePool = object('The region of the pool.', {
  region: Nullable(Type.String(), {
    description: 'A region of the hosted API, or a name of your own; null: none.',
    examples: ['eu-west-1'],
  }),
})

const operation = operationsIn('Sources')

/** A sending IP as a path parameter. */
export const sourceIp = pathText('The IP address, or `auto`.')

export const listSources = operation('GET /sources', {
  summary: 'List sending IPs',
  description:
    'With the results of the last check. For the team that operates the server. Not part of the hosted API.',
  response: { 200: SourceList },
})
export const createSource = operation('POST /sources', {
  summary: 'Add a sending IP',
  description:
    'Must be an address of this machine. The SPF records of all domains must include it; their checks report it if not.',
  body: CreateSource,
  response: { 201: Source },
  errors: ['409'],
})
export const getSourceAddress = operation('GET /sources/:ip', {
  summary: 'Get a sending IP',
  params: path({ ip: sourceIp }),
  response: { 200: Source },
})
export const updateSource = operation('PATCH /sources/:ip', {
  summary: 'Change a sending IP',
  description: 'Change its pool, EHLO name, warm-up or state.',
  params: path({ ip: sourceIp }),
  body: UpdateSource,
  response: { 200: Source },
})
export const deleteSource = operation('DELETE /sources/:ip', {
  summary: 'Remove a sending IP',
  description: 'If it comes from the configuration, remove it there.',
  params: path({ ip: sourceIp }),
  response: { 200: SourceDeleted },
  errors: ['409'],
})
export const listPools = operation('GET /sources/pools', {
  summary: 'List pools',
  description: 'With their regions and sending IPs.',
  response: { 200: PoolList },
})
export const updatePool = operation('PATCH /sources/pools/:pool', {
  summary: 'Change the region of a pool',
  description:
    "Mail of a domain is sent from a pool in the domain's region. Queued mail stays in its pool. Domains can choose the regions of pools in addition to those of the hosted API.",
  params: path({ pool: pathText('The pool.') }),
  body: UpdatePool,
  response: { 200: Pool },
})
export const listPoolAssignments = operation('GET /sources/assignments', {
  summary: 'List pool assignments',
  response: { 200: PoolAssignmentList },
})
export const createPoolAssignment = operation('POST /sources/assignments', {
  summary: 'Assign mail to a pool',
  description:
    'Missing or null fields match anything. The most specific assignment applies: domain before team before stream. Assigning the same mail again replaces its pool.',
  body: CreatePoolAssignment,
  response: { 201: PoolAssignment },
})
export const deletePoolAssignment = operation('DELETE /sources/assignments/:id', {
  summary: 'Remove a pool assignment',
  params: byId,
  response: { 200: PoolAssignmentDeleted },
})

export const presentFinding = ({ id, title, status, found, advice }: StoredFinding): Finding => ({
  id,
  title,
  status,
  found,
  advice,
})

/**
 * Formats the response of GET /sources/:ip and an element of the list. Only the command line shows other teams'
 * domains.
 */
export function presentSource(source: StoredSource): Source {
  return {
    object: 'source',
    ip: source.ip,
    pool: source.pool,
    hostname: source.hostname,
    state: source.state,
    state_reason: source.stateReason,
    suspended_by: source.suspendedBy,
    warm_up_since: timestampOrNull(source.warmUpSince),
    origin: source.origin,
    ipv6: source.health?.ipv6 ?? null,
    checks: (source.health?.findings ?? [])
      .filter(({ id }) => !id.startsWith(OTHER_TEAMS))
      .map(presentFinding),
    checked_at: timestampOrNull(source.checkedAt),
  }
}

/** Formats an element of GET /sources/pools. */
export const presentPool = ({ name, region, sources }: PoolView): Pool => ({
  object: 'pool',
  name,
  region,
  sources,
})

/** Formats an element of GET /sources/assignments. */
export function presentAssignment({ id, teamId, domainId, stream, pool }: Assignment): PoolAssignment {
  return { object: 'pool_assignment', id, team_id: teamId, domain_id: domainId, stream, pool }
}
