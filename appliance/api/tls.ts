import { Type, type Static } from 'typebox'
import { parseDomain } from '../mail/domain.ts'
import { refuse } from '../mail/refusals.ts'
import { TLS_LEVELS } from '../mail/tls-policy.ts'
import { kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { TlsCount } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { optional, path, pathText, query } from './parameters.ts'

const texts = (description: string) => Type.Array(Type.String(), { description })

const TlsHost = Type.Object(
  {
    host: Type.String({ description: 'The mail exchanger.' }),
    preference: Nullable(Type.Integer(), {
      description: 'Preference of its MX record; null: the domain has no MX records.',
    }),
    tls: literals(TLS_LEVELS, {
      description: 'TLS requirement for connections to it; `skipped`: no mail is sent there.',
    }),
    why: Nullable(Type.String(), { description: 'The policy that requires it; null: none.' }),
    tlsa: texts('The TLSA records that apply.'),
  },
  { description: 'TLS requirement of a mail exchanger.' },
)

const MtaSts = Type.Object(
  {
    mode: literals(['enforce', 'testing', 'none'], { description: 'Mode of the policy.' }),
    id: Type.String({ description: 'Its id, from DNS.' }),
    mx: texts('MX patterns of the policy.'),
    max_age: Type.Integer({ description: 'Validity in seconds.' }),
    fetched_at: Timestamp,
    expires_at: Timestamp,
  },
  { description: 'An MTA-STS policy (RFC 8461).' },
)

/** GET /tls/policies/:domain. Not part of the hosted API. */
export const TlsPolicy = Type.Object(
  {
    object: kind('tls_policy'),
    domain: Type.String({ description: 'The recipient domain.' }),
    validating: Type.Boolean({
      description: 'Whether the resolver is trusted to validate DNSSEC (dns.trust_ad).',
    }),
    mx_authentic: Type.Boolean({
      description: 'Whether the MX records are DNSSEC-validated, as DANE requires.',
    }),
    mta_sts: Nullable(MtaSts, { description: 'The policy in effect; null: none.' }),
    troubles: texts('Problems in what the domain publishes.'),
    hosts: Type.Array(TlsHost, { description: 'Most preferred first.' }),
    reports_to: texts('Report addresses of the domain.'),
  },
  { description: 'The TLS policy of a recipient domain.' },
)
export type TlsPolicy = Static<typeof TlsPolicy>

/** An element of GET /tls/results. Not part of the hosted API. */
export const TlsResult = Type.Object(
  {
    day: Type.String({ description: 'The day in UTC, such as 2026-11-20.' }),
    domain: Type.String({ description: 'The recipient domain.' }),
    policy: literals(['sts', 'tlsa', 'no-policy-found'], { description: 'Type of the policy.' }),
    result: Type.String({ description: '`success`, or the type of failure (RFC 8460, section 4.3).' }),
    host: Nullable(Type.String(), { description: 'The mail exchanger; null: several.' }),
    ip: Nullable(Type.String(), { description: 'Its IP address; null: several.' }),
    source_ip: Nullable(Type.String(), { description: 'The sending IP; null: several.' }),
    reason: Nullable(Type.String(), { description: 'Details; null: no failure.' }),
    sessions: Type.Integer({ description: 'Number of sessions with this result.' }),
  },
  { description: 'Sessions with a recipient domain that had the same result.' },
)
export type TlsResult = Static<typeof TlsResult>

export const TlsResultList = listOf(TlsResult, 'TLS results')

function readDomain(given: string, parameter: string): string {
  const domain = parseDomain(given)
  if (domain === undefined)
    throw refuse('invalid_parameter', { parameter, expected: 'a domain name such as example.com' })
  return domain
}

const operation = operationsIn('Service')

export const getTlsPolicy = operation('GET /tls/policies/:domain', {
  summary: 'Look up the TLS policy of a recipient domain',
  description:
    'DANE, MTA-STS and report addresses, looked up now; sends no mail. For the team that operates the server. Not part of the hosted API.',
  params: path({ domain: pathText('The recipient domain.', readDomain) }),
  response: { 200: TlsPolicy },
})
export const listTlsResults = operation('GET /tls/results', {
  summary: 'List TLS results',
  description:
    'Sessions with recipient domains by day and result, newest day first: the last seven days, at most 1000 rows. For the team that operates the server.',
  querystring: query({
    domain: optional(
      Type.String({ description: 'Only this recipient domain.', examples: ['customer.example'] }),
      readDomain,
    ),
  }),
  response: { 200: TlsResultList },
})

/** Formats the response of GET /tls/policies/:domain and `tls policy`. */
export function presentTlsPolicy(view: TlsPolicyView): TlsPolicy {
  const { mtaSts } = view
  return {
    object: 'tls_policy',
    domain: view.domain,
    validating: view.validating,
    mx_authentic: view.mxAuthentic,
    mta_sts: mtaSts && {
      mode: mtaSts.mode,
      id: mtaSts.id,
      mx: mtaSts.mx,
      max_age: mtaSts.maxAge,
      fetched_at: timestamp(mtaSts.fetchedAt),
      expires_at: timestamp(mtaSts.expiresAt),
    },
    troubles: view.troubles,
    hosts: view.hosts,
    reports_to: view.reportsTo,
  }
}

const orNull = (text: string): string | null => (text === '' ? null : text)

/** Formats an element of GET /tls/results. */
export function presentTlsResult(one: TlsCount): TlsResult {
  return {
    day: one.day,
    domain: one.domain,
    policy: one.policy.type,
    result: one.result,
    host: orNull(one.mxHost),
    ip: orNull(one.mxIp),
    source_ip: orNull(one.sourceIp),
    reason: orNull(one.reason),
    sessions: one.sessions,
  }
}
