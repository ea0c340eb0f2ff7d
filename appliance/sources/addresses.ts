/** Under which addresses receivers see this machine. */
import { isIP } from 'node:net'
import type { Answer, Resolver } from '../dns/dns.ts'
import { AUTO, type Family } from '../mail/source.ts'
import { whyForbidden } from '../wire/networks.ts'

/** What DNS says of a host name. */
export interface HostAnswers {
  name: string
  A: Answer<'A'>
  AAAA: Answer<'AAAA'>
}

/** An address under which receivers see mail from a source. */
export interface SeenAddress {
  ip: string
  family: Family
  /** The local address behind a router that replaces it; null where receivers see it as it is. */
  behind: string | null
}

/** Looks up both kinds of addresses. Never rejects. */
export async function lookUpHost(resolver: Pick<Resolver, 'resolve'>, name: string): Promise<HostAnswers> {
  const [A, AAAA] = await Promise.all([resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')])
  return { name, A, AAAA }
}

/** The addresses that were found for a host; empty also when DNS failed. */
export function addressesOf({ A, AAAA }: HostAnswers): string[] {
  return [...(A.kind === 'found' ? A.records : []), ...(AAAA.kind === 'found' ? AAAA.records : [])]
}

/** Whether the world can see an address as it is. */
export function isPublicAddress(ip: string): boolean {
  return whyForbidden(ip, []) === undefined
}

/** Of an address without a scope such as `%eth0`. */
export const familyOf = (ip: string): Family => (isIP(ip) === 6 ? 6 : 4)

/**
 * How receivers see a source. A private address is behind a router; what that makes of it nobody can tell from here, so the
 * addresses of the host name are believed. Empty when not even those are public.
 * @param local all addresses of the machine, for the source that the system chooses
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
