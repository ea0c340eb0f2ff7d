/** Determines under which IPs receivers see this machine. */
import { isIP } from 'node:net'
import type { Answer, Resolver } from '../dns/dns.ts'
import { AUTO, type Family } from '../mail/source.ts'
import { whyForbidden } from '../wire/networks.ts'

/** DNS answers for a host name. */
export interface HostAnswers {
  name: string
  A: Answer<'A'>
  AAAA: Answer<'AAAA'>
}

/** An IP under which receivers see mail from a source. */
export interface SeenAddress {
  ip: string
  family: Family
  /** The local IP behind a NAT router; null when receivers see it directly. */
  behind: string | null
}

/** Looks up A and AAAA. Never rejects. */
export async function lookUpHost(resolver: Pick<Resolver, 'resolve'>, name: string): Promise<HostAnswers> {
  const [A, AAAA] = await Promise.all([resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')])
  return { name, A, AAAA }
}

/** Returns the IPs found for a host; empty also when DNS failed. */
export function addressesOf({ A, AAAA }: HostAnswers): string[] {
  return [...(A.kind === 'found' ? A.records : []), ...(AAAA.kind === 'found' ? AAAA.records : [])]
}

/** Whether an IP is publicly routable. */
export function isPublicAddress(ip: string): boolean {
  return whyForbidden(ip, []) === undefined
}

/** Returns the family of an IP without a scope such as `%eth0`. */
export const familyOf = (ip: string): Family => (isIP(ip) === 6 ? 6 : 4)

/**
 * Returns the IPs under which receivers see a source. A private IP is behind NAT, and its public IP can't be determined
 * from here; the IPs of the host name are used instead. Empty when those aren't public either.
 * @param local all IPs of the machine, for when the system chooses
 */
export function seenAddresses(
  source: string,
  host: HostAnswers,
  local: readonly string[],
  isPublic: (ip: string) => boolean,
): SeenAddress[] {
  const published = addressesOf(host).filter(isPublic)
  const behindRouter = (ip: string): SeenAddress[] =>
    published
      .filter((one) => familyOf(one) === familyOf(ip))
      .map((one) => ({ ip: one, family: familyOf(one), behind: ip }))
  const itself = (ip: string): SeenAddress => ({ ip, family: familyOf(ip), behind: null })
  if (source !== AUTO) return isPublic(source) ? [itself(source)] : behindRouter(source)
  const direct = local.filter(isPublic).map(itself)
  if (direct.some(({ family }) => family === 4)) return direct
  const inside = local.find((ip) => familyOf(ip) === 4)
  return [...(inside === undefined ? [] : behindRouter(inside)), ...direct]
}
