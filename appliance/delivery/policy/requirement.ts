/** Decides the TLS requirement for a host: DANE, then MTA-STS, then the sender's preference. Pure. */
import type { ReportedPolicy, StsPolicy } from '../../storage/storage.ts'
import type { TlsDemand, TlsResultType } from '../tls-demand.ts'
import { presentTlsa, formatTlsaShort } from './dane.ts'
import type { StsState } from './sts-cache.ts'
import { findMatchingMx, formatStsPolicyLines } from './sts.ts'
import type { DaneState } from './tlsa.ts'
import type { RequireTls } from '../../mail/tls-policy.ts'

/**
 * The sender's TLS preference. unimportant: `TLS-Required: No`, deliver whatever the receiver's policies say (RFC 8689
 * §4.2.2) · opportunistic: TLS if available · enforced: the sending domain's `tls: enforced` · requiretls: REQUIRETLS
 * (RFC 8689 §4.2.1).
 */
export type TlsPreference = 'unimportant' | 'opportunistic' | 'enforced' | 'requiretls'

/**
 * Combines the settings of the message and its domain. The message's setting takes precedence, whether it is stricter
 * or weaker (RFC 8689 §4.2).
 */
export function resolveTlsPreference(
  requireTls: RequireTls,
  setting: 'opportunistic' | 'enforced',
): TlsPreference {
  if (requireTls === 'yes') return 'requiretls'
  if (requireTls === 'no') return 'unimportant'
  return setting
}

/** The known facts about the receiver and one of its hosts. */
export interface HostFacts {
  /** The recipient domain. */
  domain: string
  host: string
  dane: DaneState
  sts: StsState
}

/**
 * demand: the requirement · skip: don't use this host, with a sentence. `policy` is the policy in TLS reports;
 * `testing`: an MTA-STS policy that is only monitored, with the pattern that the host matches. `note` is for the
 * transcript, null when no policy applies.
 */
export type TlsDecision = { policy: ReportedPolicy; note: string | null } & (
  | { kind: 'demand'; demand: TlsDemand; watched: MonitoredFailure | null }
  | { kind: 'skip'; why: string; resultType: TlsResultType }
)

/**
 * A failure that doesn't block delivery: a violation of a policy in testing mode, or a policy that couldn't be fetched.
 */
export type MonitoredFailure =
  { testing: true; mismatch: string | null } | { resultType: TlsResultType; why: string }

/** Combines all policies. DANE takes precedence over MTA-STS, which must not weaken it (RFC 8461 §2). */
export function decideTls(facts: HostFacts, wish: TlsPreference): TlsDecision {
  const { dane, domain, host } = facts
  if (wish === 'unimportant')
    return { ...none(domain), kind: 'demand', demand: { kind: 'opportunistic' }, watched: null }
  if (dane.kind === 'failed')
    return {
      kind: 'skip',
      why: dane.why,
      resultType: 'dnssec-invalid',
      policy: tlsaPolicy(dane.base, []),
      note: dane.why,
    }
  const requireTls = wish === 'requiretls'
  if (dane.kind === 'records') {
    const { base, records } = dane
    const names = [...new Set([base, host, domain])]
    const why = `DANE: ${base} has TLSA records.`
    const note = `DANE: TLSA of ${base}: ${records.map(formatTlsaShort).join(', ')}`
    const policy = tlsaPolicy(base, records.map(presentTlsa))
    return {
      kind: 'demand',
      demand: { kind: 'dane', why, records, names, requireTls },
      watched: null,
      policy,
      note,
    }
  }
  const rest = demandWithoutDane(facts, wish)
  return dane.kind === 'unusable' ? atLeastEncrypted(rest, dane) : rest
}

const none = (domain: string): { policy: ReportedPolicy; note: null } => ({
  policy: { type: 'no-policy-found', domain, strings: [], mxHosts: [] },
  note: null,
})

const tlsaPolicy = (domain: string, strings: string[]): ReportedPolicy => ({
  type: 'tlsa',
  domain,
  strings,
  mxHosts: [],
})

/** Requires at least TLS, because unusable TLSA records still say that TLS is available (RFC 7672 §2.2). */
function atLeastEncrypted(
  rest: TlsDecision,
  { base, records }: DaneState & { kind: 'unusable' },
): TlsDecision {
  if (rest.kind === 'skip' || rest.demand.kind !== 'opportunistic') return rest
  const why = `DANE: ${base} has TLSA records, but none of a supported type.`
  const policy = tlsaPolicy(base, records.map(presentTlsa))
  return { kind: 'demand', demand: { kind: 'encrypted', why }, watched: null, policy, note: why }
}

/** Combines MTA-STS with the sender's preference. */
function demandWithoutDane({ domain, host, sts }: HostFacts, wish: TlsPreference): TlsDecision {
  const held = sts.held?.policy
  if (held?.mode === 'enforce') return enforced(domain, host, held, wish)
  const demand = wished(wish)
  if (held?.mode === 'testing') {
    const pattern = findMatchingMx(held, host)
    const mismatch = pattern === undefined ? `${host} is not in the MTA-STS policy of ${domain}` : null
    const note = `MTA-STS testing: ${host} ${pattern === undefined ? 'matches no mx of the policy; used anyway' : `matches ${pattern}`}`
    return {
      kind: 'demand',
      demand,
      watched: { testing: true, mismatch },
      policy: stsPolicy(domain, held),
      note,
    }
  }
  if (sts.trouble) {
    const policy: ReportedPolicy = { type: 'sts', domain, strings: [], mxHosts: [] }
    return { kind: 'demand', demand, watched: sts.trouble, policy, note: sts.trouble.why }
  }
  return { ...none(domain), kind: 'demand', demand, watched: null }
}

function stsPolicy(domain: string, policy: StsPolicy): ReportedPolicy {
  return { type: 'sts', domain, strings: formatStsPolicyLines(policy), mxHosts: policy.mx }
}

/**
 * Applies an enforced policy: hosts that it doesn't name are skipped, the others need a valid certificate (RFC 8461
 * §4.1, §5).
 */
function enforced(domain: string, host: string, held: StsPolicy, wish: TlsPreference): TlsDecision {
  const policy = stsPolicy(domain, held)
  const pattern = findMatchingMx(held, host)
  if (pattern === undefined) {
    const why = `${host} is an MX of ${domain}, but its MTA-STS policy does not list it (${held.mx.slice(0, 5).join(', ')}).`
    return { kind: 'skip', why, resultType: 'validation-failure', policy, note: `MTA-STS enforce: ${why}` }
  }
  const why = `MTA-STS: ${domain} enforces valid certificates.`
  const demand: TlsDemand = { kind: 'verified', why, requireTls: wish === 'requiretls' }
  return {
    kind: 'demand',
    demand,
    watched: null,
    policy,
    note: `MTA-STS enforce: ${host} matches ${pattern}`,
  }
}

function wished(wish: TlsPreference): TlsDemand {
  if (wish === 'requiretls')
    return { kind: 'verified', why: 'The sender requires TLS (REQUIRETLS).', requireTls: true }
  if (wish === 'enforced')
    return { kind: 'encrypted', why: 'The sending domain requires TLS (tls: enforced).' }
  return { kind: 'opportunistic' }
}
