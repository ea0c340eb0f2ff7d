import { BlockList, isIP, isIPv6 } from 'node:net'
import type { ExpectedRecord } from './records.ts'

interface Term {
  qualifier: string
  name: string
  value: string
}

const mechanisms = new Set(['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'])

/**
 * Evaluates whether the policy lets us send (RFC 7208): exactly one valid record, with each of our mechanisms before
 * any `all`.
 */
export function evaluateSpfRecord(expected: ExpectedRecord, records: string[]): RecordVerdict {
  if (records.length > 1)
    return createInvalidVerdict(
      `There are ${records.length} SPF records at ${expected.fqdn}, which receivers treat as an error (RFC 7208 §4.5). Merge them into one.`,
    )
  // Receivers select SPF records by exactly this prefix (RFC 7208 §4.5).
  if (!/^v=spf1( |$)/i.test(records[0]!))
    return createInvalidVerdict('The record must start with "v=spf1 ". Replace it with the one shown here.')
  const published = parseSpf(records[0]!)
  if (typeof published === 'string')
    return createInvalidVerdict(
      `"${published}" is not a valid SPF term. Replace the record with the one shown here.`,
    )
  const wanted = parseSpf(expected.value) as Term[]
  for (const ours of wanted.filter(({ name }) => name !== 'all')) {
    const opinion = judgeTerm(ours, published)
    if (!opinion.right) return opinion
  }
  return validVerdict
}

function judgeTerm(ours: Term, published: Term[]): RecordVerdict {
  const text = `${ours.name}:${ours.value}`
  // Terms after `all` are ignored (RFC 7208 §5.1).
  const all = published.findIndex(({ name }) => name === 'all')
  const at = published.findIndex((term) => covers(term, ours))
  if (at < 0)
    return createInvalidVerdict(
      `The policy does not include this server. Add ${text} before the "all" at its end.`,
    )
  if (all >= 0 && all < at)
    return createInvalidVerdict(`${text} comes after "all", so it is never evaluated. Move it to the front.`)
  const { qualifier } = published[at]!
  if (qualifier !== '+')
    return createInvalidVerdict(
      `${qualifier}${text} does not authorize this server. Use ${text} without the "${qualifier}".`,
    )
  return validVerdict
}

/** Parses the terms of a policy; returns the first invalid one as a string. */
function parseSpf(text: string): Term[] | string {
  const [, ...words] = text.trim().split(/ +/)
  const terms: Term[] = []
  for (const word of words) {
    if (/^[a-z][a-z0-9_.-]*=/i.test(word)) continue // a modifier; unknown ones are ignored (RFC 7208 §6)
    const match = /^([-+~?]?)([a-z0-9]+)(?:[:](\S+)|(\/\S+))?$/i.exec(word)
    const name = match?.[2]?.toLowerCase() ?? ''
    if (!match || !mechanisms.has(name)) return word
    terms.push({
      qualifier: match[1] === '' ? '+' : match[1]!,
      name,
      value: (match[3] ?? match[4] ?? '').toLowerCase(),
    })
  }
  return terms
}

/** Whether a published term covers ours: it is the same term, or a network that contains the IP. */
function covers(term: Term, ours: Term): boolean {
  if (term.name !== ours.name) return false
  if (term.name !== 'ip4' && term.name !== 'ip6') return term.value.replace(/\.?(\/.*)?$/, '') === ours.value
  const family = isIPv6(ours.value) ? 'ipv6' : 'ipv4'
  const [network, length] = term.value.split('/') as [string, string | undefined]
  const most = family === 'ipv6' ? 128 : 32
  const prefix = length === undefined ? most : Number(length)
  if (
    isIP(network) !== (family === 'ipv6' ? 6 : 4) ||
    !Number.isInteger(prefix) ||
    prefix < 0 ||
    prefix > most
  )
    return false
  const list = new BlockList()
  list.addSubnet(network, prefix, family)
  return list.check(ours.value, family)
}

/** The opinion on one record: whether receivers will accept it, and if not, why and what to do. */
export type RecordVerdict = { right: true } | { right: false; note: string }

export const validVerdict: RecordVerdict = { right: true }

/** Creates a negative opinion. */
export const createInvalidVerdict = (note: string): RecordVerdict => ({ right: false, note })

const policies = ['none', 'quarantine', 'reject']

/** Evaluates whether there is a DMARC policy that receivers apply (RFC 9989): one valid record, of any strictness. */
export function evaluateDmarcRecord(records: string[]): RecordVerdict {
  if (records.length > 1)
    return createInvalidVerdict(
      `There are ${records.length} DMARC records, so receivers ignore all of them. Keep one.`,
    )
  const tags = parseTags(records[0]!)
  if (!tags || [...tags.keys()][0] !== 'v' || tags.get('v') !== 'DMARC1')
    return createInvalidVerdict(
      'The record must start with v=DMARC1; followed by tags in the form name=value;.',
    )
  const policy = tags.get('p')?.toLowerCase()
  if (policy === undefined)
    return createInvalidVerdict('The record has no p= tag. Add p=none, p=quarantine or p=reject.')
  if (!policies.includes(policy))
    return createInvalidVerdict(`p=${policy} is not a valid policy. Use p=none, p=quarantine or p=reject.`)
  return validVerdict
}

/** Evaluates whether there is an address for TLS reports (RFC 8460 §3). Any address is accepted. */
export function evaluateTlsRptRecord(records: string[]): RecordVerdict {
  if (records.length > 1)
    return createInvalidVerdict(
      `There are ${records.length} TLS-RPT records, so senders ignore all of them. Keep one.`,
    )
  const tags = parseTags(records[0]!)
  if (!tags || [...tags.keys()][0] !== 'v' || tags.get('v') !== 'TLSRPTv1')
    return createInvalidVerdict(
      'The record must start with v=TLSRPTv1; followed by rua=mailto: and an address.',
    )
  return /^(mailto|https):./i.test(tags.get('rua') ?? '')
    ? validVerdict
    : createInvalidVerdict('The record has no address. Add rua=mailto: and the address shown here.')
}

/** Whether a valid policy has no effect: `p=none` without an address for reports (RFC 9989). */
export function isPolicyWithoutEffect(texts: readonly string[]): boolean {
  const tags = texts.map(parseTags).find((one) => one?.get('v') === 'DMARC1')
  return tags?.get('p')?.toLowerCase() === 'none' && !tags.get('rua')
}

/**
 * Parses a tag list, `name=value; …` (RFC 6376 §3.2), without surrounding white space. Undefined if invalid: a part
 * without `=`, or a duplicate name.
 */
export function parseTags(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>()
  const parts = text.split(';')
  if (parts.at(-1)!.trim() === '') parts.pop()
  for (const part of parts) {
    const match = /^\s*([A-Za-z]\w*)\s*=([^]*)$/.exec(part)
    const name = match?.[1]
    if (!match || name === undefined || tags.has(name)) return undefined
    tags.set(name, match[2]!.trim())
  }
  return tags
}
