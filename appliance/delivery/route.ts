import { isIP } from 'node:net'
import type { RecordData } from '../dns/dns.ts'
import type { Exchanger } from '../shaping/shaping.ts'
import { type Found, type Host, type HostDeps, lookUpHost, shuffled, sortOut } from './hosts.ts'
import type { Failure } from './outcome.ts'
import type { Recorder } from './recorder.ts'

/** The hosts to try, best first; or why there is none. */
export type Route =
  | {
      kind: 'found'
      hosts: Host[]
      /** The names and preferences that DNS gave, whether they have an address or not: who the provider is. */
      best: Exchanger[]
      /** Whether a validating resolver vouched for the MX answer, or for there being none. */
      authentic: boolean
    }
  | { kind: 'failed'; failure: Failure }

export interface RouteDeps extends HostDeps {
  /** Our own name: mail that would come back to us is not sent (RFC 5321 §5.1), unless it is for a domain that receives here. */
  hostname: string
  /** Whether a domain receives here. By default none does. */
  receives?: (domain: string) => Promise<boolean>
}

/** Bounds of one attempt: what a domain publishes decides neither how many lookups nor how many connections we make. */
const MOST_HOSTS = 10
const MOST_ADDRESSES = 20

type Mx = RecordData['MX']

function failed(kind: Failure['kind'], note: string, status?: string): { kind: 'failed'; failure: Failure } {
  const failure: Failure = { kind, phase: 'route', host: null, ip: null, reply: null, note }
  return { kind: 'failed', failure: status === undefined ? failure : { ...failure, status } }
}

/** Finds the hosts that take mail for a domain (RFC 5321 §5.1, RFC 7505), or for an address literal (§4.1.3). */
export async function route(domain: string, recorder: Recorder, deps: RouteDeps): Promise<Route> {
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

/** The public MX of this server, which is reached as any other is. Its own addresses are forbidden to all other names. */
function toOurselves(target: Target, recorder: Recorder, deps: RouteDeps): Promise<Route> {
  const best = [{ exchange: deps.hostname.toLowerCase(), preference: 0 }]
  return reach(target, best, recorder, { ...deps, ownName: deps.hostname.toLowerCase() })
}

/** A label of letters, digits, hyphens, and the underscores that some publish; a name that is no IP address. */
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i
const isHostName = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((part) => label.test(part)) && !/(^|\.)\d+$/.test(name)

/** The exchangers to try, in the order of their preference. */
function exchangers(domain: string, records: Mx[], deps: RouteDeps): Exchanger[] | ReturnType<typeof failed> {
  if (records.every(({ exchange }) => exchange === '' || exchange === '.')) {
    // RFC 7505 §4.2 names the code and the sense of the sentence.
    return failed(
      'no-route',
      `The domain ${domain} accepts no mail: it publishes a null MX record.`,
      '5.1.10',
    )
  }
  const own = deps.hostname.toLowerCase()
  const usable = shuffled(
    records.filter(({ exchange }) => isHostName(exchange)),
    deps.random,
  ).sort((a, b) => a.preference - b.preference) // stable: the dice decide between equals
  if (usable.length === 0) {
    return failed('no-route', `No MX record of ${domain} contains a valid hostname.`, '5.4.4')
  }
  // Hosts no better than ourselves would hand the message back to us.
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

/** What is known of a domain before its hosts are looked up. */
interface Target {
  domain: string
  authentic: boolean
}

async function reach(target: Target, best: Exchanger[], recorder: Recorder, deps: RouteDeps): Promise<Route> {
  const names = [...new Set(best.map(({ exchange }) => exchange))]
  const found = await Promise.all(names.slice(0, MOST_HOSTS).map((name) => lookUpHost(name, recorder, deps)))
  return choose(target, best, found)
}

/** Keeps the hosts that have an address. With none left, the kindest explanation that fits decides. */
function choose({ domain, authentic }: Target, best: Exchanger[], found: Found[]): Route {
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

/** What the operator can do to deliver to addresses that are off limits. */
function whyForbidden(found: readonly string[]): string {
  return found.length === 1
    ? `The mail exchanger's address ${found[0]}. To deliver there, add it to delivery.allow_networks.`
    : `The mail exchangers have only these addresses: ${found.join(', ')}. To deliver there, add them to delivery.allow_networks.`
}

/** `[192.0.2.1]` or `[IPv6:2001:db8::1]` (RFC 5321 §4.1.3): no lookup, the same guard. */
function literal(domain: string, deps: RouteDeps): Route {
  const ip = /^\[(?:ipv6:)?([^\]]*)\]$/i.exec(domain)?.[1] ?? ''
  if (isIP(ip) === 0) return failed('no-route', `${domain} is not an IP address.`, '5.1.3')
  const best = [{ preference: 0, exchange: domain }]
  return choose({ domain, authentic: false }, best, [sortOut(ip, [ip], deps)])
}
