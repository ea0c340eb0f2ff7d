/** Decides what to answer to a query. Pure. */
import * as codec from 'dns-packet'
import { RCODE, type Query } from './query.ts'
import { findZone, TYPE, type RecordSet, type Zone, type Zones } from './zone.ts'

/** The content of a response. */
export interface Reply {
  rcode: number
  authoritative: boolean
  /** Records of the queried name. */
  answers: RecordSet[]
  /** The SOA record that says how long a negative answer holds (RFC 2308 §3), and its zone. */
  negative: { soa: RecordSet; apex: string } | undefined
}

const IN = 1
const ANY_CLASS = 255

/** RFC 8482 §4.2: ANY gets one synthesized record instead of everything, so that it is useless for amplification. */
const ANY_REFUSED: RecordSet = {
  type: TYPE.HINFO,
  ttl: 3600,
  data: [codec.record('HINFO').encode({ cpu: 'RFC8482', os: '' })],
}

const bare = (rcode: number): Reply => ({ rcode, authoritative: false, answers: [], negative: undefined })

/**
 * Answers from the zones only: no recursion, no referrals, no transfers. Everything outside the zones is REFUSED. An alias
 * isn't followed, because all aliases lead out of the zones.
 */
export function answerQuery(query: Query, zones: Zones): Reply {
  if (query.edns && query.edns.version > 0) return bare(RCODE.BADVERS)
  if (query.type === TYPE.OPT) return bare(RCODE.FORMERR)
  if (query.class !== IN && query.class !== ANY_CLASS) return bare(RCODE.REFUSED)
  if (query.type === TYPE.AXFR || query.type === TYPE.IXFR) return bare(RCODE.REFUSED)
  const zone = findZone(zones, query.name)
  if (!zone) return bare(RCODE.REFUSED)
  const node = zone.nodes.get(query.name)
  if (!node) return absent(zone, RCODE.NXDOMAIN)
  if (query.type === TYPE.ANY && node.size > 0) return found(ANY_REFUSED)
  const set = node.get(query.type) ?? node.get(TYPE.CNAME)
  return set ? found(set) : absent(zone, RCODE.NOERROR)
}

const found = (set: RecordSet): Reply => ({
  rcode: RCODE.NOERROR,
  authoritative: true,
  answers: [set],
  negative: undefined,
})

/** The name (NXDOMAIN) or the type (NOERROR) doesn't exist. */
function absent({ soa, apex }: Zone, rcode: number): Reply {
  return { rcode, authoritative: true, answers: [], negative: { soa, apex } }
}
