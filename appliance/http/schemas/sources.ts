import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

/** One thing that a self-check looked at. */
export const Finding = Type.Object(
  {
    id: Type.String({ description: 'Which check of what.', examples: ['ptr:192.0.2.1'] }),
    title: Type.String({
      description: 'What was looked at, for people.',
      examples: ['Reverse DNS of 192.0.2.1'],
    }),
    status: literals(['failed', 'warning', 'skipped', 'ok'], {
      description:
        'failed: mail suffers now · warning: mail may suffer · skipped: it could not be told, and `found` says why.',
    }),
    found: Type.String({
      description: 'What was found.',
      examples: ['192.0.2.1 is mail.acme.example, and back.'],
    }),
    advice: Nullable(Type.String(), { description: 'What to do; null where nothing is to be done.' }),
  },
  { description: 'One thing that a self-check looked at.' },
)
export type Finding = Static<typeof Finding>

const source = {
  ip: Type.String({
    description: 'An address of this machine; `auto` where the system chooses one.',
    examples: ['192.0.2.1'],
  }),
  pool: Type.String({ description: 'The pool that it belongs to.', examples: ['default'] }),
  hostname: Nullable(Type.String(), { description: "The EHLO name; null for the server's own." }),
  state: literals(['active', 'suspended'], { description: 'Nothing leaves from a suspended source.' }),
  state_reason: Nullable(Type.String(), { description: 'Why it is suspended; null: it is not.' }),
  suspended_by: Nullable(literals(['operator', 'check']), {
    description: 'What a check suspended it also takes back.',
  }),
  warm_up_since: Nullable(Timestamp, { description: 'When its warm-up began; null: it is warm.' }),
  origin: literals(['configuration', 'operator'], {
    description: 'configuration: it comes and goes with `delivery.source_ips`.',
  }),
  ipv6: Nullable(Type.Boolean(), {
    description:
      'Whether mail leaves over IPv6 from here: reverse DNS and SPF pass. Null: no IPv6, or unknown.',
  }),
  checks: Type.Array(Finding, { description: 'What the last self-check found.' }),
  checked_at: Nullable(Timestamp, { description: 'When that was; null: not yet.' }),
}

/** GET /sources/:ip, an element of GET /sources, and what changes answer. Ours. */
export const Source = Type.Object(
  { object: kind('source'), ...source },
  { description: 'An address that mail leaves from.' },
)
export type Source = Static<typeof Source>
export const SourceList = listOf(Source, 'source addresses')

const settings = {
  pool: Type.Optional(Type.String({ description: 'Small letters, digits, - and _.', examples: ['default'] })),
  hostname: Type.Optional(
    Nullable(Type.String({ examples: ['mail2.acme.example'] }), {
      description: "The EHLO name; null for the server's own.",
    }),
  ),
  warm_up: Type.Optional(
    Type.Boolean({ description: 'true: it begins with little mail · false: it is warm, no plan limits it.' }),
  ),
}
/** POST /sources */
export const CreateSource = Type.Object(
  {
    ip: Type.String({ description: 'An address of this machine.', examples: ['192.0.2.1'] }),
    ...settings,
  },
  { description: 'An address that mail is to leave from.' },
)
/** PATCH /sources/:ip */
export const UpdateSource = Type.Object(
  {
    ...settings,
    state: Type.Optional(
      literals(['active', 'suspended'], { description: 'Nothing leaves from a suspended source.' }),
    ),
  },
  { description: 'What to change; the rest stays.' },
)
/** DELETE /sources/:ip */
export const SourceDeleted = Type.Object(
  {
    object: kind('source'),
    ip: Type.String({ description: 'The address.', examples: ['192.0.2.1'] }),
    deleted: Deleted,
  },
  { description: 'The source that was removed.' },
)

const about = {
  team_id: Nullable(Id, { description: 'Null: of any team.' }),
  domain_id: Nullable(Id, { description: 'Null: from any domain.' }),
  stream: Nullable(literals(['transactional', 'broadcast']), { description: 'Null: both.' }),
}
/** Which mail goes through which pool: the most specific one counts, domain before team before stream. */
export const PoolAssignment = Type.Object(
  {
    object: kind('pool_assignment'),
    id: Id,
    ...about,
    pool: Type.String({ description: 'The pool that such mail leaves from.', examples: ['default'] }),
  },
  { description: 'Which mail goes through which pool.' },
)
export type PoolAssignment = Static<typeof PoolAssignment>
export const PoolAssignmentList = listOf(PoolAssignment, 'assignments')
/** POST /sources/assignments */
export const CreatePoolAssignment = Type.Object(
  {
    team_id: Type.Optional(Nullable(Type.String(), { description: 'The id of a team; null: of any.' })),
    domain_id: Type.Optional(Nullable(Type.String(), { description: 'The id of a domain; null: from any.' })),
    stream: Type.Optional(about.stream),
    pool: Type.String({ description: 'The pool that such mail is to leave from.', examples: ['default'] }),
  },
  { description: 'Which mail is to go through which pool.' },
)
/** DELETE /sources/assignments/:id */
export const PoolAssignmentDeleted = Type.Object(
  { object: kind('pool_assignment'), id: Id, deleted: Deleted },
  { description: 'The assignment that was removed.' },
)
