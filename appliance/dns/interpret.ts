import ipaddr from 'ipaddr.js'
import type { Answer, RecordData, RecordType } from './dns.ts'
import type { Message, Question, WireRecord } from './message.ts'

/** Interprets the response to a question. Pure: no I/O, no cache, no clock. */

/** `alias`: the name is an alias, and the response has no records for `target`, which must be looked up next. */
export type InterpretedResponse<T extends RecordType> =
  Answer<T> | { kind: 'alias'; target: string; links: number; ttl: number; authentic: boolean }

/** Maximum length of a CNAME chain; real ones have two or three links. */
export const MAX_CNAME_LINKS = 8

/**
 * TTL for negative answers without a SOA record, which must not be cached (RFC 2308 §5). The cache's minimum still
 * applies.
 */
const NO_TTL = 0

const rcodes = new Map<number, string>([
  [1, 'FORMERR'],
  [2, 'SERVFAIL'],
  [4, 'NOTIMP'],
  [5, 'REFUSED'],
  [9, 'NOTAUTH'],
  [16, 'BADVERS'],
])

function rcodeName(rcode: number): string {
  return rcodes.get(rcode) ?? `response code ${rcode}`
}

/**
 * Reads the answer from a response that belongs to the question. Failure notes complete the sentence "the server …".
 */
export function interpretResponse<T extends RecordType>(
  message: Message,
  question: Question & { type: T },
): InterpretedResponse<T> {
  if (message.rcode !== 0 && message.rcode !== 3) return failed(`answered ${rcodeName(message.rcode)}`)
  const chain = followChain(message.answers, question)
  if (typeof chain === 'string') return failed(chain)
  const { authentic } = message
  const at = message.answers.filter((record) => record.name === chain.name && record.type === question.type)
  const records = at.flatMap((record) => readRecord(question.type, record.data) ?? [])
  // NXDOMAIN applies to the last name of the chain (RFC 6604 §3), so records there contradict it.
  if (message.rcode === 3 && at.length > 0) return failed('returned NXDOMAIN together with records')
  if (records.length > 0) {
    const ttl = Math.min(chain.ttl, ...at.map((record) => record.ttl))
    return { kind: 'found', records, ttl, authentic, ...(chain.links > 0 ? { alias: chain.name } : {}) }
  }
  if (at.length > 0 || message.malformed.includes(question.type)) {
    return failed(`sent malformed ${question.type} records`)
  }
  return readAbsence(message, chain)
}

/**
 * Reads a negative answer, which counts only from a server that recursed for us or is authoritative. NOERROR without
 * records, with NS records but no SOA, is a referral, not NODATA (RFC 2308 §2.2).
 */
function readAbsence(message: Message, chain: Chain): InterpretedResponse<never> {
  const { authentic } = message
  const soa = message.authorities.find((record) => record.type === 'SOA')
  const vouched = message.recursive || message.authoritative
  if (message.rcode === 3) {
    if (!vouched) return failed('is neither recursive nor authoritative, but returned NXDOMAIN')
    return { kind: 'absent', why: 'nxdomain', ttl: Math.min(chain.ttl, negativeTtl(soa)), authentic }
  }
  if (chain.links > 0 && !soa) {
    return { kind: 'alias', target: chain.name, links: chain.links, ttl: chain.ttl, authentic }
  }
  if (!soa && message.authorities.some((record) => record.type === 'NS')) {
    return failed('returned a referral instead of an answer: it does not recurse for this machine')
  }
  if (!vouched) return failed('is neither recursive nor authoritative, and returned no answer')
  return { kind: 'absent', why: 'nodata', ttl: Math.min(chain.ttl, negativeTtl(soa)), authentic }
}

/** The smaller of the SOA's own TTL and its MINIMUM field (RFC 2308 §5). */
function negativeTtl(soa: WireRecord | undefined): number {
  if (!soa) return NO_TTL
  return Math.min(soa.ttl, (soa.data as { minimum: number }).minimum)
}

interface Chain {
  name: string
  links: number
  ttl: number
}

/** Follows the CNAME records in one response from the question's name; returns a string that says why that failed. */
function followChain(answers: WireRecord[], question: Question): Chain | string {
  const chain: Chain = { name: question.name, links: 0, ttl: Number.MAX_SAFE_INTEGER }
  if (question.type === 'CNAME') return chain
  const seen = new Set([chain.name])
  for (;;) {
    const link = answers.find((record) => record.type === 'CNAME' && record.name === chain.name)
    if (!link) return chain
    const target = canonicalizeName(link.data as string)
    if (!isDomainName(target)) return `sent a CNAME record for ${chain.name} that is not a domain name`
    if (seen.has(target)) return `sent CNAME records that form a loop at ${target}`
    if (seen.size > MAX_CNAME_LINKS) return `sent a chain of more than ${MAX_CNAME_LINKS} CNAME records`
    seen.add(target)
    chain.name = target
    chain.links++
    chain.ttl = Math.min(chain.ttl, link.ttl)
  }
}

const host = (data: unknown): string | undefined => {
  const name = canonicalizeName(data as string)
  return isHostName(name) ? name : undefined
}

const alias = (data: unknown): string | undefined => {
  const name = canonicalizeName(data as string)
  return isDomainName(name) ? name : undefined
}

const readers: { [T in RecordType]: (data: unknown) => RecordData[T] | undefined } = {
  A: (data) => data as string,
  // Normalize the codec's IPv6 text to RFC 5952, so that addresses can be compared.
  AAAA: (data) => ipaddr.IPv6.parse(data as string).toRFC5952String(),
  MX: (data) => {
    const { preference, exchange } = data as RecordData['MX']
    // "." as exchange is a null MX: the domain accepts no mail (RFC 7505 §3).
    if (exchange === '.') return { preference, exchange: '' }
    const name = host(exchange)
    return name === undefined ? undefined : { preference, exchange: name }
  },
  TXT: (data) => Buffer.concat(data as Buffer[]).toString('utf8'),
  CNAME: alias,
  NS: host,
  PTR: host,
  TLSA: (data) => {
    const record = data as { usage: number; selector: number; matchingType: number; certificate: Buffer }
    const { usage, selector, matchingType: matching } = record
    return { usage, selector, matching, data: new Uint8Array(record.certificate) }
  },
}

function readRecord<T extends RecordType>(type: T, data: unknown): RecordData[T] | undefined {
  return readers[type](data)
}

function failed(note: string): { kind: 'failed'; note: string } {
  return { kind: 'failed', note }
}

/** Domain names as text: no root dot, lower case, A-labels only. */

/** Any printable character: owner names have underscores, and RFC 2317 puts slashes into them. */
const ownerLabel = /^[!-\-/-[\]-~]{1,63}$/
/** Letters, digits and hyphens, plus underscores, which occur in practice. */
const hostLabel = /^[a-z0-9_-]{1,63}$/

/** Converts to lower case without the root dot. */
export function canonicalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Whether a canonical name can be queried: labels of 1 to 63 octets, 253 in all (RFC 1035 §2.3.4). */
export function isDomainName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => ownerLabel.test(label))
}

/** Whether a canonical name is a valid host name. */
function isHostName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => hostLabel.test(label))
}
