/** Determines the IPs that receivers see for this machine. */
import { isIP } from 'node:net'
import type { Answer, Resolver } from '../dns/dns.ts'
import { AUTO_IP, type AddressFamily } from '../mail/source.ts'
import { explainForbiddenTarget } from '../wire/networks.ts'

/** DNS answers for a host name. */
export interface HostAnswers {
  name: string
  A: Answer<'A'>
  AAAA: Answer<'AAAA'>
}

/** An IP that receivers see for mail from a sending IP. */
export interface VisibleAddress {
  ip: string
  family: AddressFamily
  /** The local IP behind a NAT router; null if receivers see the local IP itself. */
  behind: string | null
}

/** Looks up the A and AAAA records of a host. Never rejects. */
export async function lookUpHost(resolver: Pick<Resolver, 'resolve'>, name: string): Promise<HostAnswers> {
  const [A, AAAA] = await Promise.all([resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')])
  return { name, A, AAAA }
}

/** Returns the IPs that were found for a host; empty also if DNS failed. */
export function listAddresses({ A, AAAA }: HostAnswers): string[] {
  return [...(A.kind === 'found' ? A.records : []), ...(AAAA.kind === 'found' ? AAAA.records : [])]
}

/** Whether an IP is publicly routable. */
export function isPublicAddress(ip: string): boolean {
  return explainForbiddenTarget(ip, []) === undefined
}

/** Returns the family of an IP without a scope such as `%eth0`. */
export const getFamily = (ip: string): AddressFamily => (isIP(ip) === 6 ? 6 : 4)

/**
 * Returns the IPs that receivers see for a sending IP. A private IP is behind NAT, and its public IP can't be
 * determined from here, so the IPs of the host name are used. Empty if those aren't public either.
 * @param local all IPs of the machine, used if the system chooses the sending IP
 */
export function determineVisibleAddresses(
  source: string,
  host: HostAnswers,
  local: readonly string[],
  isPublic: (ip: string) => boolean,
): VisibleAddress[] {
  const published = listAddresses(host).filter(isPublic)
  const behindRouter = (ip: string): VisibleAddress[] =>
    published
      .filter((one) => getFamily(one) === getFamily(ip))
      .map((one) => ({ ip: one, family: getFamily(one), behind: ip }))
  const itself = (ip: string): VisibleAddress => ({ ip, family: getFamily(ip), behind: null })
  if (source !== AUTO_IP) return isPublic(source) ? [itself(source)] : behindRouter(source)
  const direct = local.filter(isPublic).map(itself)
  if (direct.some(({ family }) => family === 4)) return direct
  const inside = local.find((ip) => getFamily(ip) === 4)
  return [...(inside === undefined ? [] : behindRouter(inside)), ...direct]
}
