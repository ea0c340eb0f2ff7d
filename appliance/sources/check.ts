/**
 * Checks a sending IP: whether it belongs to this machine, its reverse DNS, blocklists and SPF. Then decides whether to
 * use it.
 */
import { lookUpPtr } from '../dns/reverse.ts'
import type { Blocklist } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'
import { AUTO_IP, isUsable, selectUsableSources, type Source, type SourceHealth } from '../mail/source.ts'
import {
  getFamily,
  lookUpHost,
  determineVisibleAddresses,
  type HostAnswers,
  type VisibleAddress,
} from './addresses.ts'
import { queryBlocklist, evaluateListing } from './blocklist.ts'
import { evaluatePtr } from './ptr.ts'
import type { ReturnPath } from './return-paths.ts'
import { evaluateSpf, explainSpf, explainOtherTeamSpf } from './spf.ts'

/** Dependencies of a check. */
export interface SourceCheckDeps {
  resolver: Pick<Resolver, 'resolve'>
  blocklists: readonly Blocklist[]
  /** The server's EHLO name. */
  hostname: string
  /** Domains of the envelope senders. */
  returnPaths: readonly ReturnPath[]
  /** Returns the machine's own IPs. */
  local: () => string[]
  /** Whether an IP is publicly routable. */
  isPublic: (ip: string) => boolean
  /** Returns why the IP can't be used; null if it belongs to this machine. */
  probe: (ip: string) => Promise<string | null>
}

/** Runs all checks of a sending IP. Network errors don't make it reject. */
export async function checkSource(
  source: Pick<Source, 'ip' | 'hostname'>,
  deps: SourceCheckDeps,
): Promise<SourceHealth> {
  const helo = source.hostname ?? deps.hostname
  const host = await lookUpHost(deps.resolver, helo)
  const seen = determineVisibleAddresses(source.ip, host, deps.local(), deps.isPublic)
  const [here, ...others] = await Promise.all([
    lookForAddress(source.ip, deps),
    ...seen.map((address) => lookAtAddress(address, helo, deps)),
  ])
  const findings = [...here, ...others.flat()]
  if (seen.length === 0) findings.push(unseen(source.ip, host))
  return { findings, ipv6: judgeIpv6(source.ip, seen, findings) }
}

async function lookForAddress(ip: string, { probe }: SourceCheckDeps): Promise<Finding[]> {
  if (ip === AUTO_IP) return []
  const about = { id: `here:${ip}`, title: `Sending IP ${ip}` }
  const why = await probe(ip)
  if (why === null)
    return [{ ...about, status: 'ok', found: `${ip} is an address of this machine.`, advice: null }]
  const advice = `Add ${ip} to a network interface, or remove it: from delivery.source_ips, or with posthaste source remove ${ip}.`
  return [{ ...about, status: 'failed', found: `${why}.`, advice }]
}

async function lookAtAddress(seen: VisibleAddress, helo: string, deps: SourceCheckDeps): Promise<Finding[]> {
  const { resolver, blocklists, returnPaths } = deps
  const { ip, family } = seen
  const lists = blocklists.filter((list) => list.lists === 'addresses')
  const [ptr, listings, policies] = await Promise.all([
    lookUpPtr(resolver, ip),
    Promise.all(lists.map((list) => queryBlocklist(resolver, list, ip))),
    family === 6 ? Promise.all(returnPaths.map((path) => lookAtPolicy(path, { ip, helo, resolver }))) : [],
  ])
  return [evaluatePtr(ptr, helo), ...listings.map(evaluateListing), ...policies]
}

async function lookAtPolicy(
  { domain, otherTeam }: ReturnPath,
  { ip, helo, resolver }: { ip: string; helo: string } & Pick<SourceCheckDeps, 'resolver'>,
): Promise<Finding> {
  const facts = await evaluateSpf(resolver, { ip, domain, helo })
  return otherTeam === null ? explainSpf(facts) : explainOtherTeamSpf(facts, otherTeam)
}

