/** Looks up servers that deliver mail to the public MX in DNS blocklists (RFC 5782). */
import type { Clock } from '../clock/clock.ts'
import type { Answer, Resolver } from '../dns/dns.ts'
import {
  isInNetworks,
  parseNetworks,
  toReverseLabels,
  explainForbiddenTarget,
  type Cidr,
} from '../wire/networks.ts'

export interface Dnsbl {
  /** Returns the first zone that lists the IP; null if none does. Never rejects. */
  listedBy(ip: string): Promise<string | null>
}

/** The answer of a zone; `failed` if it didn't answer, or refused the query. */
type Result = 'listed' | 'clear' | 'failed'

export interface DnsblDeps {
  /** Caches answers for their TTL. */
  resolver: Pick<Resolver, 'resolve'>
  clock: Pick<Clock, 'after'>
  /** Zones, most important first. */
  zones: readonly string[]
  /** Networks whose IPs aren't looked up. */
  allow: readonly Cidr[]
  count: (zone: string, result: Result) => void
}

/** Time limit for a zone in milliseconds. A slower one counts as failed, because the client is waiting. */
const DEADLINE_MS = 3000

const CODES = parseNetworks(['127.0.0.0/8'])
/** Answers that don't mean a listing: 127.0.0.1 is never listed (RFC 5782 §5), 127.255.255.x is an error. */
const ERRORS = parseNetworks(['127.0.0.1/32', '127.255.255.0/24'])

export function createDnsbl({ resolver, clock, zones, allow, count }: DnsblDeps): Dnsbl {
  const ask = async (zone: string, ip: string): Promise<Result> => {
    let cancel: () => void = () => undefined
    const late = new Promise<null>((resolve) => {
      cancel = clock.after(DEADLINE_MS, () => resolve(null))
    })
    const answer = await Promise.race([resolver.resolve(`${toReverseLabels(ip)}.${zone}`, 'A'), late])
    cancel()
    const result = answer === null ? 'failed' : resultOf(answer)
    count(zone, result)
    return result
  }
  return {
    async listedBy(ip) {
      const isPublic = explainForbiddenTarget(ip, []) === undefined
      if (zones.length === 0 || !isPublic || isInNetworks(ip, allow)) return null
      const results = await Promise.all(zones.map((zone) => ask(zone, ip)))
      return zones.find((_, at) => results[at] === 'listed') ?? null
    },
  }
}

/** Interprets an answer. Anything but codes in 127.0.0.0/8 comes from something that changes DNS answers. */
function resultOf(answer: Answer<'A'>): Result {
  if (answer.kind !== 'found') return answer.kind === 'absent' ? 'clear' : 'failed'
  const valid = answer.records.every((code) => isInNetworks(code, CODES) && !isInNetworks(code, ERRORS))
  return valid ? 'listed' : 'failed'
}
