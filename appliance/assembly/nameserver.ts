/** Opens the DNS server, if one is configured. */
import { randomBytes } from 'node:crypto'
import { createNameserver, createZoneCache, type ZoneData } from '../nameserver/nameserver.ts'
import { createZoneBuilder } from '../senders/senders.ts'
import type { SharedResources, AccountsAndSenders } from './foundations.ts'
import type { Policies } from './mta-sts.ts'

/** Opens the listeners for DNS queries. Returns their addresses. */
export async function openNameserver(
  ground: SharedResources,
  { book }: AccountsAndSenders,
  policies: Policies,
): Promise<string[]> {
  const { config, storage, clock, capacity, instruments, started } = ground
  if (!book.host.nameserver || !capacity.dns) return []
  const zoneCache = createZoneCache({
    ...ground,
    pollMs: ground.options.pollMs === undefined ? undefined : Math.max(ground.options.pollMs, 5000),
    read: () => readZones(ground, book, policies),
    serialOf: (digest) => storage.zoneSerial({ digest }, clock.now()),
  })
  await zoneCache.refresh()
  const secret = await storage.secret({ name: 'dns cookies', fresh: randomBytes(32) }, clock.now())
  const nameserver = createNameserver({
    zones: () => zoneCache.zones(),
    clock,
    connections: capacity.dns,
    secret,
    count: (transport, result) => instruments.dnsQueried(transport, result),
  })
  started.defer(() => nameserver.close())
  const bound = await nameserver.listen(config.nameserver.listen)
  started.defer(() => zoneCache.stop())
  zoneCache.start()
  return bound
}

/** Reads our own zone with the keys of all domains, and the subdomains that domains delegate. */
async function readZones(
  { storage, clock }: SharedResources,
  { host }: AccountsAndSenders['book'],
  policies: Policies,
): Promise<Omit<ZoneData, 'serial'>[]> {
  if (host.policies === true) await policies.refresh()
  const published: string[] = []
  const { selectors, zonesOf } = createZoneBuilder(host, (apex) => {
    const policy = policies.publish(apex)
    if (policy !== null) published.push(apex)
    return policy
  })
  const served = await storage.servedDomains({ selectors }, clock.now())
  const contact = `postmaster.${host.hostname.toLowerCase()}`
  const zones = zonesOf(served)
  policies.serve(published)
  return zones.map((zone) => ({ ...zone, nameServers: host.nameserver!.names, contact }))
}