/** Returns the finding for a private IP whose public IP is unknown. */
function unseen(ip: string, { name }: HostAnswers): Finding {
  const what = ip === AUTO_IP ? 'This machine' : ip
  return {
    id: `seen:${ip}`,
    title: `Public address of ${ip === AUTO_IP ? 'this machine' : ip}`,
    status: 'skipped',
    found: `${what} has no public address, and ${name} resolves to none. Posthaste cannot tell which address receivers see, so it did not check reverse DNS and blocklists.`,
    advice: `Behind a router (NAT), publish the router's public address for ${name}.`,
  }
}

/**
 * Returns whether to send over IPv6, based on PTR and SPF, because large receivers refuse mail that lacks either. An IP
 * that is visible only in the local network may be used.
 */
function judgeIpv6(
  ip: string,
  seen: readonly VisibleAddress[],
  findings: readonly Finding[],
): boolean | null {
  const six = seen.filter(({ family }) => family === 6)
  if (six.length === 0) return ip !== AUTO_IP && getFamily(ip) === 6 ? true : null
  const deciding = findings.filter(({ id }) => six.some((one) => decidesIpv6(id, one.ip)))
  if (deciding.some(({ status }) => status === 'failed')) return false
  return deciding.some(({ status }) => status === 'skipped') ? null : true
}

const decidesIpv6 = (id: string, ip: string): boolean => id === `ptr:${ip}` || id.startsWith(`spf:${ip}:`)

/**
 * Merges results. If DNS gave no answer, the previous result is kept. Otherwise, a name server that is down for an hour
 * would put a listed IP back into use, or suspend a good one.
 */
export function mergeHealth(before: SourceHealth | null, now: SourceHealth, ip: string): SourceHealth {
  const findings = now.findings.map((finding) => {
    if (finding.status !== 'skipped') return finding
    const known = before?.findings.find(({ id }) => id === finding.id)
    return known && known.status !== 'skipped' ? known : finding
  })
  if (now.ipv6 !== null) return { findings, ipv6: now.ipv6 }
  const six = findings.flatMap(({ id }) => /^ptr:(.*:.*)$/.exec(id)?.[1] ?? [])
  const seen = six.map((one): VisibleAddress => ({ ip: one, family: 6, behind: null }))
  return { findings, ipv6: judgeIpv6(ip, seen, findings) ?? null }
}

/** The state of a sending IP that a check determines. */
export type SourceState = Pick<Source, 'state' | 'stateReason' | 'suspendedBy'>

/**
 * Decides whether to use a sending IP. If an operator suspended it, it stays suspended. A listed IP is suspended only
 * while another one can take over, because mail that some receivers refuse is better than mail that waits for all of
 * them.
 * @param others the current state of all other sending IPs
 */
export function decideState(source: Source, health: SourceHealth, others: readonly Source[]): SourceState {
  const { ip, state, stateReason, suspendedBy, pool } = source
  if (suspendedBy === 'operator') return { state, stateReason, suspendedBy }
  const suspended = (why: Finding): SourceState => ({
    state: 'suspended',
    stateReason: why.found,
    suspendedBy: 'check',
  })
  const failed = health.findings.filter((finding) => finding.status === 'failed')
  const gone = failed.find(({ id }) => id === `here:${ip}`)
  if (gone) return suspended(gone)
  const unfit = failed.find(({ id }) => decidesIpv6(id, ip))
  if (unfit && getFamily(ip) === 6) return suspended(unfit)
  const listed = failed.find(({ id }) => id.startsWith('blocklist:'))
  const family = ip === AUTO_IP ? 4 : getFamily(ip)
  if (listed && selectUsableSources(others, pool, family).some((one) => isUsable(one, family)))
    return suspended(listed)
  return { state: 'active', stateReason: null, suspendedBy: null }
}
