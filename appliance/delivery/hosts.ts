import { isIP, isIPv6 } from 'node:net'
import type { Answer, Resolver } from '../dns/dns.ts'
import { type Cidr, explainForbiddenTarget } from '../wire/networks.ts'
import type { Recorder } from './recorder.ts'

/** A mail exchanger and its IPs, in the order to try them. */
export interface Host {
  name: string
  addresses: string[]
}

/** The result of looking up a host's IPs. */
export interface HostLookup extends Host {
  /** Whether the lookup failed for at least one family. */
  failed: boolean
  /** IPs left out because they are forbidden, each with the reason in words. */
  forbidden: string[]
  /** IPs left out because there is no source of their family. */
  unreachable: string[]
}

export interface HostDeps {
  resolver: Pick<Resolver, 'resolve'>
  /** Returns a random number in [0, 1). */
  random: () => number
  /** Networks that may receive mail although they are private, otherwise special, or this machine's own. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces. */
  ownAddresses: () => readonly string[]
  /** A name of this server whose IPs are always allowed. */
  ownName?: string
  /** Whether an IP is reachable: there is a source of its family. */
  sources: { reaches(ip: string): boolean }
}

/** Returns `items` in random order (Fisher-Yates). */
export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[result[i], result[j]] = [result[j]!, result[i]!]
  }
  return result
}

/**
 * Selects and orders IPs: leaves out forbidden and unreachable ones, shuffles the rest to spread load (RFC 5321 §5.1).
 * IPv4 comes first, because a sender's IPv6 address often has no PTR record, which providers refuse with 5xx.
 */
export function selectAddresses(name: string, addresses: string[], deps: HostDeps): HostLookup {
  const own = deps.ownAddresses()
  const judged = addresses.map((ip) => ({
    ip,
    why: name === deps.ownName ? undefined : explainForbiddenTarget(ip, deps.allowNetworks, own),
  }))
  const allowed = judged.filter(({ why }) => why === undefined).map(({ ip }) => ip)
  const unreachable = allowed.filter((ip) => !deps.sources.reaches(ip))
  const usable = shuffle(
    allowed.filter((ip) => !unreachable.includes(ip)),
    deps.random,
  )
  const byFamily = [...usable.filter((ip) => !isIPv6(ip)), ...usable.filter(isIPv6)]
  const forbidden = judged.flatMap(({ ip, why }) => (why === undefined ? [] : [`${ip} is ${why}`]))
  return { name, addresses: byFamily, failed: false, forbidden, unreachable }
}

function describe(found: HostLookup, failures: string[]): string {
  const left = [
    ...found.addresses,
    ...found.forbidden.map((why) => `not attempted: ${why}`),
    ...found.unreachable.map((ip) => `${ip} (no route to IPv${isIP(ip)} from this machine)`),
    ...failures,
  ]
  return left.length > 0 ? left.join(', ') : 'no address'
}

/** Looks up both address families of a host. One family is enough, whatever happened to the other. */
export async function lookUpHost(name: string, recorder: Recorder, deps: HostDeps): Promise<HostLookup> {
  const step = recorder.begin('resolve', { host: null, ip: null }, `A, AAAA ${name}`)
  const [a, aaaa] = await Promise.all([deps.resolver.resolve(name, 'A'), deps.resolver.resolve(name, 'AAAA')])
  const answers: Answer<'A' | 'AAAA'>[] = [a, aaaa]
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
  const failures = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer.note] : []))
  const found = { ...selectAddresses(name, [...new Set(addresses)], deps), failed: failures.length > 0 }
  step.end({ note: describe(found, failures) })
  return found
}
