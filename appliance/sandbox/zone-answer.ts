import type { Answer as WireAnswer } from 'dns-packet'
import type { RecordType } from '../dns/dns.ts'

/** Answers queries from a declarative zone. Pure; the sockets are in zone.ts. */

/**
 * How a query for a name can fail: a response code; no answer (TIMEOUT); bytes that aren't DNS (GARBAGE); an answer to
 * another query (WRONG-ID, WRONG-QUESTION); the truncation flag even over TCP (TRUNCATE); a referral to other servers
 * (REFERRAL); an empty answer from a server that is neither recursive nor authoritative (LAME).
 */
export type ZoneFailure =
  | 'NXDOMAIN'
  | 'NODATA'
  | 'SERVFAIL'
  | 'REFUSED'
  | 'FORMERR'
  | 'NOTIMP'
  | 'TIMEOUT'
  | 'GARBAGE'
  | 'WRONG-ID'
  | 'WRONG-QUESTION'
  | 'TRUNCATE'
  | 'REFERRAL'
  | 'LAME'

type OneOrMore<T> = T | T[]

/** The records of one name. A type that isn't listed doesn't exist there (NODATA). */
export interface ZoneRecords {
  A?: OneOrMore<string>
  AAAA?: OneOrMore<string>
  /** An exchange of '' or '.' is a null MX (RFC 7505 §3). */
  MX?: OneOrMore<{ preference: number; exchange: string }>
  /** Each string is one record; long ones are split into character-strings. */
  TXT?: OneOrMore<string>
  CNAME?: string
  NS?: OneOrMore<string>
  PTR?: OneOrMore<string>
  /** `data` is hexadecimal. */
  TLSA?: OneOrMore<{ usage: number; selector: number; matching: number; data: string }>
  /** TTL in seconds. Default: 300. */
  ttl?: number
  /** Sets the AD flag, as a validating resolver does for a signed zone. */
  authentic?: boolean
  /** Truncates the answer over UDP, but not over TCP. */
  truncate?: boolean
  /** Delay of the answer, in milliseconds. */
  delayMs?: number
  /** Record types that fail while all others are answered. */
  fail?: Partial<Record<RecordType, ZoneFailure>>
}

export type ZoneEntry = ZoneRecords | ZoneFailure

/** Names (lower case, no root dot, `*.` for a wildcard) and their records. */
export type Zone = Record<string, ZoneEntry>

type Found = ZoneEntry | undefined

/**
 * A zone as a function of the name; returns undefined for a name that doesn't exist. The type of an unsupported record
 * is `TYPE` and its number.
 */
export type ZoneFunction = (name: string, type: string) => Found | Promise<Found>

/** The answer to a query. `failure` is a failure other than a response code. */
export interface ZoneAnswer {
  rcode: number
  answers: WireAnswer[]
  authorities: WireAnswer[]
  authentic: boolean
  truncate: boolean
  delayMs: number
  failure: ZoneFailure | undefined
}

const rcodes: Partial<Record<ZoneFailure, number>> = {
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
}

/** Maximum number of aliases to follow in one answer, as in recursive servers. */
const MAX_LINKS = 12

/**
 * Finds a name in a literal zone: the name itself, an empty non-terminal (NODATA, RFC 8020), or a wildcard (RFC 4592
 * §3.3.1).
 */
export function findEntry(zone: ReadonlyMap<string, ZoneEntry>, name: string): ZoneEntry | undefined {
  const exists = (at: string) => zone.has(at) || [...zone.keys()].some((key) => key.endsWith(`.${at}`))
  if (exists(name)) return zone.get(name) ?? {}
  let encloser = parent(name)
  while (encloser !== '' && !exists(encloser)) encloser = parent(encloser)
  return zone.get(`*.${encloser}`)
}

