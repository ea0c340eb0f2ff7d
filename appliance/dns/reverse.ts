/**
 * Looks up reverse DNS: the names in the PTR records of an IP, and whether they resolve to it (forward-confirmed,
 * FCrDNS).
 */
import { isIPv6 } from 'node:net'
import { toReverseLabels } from '../wire/networks.ts'
import type { Answer, Resolver } from './dns.ts'

/** Maximum number of PTR records to follow; normal IPs have one. */
const MOST_NAMES = 5

/** DNS answers about an IP. */
export interface PtrFacts {
  ip: string
  ptr: Answer<'PTR'>
  /** The IPs of each name in the PTR records. */
  forward: { name: string; answer: Answer<'A' | 'AAAA'> }[]
}

/** Returns the name of an IP's PTR record (RFC 1035 §3.5, RFC 3596 §2.5). */
export function buildPtrName(ip: string): string {
  return `${toReverseLabels(ip)}.${isIPv6(ip) ? 'ip6' : 'in-addr'}.arpa`
}

/** Looks up both directions. Never rejects. */
export async function lookUpPtr(resolver: Pick<Resolver, 'resolve'>, ip: string): Promise<PtrFacts> {
  const ptr = await resolver.resolve(buildPtrName(ip), 'PTR')
  const names = ptr.kind === 'found' ? ptr.records.slice(0, MOST_NAMES) : []
  const type = isIPv6(ip) ? 'AAAA' : 'A'
  const look = async (name: string) => ({ name, answer: await resolver.resolve(name, type) })
  return { ip, ptr, forward: await Promise.all(names.map(look)) }
}

/** Returns the names that resolve back to the IP. */
export function confirmedNames({ ip, forward }: PtrFacts): string[] {
  return forward
    .filter(({ answer }) => answer.kind === 'found' && answer.records.includes(ip))
    .map(({ name }) => name)
}
