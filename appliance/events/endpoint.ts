/** Validates webhook endpoints. */
import { isIP } from 'node:net'
import { findUrlProblem } from '../wire/fetch.ts'
import { isInNetworks, isForbiddenTarget, type Cidr } from '../wire/networks.ts'

/**
 * Returns what is expected instead of an invalid endpoint URL; undefined when it may be tried. Host names are checked
 * at every request, by their IPs at that time; this check refuses only obvious problems.
 * @param own IPs of this machine's interfaces
 */
export function findEndpointProblem(
  text: string,
  allowNetworks: readonly Cidr[],
  own: readonly string[],
): string | undefined {
  if (!URL.canParse(text)) return 'an https:// URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'an https:// URL'
  const problem = findUrlProblem(url)
  if (problem !== undefined) return `a URL that ${problem}`
  if (url.hash !== '') return 'a URL without a fragment (#…)'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const ips = host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : [host]
  const known = ips.filter((ip) => isIP(ip) !== 0)
  if (known.length > 0 && known.every((ip) => isForbiddenTarget(ip, allowNetworks, own)))
    return 'a URL on a host with a public address, or in webhooks.allow_networks'
  const plain = url.protocol === 'http:'
  const listed =
    known.length === 0 ? allowNetworks.length > 0 : known.some((ip) => isInNetworks(ip, allowNetworks))
  if (plain && !listed) return 'an https:// URL (http:// only for networks in webhooks.allow_networks)'
  return undefined
}
