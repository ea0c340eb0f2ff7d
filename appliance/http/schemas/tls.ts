import { Type, type Static } from 'typebox'
import { TLS_LEVELS } from '../../mail/tls-policy.ts'
import { kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const texts = (description: string) => Type.Array(Type.String(), { description })

const TlsHost = Type.Object(
  {
    host: Type.String({ description: 'The mail exchanger.' }),
    preference: Nullable(Type.Integer(), { description: 'Of its MX record; null: the domain has none.' }),
    tls: literals(TLS_LEVELS, {
      description: 'What is demanded of a connection to it; `skipped`: mail does not go there.',
    }),
    why: Nullable(Type.String(), { description: 'Which policy demands it; null: none does.' }),
    tlsa: texts('The TLSA records that hold.'),
  },
  { description: 'What is demanded of TLS with a mail exchanger.' },
)

const MtaSts = Type.Object(
  {
    mode: literals(['enforce', 'testing', 'none'], { description: 'How seriously it is meant.' }),
    id: Type.String({ description: 'Its version, from DNS.' }),
    mx: texts('The mail exchangers that it names.'),
    max_age: Type.Integer({ description: 'Seconds for which it holds.' }),
    fetched_at: Timestamp,
    expires_at: Timestamp,
  },
  { description: 'An MTA-STS policy (RFC 8461).' },
)

/** GET /tls/policies/:domain. Ours. */
export const TlsPolicy = Type.Object(
  {
    object: kind('tls_policy'),
    domain: Type.String({ description: 'The recipient domain.' }),
    validating: Type.Boolean({
      description: 'Whether the resolver is trusted to validate DNSSEC (dns.trust_ad).',
    }),
    mx_authentic: Type.Boolean({
      description: 'Whether the MX records were validated: else there is no DANE.',
    }),
    mta_sts: Nullable(MtaSts, { description: 'The policy that holds; null: none.' }),
    troubles: texts('What is wrong with what the domain publishes.'),
    hosts: Type.Array(TlsHost, { description: 'Best first.' }),
    reports_to: texts('Where the domain wants reports about TLS.'),
  },
  { description: 'What a recipient domain demands of TLS.' },
)
export type TlsPolicy = Static<typeof TlsPolicy>

/** An element of GET /tls/results. Ours. */
export const TlsResult = Type.Object(
  {
    day: Type.String({ description: 'The day in UTC, as 2026-11-20.' }),
    domain: Type.String({ description: 'The recipient domain.' }),
    policy: literals(['sts', 'tlsa', 'no-policy-found'], { description: 'What kind of policy there was.' }),
    result: Type.String({ description: '`success`, or what failed (RFC 8460, section 4.3).' }),
    host: Nullable(Type.String(), { description: 'The mail exchanger; null: not told apart.' }),
    ip: Nullable(Type.String(), { description: 'Its address; null: not told apart.' }),
    source_ip: Nullable(Type.String(), { description: 'The address here; null: not told apart.' }),
    reason: Nullable(Type.String(), { description: 'In words; null: nothing failed.' }),
    sessions: Type.Integer({ description: 'How many sessions ended like this.' }),
  },
  { description: 'Sessions with a recipient domain that ended alike.' },
)
export type TlsResult = Static<typeof TlsResult>

export const TlsResultList = listOf(TlsResult, 'results of TLS')
