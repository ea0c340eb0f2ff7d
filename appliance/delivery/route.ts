import { isIP } from 'node:net'
import type { RecordData } from '../dns/dns.ts'
import type { Exchanger } from '../shaping/shaping.ts'
import { type HostLookup, type Host, type HostDeps, lookUpHost, shuffle, selectAddresses } from './hosts.ts'
import type { Failure } from './outcome.ts'
import type { Recorder } from './recorder.ts'

/** The hosts to try, best first, or the reason why there are none. */
export type Route =
  | {
      kind: 'found'
      hosts: Host[]
      /** Names and preferences from DNS, including hosts without an IP. They identify the provider. */
      best: Exchanger[]
      /** Whether a validating resolver authenticated the MX answer, or its absence. */
      authentic: boolean
    }
  | { kind: 'failed'; failure: Failure }

export interface RouteDeps extends HostDeps {
  /** Our own name. Mail that would loop back to us isn't sent (RFC 5321 §5.1), unless its domain receives here. */
  hostname: string
  /** Whether a domain receives here. Default: none does. */
  receives?: (domain: string) => Promise<boolean>
}

/**
 * Maximum numbers of hosts and IPs per attempt, so that a domain's records can't cause an unlimited number of lookups
 * and connections.
 */
const MOST_HOSTS = 10
const MOST_ADDRESSES = 20

type Mx = RecordData['MX']

function failed(kind: Failure['kind'], note: string, status?: string): { kind: 'failed'; failure: Failure } {
  const failure: Failure = { kind, phase: 'route', host: null, ip: null, reply: null, note }
  return { kind: 'failed', failure: status === undefined ? failure : { ...failure, status } }
}

/** Finds the mail exchangers of a domain (RFC 5321 §5.1, RFC 7505), or of an address literal (§4.1.3). */
export async function findRoute(domain: string, recorder: Recorder, deps: RouteDeps): Promise<Route> {
  if (domain.startsWith('[')) return literal(domain, deps)
  const step = recorder.begin('resolve', { host: null, ip: null }, `MX ${domain}`)
  const answer = await deps.resolver.resolve(domain, 'MX')
  if (answer.kind === 'failed') {
    step.end({ note: answer.note })
    return failed('dns', `The MX records of ${domain} could not be looked up: ${answer.note}`)
  }
  if (answer.kind === 'absent' && answer.why === 'nxdomain') {
    step.end({ note: 'The name does not exist.' })
    return failed('no-route', `The domain ${domain} does not exist.`, '5.1.2')
  }
  const { authentic } = answer
  if (answer.kind === 'absent') step.end({ note: 'No MX records: the domain itself is the mail exchanger.' })
  else step.end({ note: answer.records.map((mx) => `${mx.preference} ${mx.exchange || '.'}`).join(', ') })
  const records = answer.kind === 'absent' ? [{ preference: 0, exchange: domain }] : answer.records
  const isOurs = records.some(({ exchange }) => exchange.toLowerCase() === deps.hostname.toLowerCase())
  if (isOurs && (await deps.receives?.(domain))) return toOurselves({ domain, authentic }, recorder, deps)
  const usable = exchangers(domain, records, deps)
  return Array.isArray(usable) ? reach({ domain, authentic }, usable, recorder, deps) : usable
}

/**
 * The route to this server's own public MX, which is contacted like any other. Its IPs are forbidden for all other
 * names.
 */
function toOurselves(target: Target, recorder: Recorder, deps: RouteDeps): Promise<Route> {
  const best = [{ exchange: deps.hostname.toLowerCase(), preference: 0 }]
  return reach(target, best, recorder, { ...deps, ownName: deps.hostname.toLowerCase() })
}

/** A label of letters, digits, hyphens, and underscores, which some domains publish; the name isn't an IP. */
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i
const isHostName = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((part) => label.test(part)) && !/(^|\.)\d+$/.test(name)

