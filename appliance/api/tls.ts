import { Type, type Static } from 'typebox'
import { parseDomain } from '../mail/domain.ts'
import { refuse } from '../mail/refusals.ts'
import { TLS_LEVELS } from '../mail/tls-policy.ts'
import { array, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { listOf, Timestamp } from './shared.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { TlsCount } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { optional, path, pathText, query } from './parameters.ts'

const texts = (description: string) => array(Type.String(), description)

const TlsHost = object('TLS requirement of a mail exchanger.', {
  host: string('The mail exchanger.'),
  preference: Nullable(Type.Integer(), 'Preference of its MX record; null: the domain has no MX records.'),
  tls: literals(TLS_LEVELS, 'TLS requirement for connections to it; `skipped`: no mail is sent there.'),
  why: Nullable(Type.String(), 'The policy that requires it; null: none.'),
  tlsa: texts('The TLSA records that apply.'),
})

const MtaSts = object('An MTA-STS policy (RFC 8461).', {
  mode: literals(['enforce', 'testing', 'none'], 'Mode of the policy.'),
  id: string('Its id, from DNS.'),
  mx: texts('MX patterns of the policy.'),
  max_age: integer('Validity in seconds.'),
  fetched_at: Timestamp,
  expires_at: Timestamp,
})

/** GET /tls/policies/:domain. Not part of the hosted API. */
export const TlsPolicy = object('The TLS policy of a recipient domain.', {
  object: kind('tls_policy'),
  domain: string('The recipient domain.'),
  validating: boolean('Whether the resolver is trusted to validate DNSSEC (dns.trust_ad).'),
  mx_authentic: boolean('Whether the MX records are DNSSEC-validated, as DANE requires.'),
  mta_sts: Nullable(MtaSts, 'The policy in effect; null: none.'),
  troubles: texts('Problems in what the domain publishes.'),
  hosts: array(TlsHost, 'Most preferred first.'),
  reports_to: texts('Report addresses of the domain.'),
})
export type TlsPolicy = Static<typeof TlsPolicy>

/** An element of GET /tls/results. Not part of the hosted API. */
export const TlsResult = object('Sessions with a recipient domain that had the same result.', {
  day: string('The day in UTC, such as 2026-11-20.'),
  domain: string('The recipient domain.'),
  policy: literals(['sts', 'tlsa', 'no-policy-found'], 'Type of the policy.'),
  result: string('`success`, or the type of failure (RFC 8460, section 4.3).'),
  host: Nullable(Type.String(), 'The mail exchanger; null: several.'),
  ip: Nullable(Type.String(), 'Its IP address; null: several.'),
  source_ip: Nullable(Type.String(), 'The sending IP; null: several.'),
  reason: Nullable(Type.String(), 'Details; null: no failure.'),
  sessions: integer('Number of sessions with this result.'),
})
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
    domain: optional(string('Only this recipient domain.', { examples: ['customer.example'] }), readDomain),
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
