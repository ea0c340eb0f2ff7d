/** Evaluates SPF for a domain and an IP as a receiver does (RFC 7208 §4). */
import type { DNSResolver } from 'mailauth'
import { isIPv6 } from 'node:net'
import type { RecordType, Resolver } from '../dns/dns.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import { formatTeam, type OtherTeam } from './return-paths.ts'

/** The result: `pass`, `fail`, `softfail`, `neutral`, `none`, `temperror`, `permerror` (RFC 7208 §2.6). */
export interface SpfFacts {
  ip: string
  domain: string
  result: string
}

/** Adapts the resolver to the interface of `node:dns`, which the evaluator expects. */
function asNodeDns(resolver: Pick<Resolver, 'resolve'>): DNSResolver {
  const wrong = (code: string, name: string): Error => Object.assign(new Error(`${code} ${name}`), { code })
  const TYPES = new Set<string>(['A', 'AAAA', 'MX', 'TXT', 'PTR'] satisfies RecordType[])
  const lookup = async (name: string, type: string): Promise<unknown[]> => {
    if (!TYPES.has(type)) throw wrong('ENODATA', name)
    const answer = await resolver.resolve(name, type as RecordType)
    if (answer.kind === 'failed') throw wrong('ESERVFAIL', name)
    if (answer.kind === 'absent') throw wrong(answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA', name)
    return answer.records.map((record) => {
      if (typeof record === 'string') return type === 'TXT' ? [record] : record
      return 'exchange' in record ? { priority: record.preference, exchange: record.exchange } : record
    })
  }
  // The type allows strings only, but MX records are objects, as in node:dns.
  return lookup as DNSResolver
}

/** Evaluates the policy of a return-path domain for mail from `ip`. Never rejects because of DNS. */
export async function evaluateSpf(
  resolver: Pick<Resolver, 'resolve'>,
  args: { ip: string; domain: string; helo: string },
): Promise<SpfFacts> {
  // Load it on first use, because few machines send over IPv6.
  const { spf } = await import('mailauth/lib/spf/index.js')
  const { ip, domain, helo } = args
  const { status } = await spf({
    ip,
    helo,
    sender: `postmaster@${domain}`,
    mta: helo,
    resolver: asNodeDns(resolver),
  })
  return { ip, domain, result: status.result }
}

/** Converts a result to a finding. */
export function explainSpf({ ip, domain, result }: SpfFacts): Finding {
  const about = { id: `spf:${ip}:${domain}`, title: `SPF of ${domain} for ${ip}` }
  if (result === 'pass')
    return { ...about, status: 'ok', found: `${domain} allows mail from ${ip}.`, advice: null }
  if (result === 'temperror')
    return {
      ...about,
      status: 'skipped',
      found: `The DNS lookup for the SPF record of ${domain} failed.`,
      advice: null,
    }
  return {
    ...about,
    status: 'failed',
    found: `SPF of ${domain} does not allow mail from ${ip} (${result}).`,
    advice: `Publish the SPF record that posthaste domain show prints. It must cover ${ip}.`,
  }
}

/**
 * Converts a result for a domain of another team to a finding. It has no effect on IPv6, because a team could otherwise
 * disable IPv6 for everyone with its own record.
 */
export function explainOtherTeamSpf(facts: SpfFacts, team: OtherTeam): Finding {
  const finding = explainSpf(facts)
  return {
    ...finding,
    id: `${OTHER_TEAMS}${finding.id}`,
    title: `${finding.title} (${formatTeam(team)})`,
    status: finding.status === 'failed' ? 'warning' : finding.status,
    advice:
      finding.advice &&
      `The team must publish the SPF record that posthaste domain show --team ${team.id} prints. Until then, large providers may refuse its mail over IPv6.`,
  }
}

/**
 * Converts the results for an EHLO name, one per IP that uses it, to a finding. Receivers are advised to check this
 * name (RFC 7208 §2.3). For mail with an empty reverse-path, such as bounces, it is the only identity (§2.4).
 */
export function explainHeloSpf(name: string, facts: readonly SpfFacts[]): Finding {
  const about = { id: `spf-helo:${name}`, title: `SPF of the EHLO name ${name}` }
  const publish = `Publish a TXT record at ${name}: v=spf1 a ${facts.map(({ ip }) => mechanism(ip)).join(' ')} -all`
  if (facts.some(({ result }) => result === 'temperror'))
    return {
      ...about,
      status: 'skipped',
      found: `The DNS lookup for the SPF record of ${name} failed.`,
      advice: null,
    }
  if (facts.every(({ result }) => result === 'none'))
    return {
      ...about,
      status: 'ok',
      found: `${name} has no SPF record. Publishing one is recommended.`,
      advice: publish,
    }
  const bad = facts.filter(({ result }) => result !== 'pass')
  if (bad.length === 0)
    return { ...about, status: 'ok', found: `${name} allows mail from this machine.`, advice: null }
  const which = bad.map(({ ip, result }) => `${ip} (${result})`).join(', ')
  return {
    ...about,
    status: 'warning',
    found: `SPF of ${name} does not allow mail from ${which}.`,
    advice: publish,
  }
}

const mechanism = (ip: string): string => (isIPv6(ip) ? `ip6:${ip}` : `ip4:${ip}`)
