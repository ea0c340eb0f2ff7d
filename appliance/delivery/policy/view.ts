/** Looks up a domain's TLS policies to show them to people. */
import type { Answer, Resolver } from '../../dns/dns.ts'
import type { TlsHostView, TlsPolicyView } from '../../mail/tls-policy.ts'
import { parseTlsReportRecord } from '../../mail/tls-report.ts'
import type { TlsDecision, TlsPreference } from './requirement.ts'
import type { StsState } from './sts-cache.ts'

/** A domain's policies during one attempt. */
export interface DomainPolicy {
  /** A-labels, lower case. */
  domain: string
  /** Whether the MX answer, or its absence, was validated by a trusted resolver. */
  mxAuthentic: boolean
  sts: StsState
  /** Why DANE isn't used although the domain is signed; null otherwise. */
  note: string | null
}

export interface ViewDeps {
  resolver: Pick<Resolver, 'resolve'>
  trustAd: boolean
  policyFor: (domain: string, mxAnswerAuthentic: boolean) => Promise<DomainPolicy>
  decide: (policy: DomainPolicy, host: string, wish: TlsPreference) => Promise<TlsDecision>
}

const MOST_HOSTS = 10

/** Makes the same lookups as a delivery, without sending mail. */
export async function loadTlsPolicyView(domain: string, deps: ViewDeps): Promise<TlsPolicyView> {
  const { resolver, policyFor, decide, trustAd } = deps
  const troubles: string[] = []
  const answer = await resolver.resolve(domain, 'MX')
  if (answer.kind === 'failed') troubles.push(`The MX records could not be looked up: ${answer.note}`)
  if (answer.kind === 'absent' && answer.why === 'nxdomain') troubles.push('The domain does not exist.')
  const authentic = answer.kind !== 'failed' && answer.authentic
  const policy = await policyFor(domain, authentic)
  const { held, trouble } = policy.sts
  if (trouble) troubles.push(trouble.why)
  const exchangers = hostsOf(domain, answer)
  const hosts = await Promise.all(
    exchangers.slice(0, MOST_HOSTS).map(async ({ host, preference }) => {
      return { host, preference, ...present(await decide(policy, host, 'opportunistic')) }
    }),
  )
  const reports = await resolver.resolve(`_smtp._tls.${domain}`, 'TXT')
  const targets = parseTlsReportRecord(reports.kind === 'found' ? reports.records : [])
  if (targets.kind === 'invalid') troubles.push(`The TXT record _smtp._tls.${domain} ${targets.why}.`)
  return {
    domain,
    validating: trustAd,
    mxAuthentic: policy.mxAuthentic,
    troubles,
    hosts,
    mtaSts: held && { ...held.policy, id: held.id, fetchedAt: held.checkedAt, expiresAt: held.expiresAt },
    reportsTo: targets.kind === 'targets' ? targets.uris : [],
  }
}

function hostsOf(domain: string, answer: Answer<'MX'>): { host: string; preference: number | null }[] {
  if (answer.kind === 'absent' && answer.why === 'nodata') return [{ host: domain, preference: null }]
  if (answer.kind !== 'found') return []
  return answer.records
    .filter(({ exchange }) => exchange !== '' && exchange !== '.')
    .map(({ exchange, preference }) => ({ host: exchange.toLowerCase(), preference }))
    .sort((a, b) => a.preference - b.preference)
}

function present(demanded: TlsDecision): Pick<TlsHostView, 'tls' | 'why' | 'tlsa'> {
  const tlsa = demanded.policy.type === 'tlsa' ? demanded.policy.strings : []
  if (demanded.kind === 'skip') return { tls: 'skipped', why: demanded.why, tlsa }
  return { tls: demanded.demand.kind, why: demanded.note, tlsa }
}
