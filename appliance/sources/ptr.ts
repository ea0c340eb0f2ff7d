/**
 * Checks reverse DNS: whether the PTR record of a sending IP names its EHLO name, and whether that name resolves to the
 * IP.
 */
import { isIPv6 } from 'node:net'
import { confirmedNames, type PtrFacts } from '../dns/reverse.ts'
import type { Finding } from '../mail/finding.ts'
import { looksGeneric } from './names.ts'

/**
 * Returns the finding about an IP's reverse DNS.
 * @param helo the EHLO name used with this IP
 */
export function evaluatePtr(facts: PtrFacts, helo: string): Finding {
  const { ip, ptr } = facts
  const about = { id: `ptr:${ip}`, title: `Reverse DNS of ${ip}` }
  const ask = `Set the PTR record of ${ip} to ${helo}. The provider of the address can do this, often in its control panel.`
  if (ptr.kind === 'failed')
    return { ...about, status: 'skipped', found: `The DNS lookup failed: ${ptr.note}.`, advice: null }
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
      found: `The PTR record of ${ip} is ${confirmed.join(', ')}, which resolves back to it, but the EHLO name is ${helo}.`,
      advice: `${ask} Or set the EHLO name of this sending IP: posthaste source hostname ${ip} ${confirmed[0]}.`,
    }
  if (looksGeneric(helo))
    return {
      ...about,
      status: 'warning',
      found: `The PTR record of ${ip} is ${helo}, which looks like a residential connection.`,
      advice:
        'Choose a name for the machine, such as mail.example.com. Set it as hostname and as the PTR record.',
    }
  return {
    ...about,
    status: 'ok',
    found: `${ip} resolves to ${helo}, and ${helo} resolves to ${ip}.`,
    advice: null,
  }
}

function judgeUnconfirmed(
  { ip, forward }: PtrFacts,
  helo: string,
  ask: string,
): Pick<Finding, 'status' | 'found' | 'advice'> {
  const failed = forward.find(({ answer }) => answer.kind === 'failed')
  if (failed?.answer.kind === 'failed')
    return { status: 'skipped', found: `The DNS lookup failed: ${failed.answer.note}.`, advice: null }
  const seen = forward.map(({ name, answer }) =>
    answer.kind === 'found' ? `${name} (${answer.records.join(', ')})` : `${name} (no address)`,
  )
  const type = isIPv6(ip) ? 'AAAA' : 'A'
  const here = forward.some(({ name }) => name === helo.toLowerCase())
  return {
    status: 'failed',
    found: `The PTR record of ${ip} is ${seen.join(', ')}, which does not resolve back to it.`,
    advice: here ? `Publish the ${type} record ${ip} for ${helo}.` : ask,
  }
}
