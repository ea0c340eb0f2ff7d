/** The data that the server answers from: zones, their names and record sets, with record data already encoded. */
import * as codec from 'dns-packet'

declare module 'dns-packet' {
  /** The package's codec for one data type. */
  interface Codec<T> {
    /** Encodes record data, preceded by its length. */
    encode: (data: T) => Buffer
  }
}

/** Type codes (IANA DNS parameters). */
export const RECORD_TYPE = {
  NS: 2,
  CNAME: 5,
  SOA: 6,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
}

/** A record to serve. Names are A-labels in lower case, without the root dot. */
export type ZoneRecord =
  | { name: string; type: 'TXT' | 'CNAME'; value: string }
  | { name: string; type: 'MX'; value: string; priority: number }

/** A zone as configured and stored. */
export interface ZoneData {
  apex: string
  /** Increases with each change to any zone (RFC 1982). */
  serial: number
  /** Names of the name servers; never below the apex, so that no address records (glue) are necessary. */
  nameServers: readonly string[]
  /** The operator's mail address as a domain name (RFC 1035 §8). */
  contact: string
  records: readonly ZoneRecord[]
}

/** Records of one name and type. */
export interface RecordSet {
  type: number
  /** Seconds. */
  ttl: number
  /** Data of each record, preceded by its length. */
  data: Buffer[]
}

/** The record sets of a name by type; empty for a name that only has names below it (RFC 8020). */
export type Node = ReadonlyMap<number, RecordSet>

export interface Zone {
  apex: string
  nodes: ReadonlyMap<string, Node>
  soa: RecordSet
}

/** All zones by apex. */
export type Zones = ReadonlyMap<string, Zone>

/**
 * TTL of records in seconds. Short, so that a corrected record is seen soon. A new DKIM key is published much longer
 * before it signs.
 */
const RECORD_TTL = 300
/** TTL of the NS and SOA records, in seconds. */
const ZONE_TTL = 3600
/** How long resolvers cache that a name or type doesn't exist, in seconds (RFC 2308 §5). */
const NEGATIVE_TTL = 60

/** Builds a zone. Ignores records outside the zone. */
export function buildZone(data: ZoneData): Zone {
  const { apex, nameServers } = data
  const nodes = new Map<string, Map<number, RecordSet>>()
  const put = (name: string, type: number, ttl: number, bytes: Buffer): void => {
    const node = nodes.get(name) ?? new Map<number, RecordSet>()
    nodes.set(name, node)
    const set = node.get(type)
    if (set) set.data.push(bytes)
    else node.set(type, { type, ttl, data: [bytes] })
  }
  const soa: RecordSet = { type: RECORD_TYPE.SOA, ttl: ZONE_TTL, data: [encodeSoa(data)] }
  nodes.set(apex, new Map([[RECORD_TYPE.SOA, soa]]))
  for (const name of nameServers) put(apex, RECORD_TYPE.NS, ZONE_TTL, codec.record('NS').encode(name))
  for (const record of data.records) {
    const { name } = record
    if (name !== apex && !name.endsWith(`.${apex}`)) continue
    put(name, RECORD_TYPE[record.type], RECORD_TTL, encodeData(record))
    for (let above = parentOf(name); above.length > apex.length; above = parentOf(above))
      if (!nodes.has(above)) nodes.set(above, new Map())
  }
  return { apex, nodes, soa }
}

/** Finds the closest zone that contains a name; undefined if there is none. */
export function findZone(zones: Zones, name: string): Zone | undefined {
  for (let apex = name; apex !== ''; apex = parentOf(apex)) {
    const zone = zones.get(apex)
    if (zone) return zone
  }
  return undefined
}

const parentOf = (name: string): string => {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

function encodeSoa({ serial, nameServers, contact }: ZoneData): Buffer {
  return codec.record('SOA').encode({
    mname: nameServers[0],
    rname: contact,
    serial,
    refresh: 3600,
    retry: 600,
    expire: 604_800,
    minimum: NEGATIVE_TTL,
  })
}

function encodeData(record: ZoneRecord): Buffer {
  switch (record.type) {
    case 'TXT':
      return codec.record('TXT').encode(stringsOf(record.value))
    case 'MX':
      return codec.record('MX').encode({ preference: record.priority, exchange: record.value })
    case 'CNAME':
      return codec.record('CNAME').encode(record.value)
  }
}

/** Splits text into character-strings of at most 255 octets (RFC 1035 §3.3.14). Readers concatenate them. */
function stringsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'utf8')
  const count = Math.max(1, Math.ceil(bytes.length / 255))
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * 255, (at + 1) * 255))
}
