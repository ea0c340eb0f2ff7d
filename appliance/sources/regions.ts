/** Shows operators the regions, and what a fail-over would mean for the SPF of the domains. */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { groupNodes } from '../mail/failover.ts'
import type { NodeView } from '../mail/node.ts'
import { refuse } from '../mail/refusals.ts'
import {
  getMainPool,
  listPoolsOfRegion,
  type DomainPreview,
  type FailoverPreview,
  type RegionMap,
  type RegionView,
} from '../mail/region.ts'
import { getReturnPathHost } from '../mail/return-path.ts'
import { AUTO_IP, choosePool, STREAMS, type Assignment, type Source } from '../mail/source.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { determineVisibleAddresses, isPublicAddress, listAddresses, lookUpHost } from './addresses.ts'
import { listTeamDomains } from './return-paths.ts'
import { evaluateSpf } from './spf.ts'

export interface RegionOverview {
  /** Lists the regions of nodes, pools and domains, by name. */
  list(): Promise<RegionView[]>
  /**
   * Checks SPF for the domains whose mail leaves from a region as if it left from another one.
   * @param to default: the region that its nodes name in `failover.region`
   * Refuses: `not_found`, `missing_field`, `invalid_field`.
   */
  preview(region: string, to?: string): Promise<FailoverPreview>
}

export interface RegionOverviewDeps {
  storage: Pick<Storage, 'regionMap' | 'listSources' | 'listAssignments' | 'listTeams' | 'listDomains'>
  clock: Pick<Clock, 'now'>
  resolver: Pick<Resolver, 'resolve'>
  listNodes: () => Promise<readonly NodeView[]>
}

/** Maximum number of domains of a preview. */
const MOST_DOMAINS = 500
/** Time after which a preview checks no further domains, in milliseconds of real time. Owners of domains control their DNS. */
const MOST_MS = 20_000
/** Number of domains that are checked at the same time. */
const AT_ONCE = 10

/** Creates the overview. */
export function createRegionOverview(deps: RegionOverviewDeps): RegionOverview {
  const { storage, clock } = deps
  const domainsOf = async (): Promise<Domain[]> =>
    (await listTeamDomains(storage, { everyTeam: true }, clock.now())).map(({ domain }) => domain)
  const list = async (): Promise<RegionView[]> => {
    const regions = await storage.regionMap({}, clock.now())
    const groups = groupNodes(await deps.listNodes())
    const counts = Map.groupBy(await domainsOf(), ({ region }) => region)
    const placed = [...groups, ...regions.pools].map(({ region }) => region)
    return [...new Set([...placed, ...counts.keys()])].toSorted().map((name) => {
      const nodes = groups.find(({ region }) => region === name)
      const active = regions.failovers.find(({ region }) => region === name)
      return {
        name,
        pools: listPoolsOfRegion(regions, name),
        alive: nodes?.alive ?? [],
        gone: nodes?.gone ?? [],
        domains: counts.get(name)?.length ?? 0,
        failover: nodes?.failover ?? null,
        active: active ? { region: active.target, since: active.since } : null,
      }
    })
  }
  return {
    list,
    async preview(region, to) {
      const all = await list()
      const known = all.find(({ name }) => name === region)
      if (!known) throw refuse('not_found', { resource: `Region ${region}` })
      const target = to ?? known.failover?.region
      if (target === undefined) throw refuse('missing_field', { field: 'to' })
      const others = all.map(({ name }) => name).filter((name) => name !== region)
      if (!others.includes(target))
        throw refuse('invalid_field', { field: 'to', expected: `another region: ${others.join(', ')}` })
      return preview(deps, { region, target }, await domainsOf())
    },
  }
}

/** Whether mail of a domain leaves from a pool of the region while it isn't failed over. */
function leavesFrom(
  { id, teamId, region }: Domain,
  of: string,
  assignments: readonly Assignment[],
  regions: RegionMap,
): boolean {
  const pools = listPoolsOfRegion(regions, of)
  const usual = { ...regions, failovers: [] }
  const mail = { teamId, domainId: id, region }
  return STREAMS.some((stream) => pools.includes(choosePool(assignments, { ...mail, stream }, usual)))
}

async function preview(
  deps: RegionOverviewDeps,
  { region, target }: { region: string; target: string },
  domains: readonly Domain[],
): Promise<FailoverPreview> {
  const { storage, clock, resolver } = deps
  const regions = await storage.regionMap({}, clock.now())
  const assignments = await storage.listAssignments({}, clock.now())
  const pool = getMainPool(regions, target) ?? null
  const own = domains.filter((one) => leavesFrom(one, region, assignments, regions))
  const all = await storage.listSources({}, clock.now())
  const sources = all.filter((one) => one.pool === pool && one.state === 'active')
  const ips = await listVisibleIps(deps, sources, target)
  const checked: DomainPreview[] = []
  const until = performance.now() + MOST_MS
  for (let at = 0; at < Math.min(own.length, MOST_DOMAINS) && performance.now() < until; at += AT_ONCE) {
    const some = own.slice(at, Math.min(at + AT_ONCE, MOST_DOMAINS))
    checked.push(...(await Promise.all(some.map((one) => checkSpf(resolver, one, ips)))))
  }
  return { region, target, pool, ips: ips.map(({ ip }) => ip), domains: checked, total: own.length }
}

/** An IP that receivers see, and the EHLO name. */
interface Visible {
  ip: string
  helo: string
}

/** Returns the IPs that receivers see for sources of a region. A private IP is behind the address of its host name. */
async function listVisibleIps(
  { resolver, listNodes }: RegionOverviewDeps,
  sources: readonly Source[],
  region: string,
): Promise<Visible[]> {
  const nodes = await listNodes()
  const hostsOf = ({ ip, hostname }: Source): string[] => {
    if (hostname !== null) return [hostname]
    const own = nodes.filter((one) => (ip === AUTO_IP ? one.region === region : one.sources.includes(ip)))
    return own.map((node) => node.hostname).filter((name) => name !== '')
  }
  const seen = new Map<string, Visible>()
  for (const source of sources) {
    const hosts = hostsOf(source)
    for (const helo of hosts.length > 0 ? hosts : [source.ip]) {
      // The addresses of other machines are unknown here, so `auto` has those of the host name.
      const host = await lookUpHost(resolver, helo)
      const local = source.ip === AUTO_IP ? listAddresses(host) : []
      const visible = determineVisibleAddresses(source.ip, host, local, isPublicAddress).map(({ ip }) => ip)
      const own = source.ip === AUTO_IP ? local : [source.ip]
      for (const ip of visible.length > 0 ? visible : own) seen.set(ip, { ip, helo })
    }
  }
  return [...seen.values()]
}

async function checkSpf(
  resolver: RegionOverviewDeps['resolver'],
  domain: Domain,
  ips: readonly Visible[],
): Promise<DomainPreview> {
  const { id, name, teamId } = domain
  const returnPath = getReturnPathHost(domain)
  const results: DomainPreview['results'] = []
  for (const { ip, helo } of ips) {
    const { result } = await evaluateSpf(resolver, { ip, domain: returnPath, helo })
    results.push({ ip, result })
  }
  return { id, name, teamId, returnPath, results }
}
