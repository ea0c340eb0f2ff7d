import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Where we dial from. */
export interface Sources {
  /** Whether there is a way to the address: a source of its family. */
  reaches(ip: string): boolean
  /** The local address to dial `ip` from; undefined lets the system choose. */
  pick(ip: string, random: () => number): string | undefined
}

/** Whether the machine has an IPv6 address that the world can answer to (2000::/3, RFC 4291 §2.4). */
export function hasGlobalIpv6(
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): boolean {
  return Object.values(interfaces).some((addresses) =>
    addresses?.some(({ address, internal }) => !internal && /^[23][0-9a-f]{3}:/i.test(address)),
  )
}

/**
 * @param sourceIps the configured local addresses; when there are any, nothing else is used, and a family
 * without one is not spoken
 * @param ipv6 whether IPv6 works where the system chooses; by default, whether the machine has a global address
 */
export function createSources(sourceIps: readonly string[], ipv6?: boolean): Sources {
  const ofFamily = (ip: string): string[] => sourceIps.filter((source) => isIPv6(source) === isIPv6(ip))
  return {
    reaches(ip) {
      if (sourceIps.length > 0) return ofFamily(ip).length > 0
      return !isIPv6(ip) || ip === '::1' || (ipv6 ?? hasGlobalIpv6())
    },
    pick(ip, random) {
      const candidates = ofFamily(ip)
      return candidates[Math.floor(random() * candidates.length)]
    },
  }
}
