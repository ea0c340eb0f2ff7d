/** Our resolver as mailauth asks it, with a bound on how much one message may ask. */
import type { DNSResolver } from 'mailauth'
import type { RecordType, Resolver } from '../dns/dns.ts'

/** An error of the shape that `node:dns` throws, which mailauth tells apart by its code. */
function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}

const TYPES = new Set<string>(['A', 'AAAA', 'MX', 'TXT', 'PTR', 'CNAME', 'NS'] satisfies RecordType[])

/** Our resolver in the manner of `dns.promises.resolve`. @param most queries; those beyond fail, as if no server answered */
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
  // Its types know strings only; MX records are objects all the same, as in node:dns.
  return lookup as DNSResolver
}
