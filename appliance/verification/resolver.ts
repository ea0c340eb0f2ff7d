/** Adapts the daemon's DNS resolver to mailauth, and limits the queries for one message. */
import type { DNSResolver } from 'mailauth'
import type { RecordType, Resolver } from '../dns/dns.ts'

/** Creates an error like those of `node:dns`, which mailauth distinguishes by code. */
function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}

const TYPES = new Set<string>(['A', 'AAAA', 'MX', 'TXT', 'PTR', 'CNAME', 'NS'] satisfies RecordType[])

/**
 * Wraps a resolver in the interface of `dns.promises.resolve`. @param most number of queries; further ones fail as if
 * no server answered
 */
export function mailauthResolver(resolver: Pick<Resolver, 'resolve'>, most = Infinity): DNSResolver {
  let asked = 0
  const lookup = async (name: string, type: string): Promise<unknown[]> => {
    if (!TYPES.has(type)) throw dnsError('ENODATA', name)
    if (++asked > most) throw dnsError('ESERVFAIL', name)
    const answer = await resolver.resolve(name, type as RecordType)
    if (answer.kind === 'failed') throw dnsError('ESERVFAIL', name)
    if (answer.kind === 'absent') throw dnsError(answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA', name)
    return answer.records.map((record) => {
      if (typeof record === 'string') return type === 'TXT' ? [record] : record
      return 'exchange' in record ? { priority: record.preference, exchange: record.exchange } : record
    })
  }
  // The type allows strings only, but MX records are objects, as in node:dns.
  return lookup as DNSResolver
}
