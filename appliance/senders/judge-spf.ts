import { BlockList, isIP, isIPv6 } from 'node:net'
import type { ExpectedRecord } from './records.ts'
import { right, wrong, type Opinion } from './opinion.ts'

interface Term {
  qualifier: string
  name: string
  value: string
}

const mechanisms = new Set(['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'])

/** Whether the policy lets us send (RFC 7208): exactly one record, sound, with each of our mechanisms before any `all`. */
export function judgeSpf(expected: ExpectedRecord, records: string[]): Opinion {
  if (records.length > 1)
    return wrong(
      `There are ${records.length} SPF records at ${expected.fqdn}, which receivers treat as an error (RFC 7208 §4.5). Merge them into one.`,
    )
  // Receivers look for exactly this (RFC 7208 §4.5).
  if (!/^v=spf1( |$)/i.test(records[0]!))
    return wrong('The record must start with "v=spf1 ". Replace it with the one shown here.')
  const published = parseSpf(records[0]!)
  if (typeof published === 'string')
    return wrong(`"${published}" is not a valid SPF term. Replace the record with the one shown here.`)
  const wanted = parseSpf(expected.value) as Term[]
  for (const ours of wanted.filter(({ name }) => name !== 'all')) {
    const opinion = judgeTerm(ours, published)
    if (!opinion.right) return opinion
  }
  return right
}

function judgeTerm(ours: Term, published: Term[]): Opinion {
  const text = `${ours.name}:${ours.value}`
  // Terms after `all` are never reached (RFC 7208 §5.1).
  const all = published.findIndex(({ name }) => name === 'all')
  const at = published.findIndex((term) => covers(term, ours))
  if (at < 0)
    return wrong(`The policy does not include this server. Add ${text} before the "all" at its end.`)
  if (all >= 0 && all < at)
    return wrong(`${text} comes after "all", so it is never evaluated. Move it to the front.`)
  const { qualifier } = published[at]!
  if (qualifier !== '+')
    return wrong(
      `${qualifier}${text} does not authorize this server. Use ${text} without the "${qualifier}".`,
    )
  return right
}

/** The terms of a policy; a string, the first one that is none. */
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

/** Whether a published term takes in ours: the same, or a network around the address. */
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