/** Answers a query from a zone. `chase` follows aliases, as a recursive server does. */
export async function answerFromZone(
  find: ZoneFunction,
  question: { name: string; type: string },
  options: { negativeTtl: number; chase: boolean },
): Promise<ZoneAnswer> {
  const answer = emptyAnswer()
  let { name } = question
  for (let links = 0; ; links++) {
    const entry = (await find(name, question.type)) ?? 'NXDOMAIN'
    const failure = typeof entry === 'string' ? entry : entry.fail?.[question.type as RecordType]
    if (typeof entry === 'string') answer.authentic = false
    else {
      answer.authentic &&= entry.authentic ?? false
      answer.truncate ||= entry.truncate ?? false
      answer.delayMs += entry.delayMs ?? 0
    }
    if (failure !== undefined) return fail(answer, name, failure, options.negativeTtl)
    const records = wireRecords(name, question.type, entry as ZoneRecords)
    answer.answers.push(...records)
    if (records.length > 0) return answer
    const alias = (entry as ZoneRecords).CNAME
    if (alias === undefined) return fail(answer, name, 'NODATA', options.negativeTtl)
    answer.answers.push(...wireRecords(name, 'CNAME', entry as ZoneRecords))
    if (!options.chase || links === MAX_LINKS) return answer
    name = alias.toLowerCase()
  }
}

function emptyAnswer(): ZoneAnswer {
  return {
    rcode: 0,
    answers: [],
    authorities: [],
    authentic: true,
    truncate: false,
    delayMs: 0,
    failure: undefined,
  }
}

/** Creates the answer of a server that couldn't look up the name: SERVFAIL. */
export function createServfailAnswer(name: string): ZoneAnswer {
  return fail({ ...emptyAnswer(), authentic: false }, name, 'SERVFAIL', 0)
}

function fail(answer: ZoneAnswer, name: string, failure: ZoneFailure, negativeTtl: number): ZoneAnswer {
  if (failure === 'NXDOMAIN' || failure === 'NODATA') {
    answer.rcode = failure === 'NXDOMAIN' ? 3 : 0
    answer.authorities.push(startOfAuthority(name, negativeTtl))
  } else if (failure === 'REFERRAL') {
    answer.authorities.push({ name, type: 'NS', ttl: 300, data: `ns.${name}` })
    answer.failure = failure
  } else {
    answer.rcode = rcodes[failure] ?? 0
    answer.failure = failure
  }
  return answer
}

function startOfAuthority(name: string, ttl: number): WireAnswer {
  const apex = name.split('.').slice(-2).join('.')
  const times = { serial: 1, refresh: 3600, retry: 600, expire: 86_400, minimum: ttl }
  const data = { mname: `ns.${apex}`, rname: `hostmaster.${apex}`, ...times }
  // The TTL of the SOA record is longer, so that a client has to use MINIMUM (RFC 2308 §4).
  return { name: apex, type: 'SOA', ttl: ttl + 3600, data }
}

const encoders: Record<RecordType, (name: string, ttl: number, records: ZoneRecords) => WireAnswer[]> = {
  A: (name, ttl, { A }) => list(A).map((data) => ({ name, ttl, type: 'A', data })),
  AAAA: (name, ttl, { AAAA }) => list(AAAA).map((data) => ({ name, ttl, type: 'AAAA', data })),
  MX: (name, ttl, { MX }) =>
    list(MX).map(({ preference, exchange }) => ({
      name,
      ttl,
      type: 'MX',
      data: { preference, exchange: exchange === '' ? '.' : exchange },
    })),
  TXT: (name, ttl, { TXT }) =>
    list(TXT).map((text) => ({ name, ttl, type: 'TXT', data: characterStrings(text) })),
  CNAME: (name, ttl, { CNAME }) => list(CNAME).map((data) => ({ name, ttl, type: 'CNAME', data })),
  NS: (name, ttl, { NS }) => list(NS).map((data) => ({ name, ttl, type: 'NS', data })),
  PTR: (name, ttl, { PTR }) => list(PTR).map((data) => ({ name, ttl, type: 'PTR', data })),
  TLSA: (name, ttl, { TLSA }) =>
    list(TLSA).map(({ usage, selector, matching, data }) => ({
      name,
      ttl,
      type: 'TLSA',
      data: { usage, selector, matchingType: matching, certificate: Buffer.from(data, 'hex') },
    })),
}

function wireRecords(name: string, type: string, records: ZoneRecords): WireAnswer[] {
  if (!Object.hasOwn(encoders, type)) return []
  return encoders[type as RecordType](name, records.ttl ?? 300, records)
}

function list<T>(value: T | T[] | undefined): T[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

/** Splits text into strings of at most 255 octets (RFC 1035 §3.3). */
function characterStrings(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const parts = [bytes.subarray(0, 255)]
  for (let at = 255; at < bytes.length; at += 255) parts.push(bytes.subarray(at, at + 255))
  return parts
}

function parent(name: string): string {
  const dot = name.indexOf('.')
  return dot === -1 ? '' : name.slice(dot + 1)
}
