/** Reverse DNS: whether the PTR record of an address leads to a name that leads back (forward-confirmed, FCrDNS). */
import { isIPv6 } from 'node:net'
import type { Answer, Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'
import { reverseLabels } from '../wire/networks.ts'
import { looksGeneric } from './names.ts'

/** PTR records followed; honest addresses have one. */
const MOST_NAMES = 5

/** What DNS says of an address. */
export interface PtrFacts {
  ip: string
  ptr: Answer<'PTR'>
  /** The addresses of each name that the PTR record gives. */
  forward: { name: string; answer: Answer<'A' | 'AAAA'> }[]
}

/** The name at which the PTR record of an address is. */
export function reverseName(ip: string): string {
  return `${reverseLabels(ip)}.${isIPv6(ip) ? 'ip6' : 'in-addr'}.arpa`
}

/** Looks up both ways. Never rejects. */
export async function lookUpPtr(resolver: Pick<Resolver, 'resolve'>, ip: string): Promise<PtrFacts> {
  const ptr = await resolver.resolve(reverseName(ip), 'PTR')
  const names = ptr.kind === 'found' ? ptr.records.slice(0, MOST_NAMES) : []
  const type = isIPv6(ip) ? 'AAAA' : 'A'
  const look = async (name: string) => ({ name, answer: await resolver.resolve(name, type) })
  return { ip, ptr, forward: await Promise.all(names.map(look)) }
}

/** The names that lead back to the address. */
function confirmedNames({ ip, forward }: PtrFacts): string[] {
  return forward
    .filter(({ answer }) => answer.kind === 'found' && answer.records.includes(ip))
    .map(({ name }) => name)
}

/**
 * What reverse DNS of an address means for mail.
 * @param helo the name by which mail from the address introduces itself
 */
export function judgePtr(facts: PtrFacts, helo: string): Finding {
  const { ip, ptr } = facts
  const about = { id: `ptr:${ip}`, title: `Reverse DNS of ${ip}` }
  const ask = `Have the PTR record of ${ip} set to ${helo}: whoever gave you the address can, often in the customer's panel.`
  if (ptr.kind === 'failed')
    return { ...about, status: 'skipped', found: `DNS gave no answer: ${ptr.note}.`, advice: null }
  if (ptr.kind === 'absent')
    return {
      ...about,
      status: 'failed',
      found: `${ip} has no PTR record. Large providers refuse mail from such addresses.`,
      advice: ask,
    }
  const confirmed = confirmedNames(facts)
  if (confirmed.length === 0) return { ...about, ...judgeUnconfirmed(facts, helo, ask) }
  if (!confirmed.includes(helo.toLowerCase()))
    return {
      ...about,
      status: 'warning',
      found: `${ip} is ${confirmed.join(', ')} and leads back, but mail introduces itself as ${helo}.`,
      advice: `${ask} Or let this source introduce itself by its own name: posthaste source hostname ${ip} ${confirmed[0]}.`,
    }
  if (looksGeneric(helo))
    return {
      ...about,
      status: 'warning',
      found: `${ip} is ${helo}, which looks like the name of a home connection.`,
      advice: 'Give the machine a name of its own, such as mail.example.com, as hostname and as PTR record.',
    }
  return { ...about, status: 'ok', found: `${ip} is ${helo}, and back.`, advice: null }
}

function judgeUnconfirmed(
  { ip, forward }: PtrFacts,
  helo: string,
  ask: string,
): Pick<Finding, 'status' | 'found' | 'advice'> {
  const failed = forward.find(({ answer }) => answer.kind === 'failed')
  if (failed?.answer.kind === 'failed')
    return { status: 'skipped', found: `DNS gave no answer: ${failed.answer.note}.`, advice: null }
  const seen = forward.map(({ name, answer }) =>
    answer.kind === 'found' ? `${name} (${answer.records.join(', ')})` : `${name} (no address)`,
  )
  const type = isIPv6(ip) ? 'AAAA' : 'A'
  const here = forward.some(({ name }) => name === helo.toLowerCase())
  return {
    status: 'failed',
    found: `${ip} points to ${seen.join(', ')}, which does not lead back to it.`,
    advice: here ? `Publish the ${type} record of ${helo}: ${ip}.` : ask,
  }
}
