/** Whether SPF lets a domain's mail come from an address, as a receiver evaluates it (RFC 7208 §4). */
import type { DNSResolver } from 'mailauth'
import { isIPv6 } from 'node:net'
import type { RecordType, Resolver } from '../dns/dns.ts'
import { OTHER_TEAMS, type Finding } from '../mail/finding.ts'
import { ofTeam, type OtherTeam } from './return-paths.ts'

/** A receiver's verdict: `pass`, `fail`, `softfail`, `neutral`, `none`, `temperror`, `permerror`. */
export interface SpfFacts {
  ip: string
  domain: string
  result: string
}

/** Our resolver in the manner of `node:dns`, as the evaluator wants it. */
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
  // Its types know strings only; MX records are objects all the same, as in node:dns.
  return lookup as DNSResolver
}

/** Evaluates the policy of a return-path domain for mail from `ip`. Never rejects for what DNS does. */
export async function askSpf(
  resolver: Pick<Resolver, 'resolve'>,
  args: { ip: string; domain: string; helo: string },
): Promise<SpfFacts> {
  // Loaded when it is first needed: few machines send over IPv6.
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

/** What a verdict means. */
export function judgeSpfOf({ ip, domain, result }: SpfFacts): Finding {
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
 * What it means of a domain that another team than the one which runs the appliance has. It decides nothing: with a record of
 * its own a team could take IPv6 away from all.
 */
export function judgeSpfOfOther(facts: SpfFacts, team: OtherTeam): Finding {
  const finding = judgeSpfOf(facts)
  return {
    ...finding,
    id: `${OTHER_TEAMS}${finding.id}`,
    title: `${finding.title} (${ofTeam(team)})`,
    status: finding.status === 'failed' ? 'warning' : finding.status,
    advice:
      finding.advice &&
      `The team must publish the SPF record that posthaste domain show --team ${team.id} prints. Until then, large providers may refuse its mail over IPv6.`,
  }
}

/**
 * What the verdicts on an EHLO name mean, one for each address that introduces itself by it. Receivers are advised to check it (RFC 7208 §2.3),
 * and of mail without a return path, such as delivery reports, there is no other (§2.4).
 */
export function judgeSpfOfHelo(name: string, facts: readonly SpfFacts[]): Finding {
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
