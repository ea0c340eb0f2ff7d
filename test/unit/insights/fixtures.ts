import type { Blocklist } from '../../../appliance/config/config.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import type { Resolver } from '../../../appliance/dns/dns.ts'
import type { Finding } from '../../../appliance/mail/finding.ts'
import {
  startZoneServer,
  type Zone,
  type ZoneFunction,
  type ZoneServer,
} from '../../../appliance/sandbox/zone.ts'
import { freeAddress } from '../../world/addresses.ts'
import { createTestClock } from '../../world/clock.ts'

/** A zone server on loopback, and resolvers for it that share no cache. */
export interface Names {
  dns: ZoneServer
  fresh: () => Resolver
  close(): Promise<void>
}

export async function startNames(zone: Zone | ZoneFunction): Promise<Names> {
  const dns = await startZoneServer({ zone, address: freeAddress() })
  const opened: Resolver[] = []
  return {
    dns,
    fresh() {
      const servers = [`${dns.address}:${dns.port}`]
      const resolver = createResolver({
        servers,
        clock: createTestClock(),
        timeoutMs: 300,
        authoritativePort: dns.port,
      })
      opened.push(resolver)
      return resolver
    },
    async close() {
      for (const resolver of opened) resolver.close()
      await dns.close()
    },
  }
}

/** An IP blocklist whose listed addresses are taken out of use. */
export const list: Blocklist = {
  zone: 'bl.test',
  name: 'Test list',
  lists: 'addresses',
  suspend: true,
  delist: 'https://bl.test/',
  listed: { '127.0.0.2': 'sent spam' },
  refused: { '127.255.255.254': 'the resolver is a public one' },
}

/** Returns a finding's status and texts. */
export const said = ({ status, found, advice }: Finding): [string, string, string | null] => [
  status,
  found,
  advice,
]
