/** Decides how to answer a query. Pure. */
import * as codec from 'dns-packet'
import { RCODE, type Query } from './query.ts'
import { findZone, RECORD_TYPE, type RecordSet, type Zone, type Zones } from './zone.ts'

/** The content of a response. */
export interface Reply {
  rcode: number
  authoritative: boolean
  /** Records of the queried name. */
  answers: RecordSet[]
  /** The SOA record that determines how long a negative answer is cached (RFC 2308 §3), and its zone. */
  negative: { soa: RecordSet; apex: string } | undefined
}

const IN = 1
const ANY_CLASS = 255

/**
 * The answer to ANY queries: one synthesized record instead of everything, so that ANY is useless for amplification
 * (RFC 8482 §4.2).
 */
const ANY_REFUSED: RecordSet = {
  type: RECORD_TYPE.HINFO,
  ttl: 3600,
  data: [codec.record('HINFO').encode({ cpu: 'RFC8482', os: '' })],
}

const bare = (rcode: number): Reply => ({ rcode, authoritative: false, answers: [], negative: undefined })

/**
 * Answers from the zones only: no recursion, no referrals, no transfers. Everything outside the zones is REFUSED.
 * Aliases aren't followed, because all of them point outside the zones.
 */
export function answerQuery(query: Query, zones: Zones): Reply {
  if (query.edns && query.edns.version > 0) return bare(RCODE.BADVERS)
  if (query.type === RECORD_TYPE.OPT) return bare(RCODE.FORMERR)
  if (query.class !== IN && query.class !== ANY_CLASS) return bare(RCODE.REFUSED)
  if (query.type === RECORD_TYPE.AXFR || query.type === RECORD_TYPE.IXFR) return bare(RCODE.REFUSED)
  const zone = findZone(zones, query.name)
  if (!zone) return bare(RCODE.REFUSED)
  const node = zone.nodes.get(query.name)
  if (!node) return absent(zone, RCODE.NXDOMAIN)
  if (query.type === RECORD_TYPE.ANY && node.size > 0) return found(ANY_REFUSED)
  const set = node.get(query.type) ?? node.get(RECORD_TYPE.CNAME)
  return set ? found(set) : absent(zone, RCODE.NOERROR)
}

const found = (set: RecordSet): Reply => ({
  rcode: RCODE.NOERROR,
  authoritative: true,
  answers: [set],
  negative: undefined,
})

/** Creates a negative answer: the name (NXDOMAIN) or the type (NOERROR) doesn't exist. */
function absent({ soa, apex }: Zone, rcode: number): Reply {
  return { rcode, authoritative: true, answers: [], negative: { soa, apex } }
}