/** Returns the exchangers to try, by preference (RFC 5321 §5.1). */
function exchangers(domain: string, records: Mx[], deps: RouteDeps): Exchanger[] | ReturnType<typeof failed> {
  if (records.every(({ exchange }) => exchange === '' || exchange === '.')) {
    // RFC 7505 §4.2 defines the code and suggests the text.
    return failed(
      'no-route',
      `The domain ${domain} accepts no mail: it publishes a null MX record.`,
      '5.1.10',
    )
  }
  const own = deps.hostname.toLowerCase()
  const usable = shuffle(
    records.filter(({ exchange }) => isHostName(exchange)),
    deps.random,
  ).sort((a, b) => a.preference - b.preference) // stable: keeps the random order of equals
  if (usable.length === 0) {
    return failed('no-route', `No MX record of ${domain} contains a valid hostname.`, '5.4.4')
  }
  // Hosts with no better preference than ours would send the message back to us (RFC 5321 §5.1).
  const ours = usable.find(({ exchange }) => exchange.toLowerCase() === own)
  const better = ours ? usable.filter(({ preference }) => preference < ours.preference) : usable
  if (better.length === 0) {
    return failed(
      'no-route',
      `Mail for ${domain} would loop back: this server is its most preferred MX.`,
      '5.4.6',
    )
  }
  return better.map(({ exchange, preference }) => ({ exchange: exchange.toLowerCase(), preference }))
}

/** A domain before its hosts are looked up. */
interface Target {
  domain: string
  authentic: boolean
}

async function reach(target: Target, best: Exchanger[], recorder: Recorder, deps: RouteDeps): Promise<Route> {
  const names = [...new Set(best.map(({ exchange }) => exchange))]
  const found = await Promise.all(names.slice(0, MOST_HOSTS).map((name) => lookUpHost(name, recorder, deps)))
  return choose(target, best, found)
}

/** Selects the hosts with an IP. If none is left, returns the failure that is most likely temporary. */
function choose({ domain, authentic }: Target, best: Exchanger[], found: HostLookup[]): Route {
  let room = MOST_ADDRESSES
  const hosts: Host[] = []
  for (const { name, addresses } of found) {
    const tried = addresses.slice(0, room)
    room -= tried.length
    if (tried.length > 0) hosts.push({ name, addresses: tried })
  }
  if (hosts.length > 0) return { kind: 'found', hosts, best, authentic }
  if (found.some((host) => host.failed)) {
    return failed('dns', `The addresses of the mail exchangers of ${domain} could not be looked up.`)
  }
  if (found.some((host) => host.unreachable.length > 0)) {
    const note = `The mail exchangers of ${domain} have only addresses of an IP version that this server cannot send from.`
    return failed('network', note, '4.4.1')
  }
  const forbidden = found.flatMap((host) => host.forbidden)
  if (forbidden.length > 0) {
    return failed('forbidden', whyForbidden(forbidden), '5.4.4')
  }
  return failed('no-route', `No mail exchanger of ${domain} has an address.`, '5.4.4')
}

/** Explains what the operator can do to deliver to forbidden IPs. */
function whyForbidden(found: readonly string[]): string {
  return found.length === 1
    ? `The mail exchanger's address ${found[0]}. To deliver there, add it to delivery.allow_networks.`
    : `The mail exchangers have only these addresses: ${found.join(', ')}. To deliver there, add them to delivery.allow_networks.`
}

/** Parses `[192.0.2.1]` or `[IPv6:2001:db8::1]` (RFC 5321 §4.1.3): no lookup, the same checks. */
function literal(domain: string, deps: RouteDeps): Route {
  const ip = /^\[(?:ipv6:)?([^\]]*)\]$/i.exec(domain)?.[1] ?? ''
  if (isIP(ip) === 0) return failed('no-route', `${domain} is not an IP address.`, '5.1.3')
  const best = [{ preference: 0, exchange: domain }]
  return choose({ domain, authentic: false }, best, [selectAddresses(ip, [ip], deps)])
}
