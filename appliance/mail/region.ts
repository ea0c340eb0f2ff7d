/** Regions: names of places that nodes and pools are in, and that domains choose. Pure. */

/** The regions of the hosted service. Any domain can choose them, whether or not a pool is there. */
export const HOSTED_REGIONS = ['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'] as const

/** The format of a region's name. */
const NAME = /^[a-z0-9][a-z0-9-]{0,49}$/

/** Whether a name can be a region: a hosted one or the operator's own. */
export const isRegionName = (name: string): boolean => NAME.test(name)

/** A pool that is in a region. Other pools are in none. */
export interface PoolRegion {
  pool: string
  region: string
}

/** A region whose nodes are all lost, so that its mail leaves from another one. */
export interface RegionFailover {
  region: string
  /** The region that mail leaves from meanwhile. */
  target: string
  /** When it began, in Unix milliseconds. */
  since: number
  /** The audit entry of the fail-over, which the moved deliveries name. */
  auditId: string
}

/** The regions of pools, and the regions that are failed over. */
export interface RegionMap {
  pools: readonly PoolRegion[]
  failovers: readonly RegionFailover[]
}

/** No pool has a region. */
export const NO_REGIONS: RegionMap = { pools: [], failovers: [] }

/** Returns the region of a pool; null if the pool is in no region. */
export const getPoolRegion = ({ pools }: Pick<RegionMap, 'pools'>, pool: string): string | null =>
  pools.find((one) => one.pool === pool)?.region ?? null

/** Lists the pools of a region in order of preference: `default` first, then by name. */
export const listPoolsOfRegion = ({ pools }: Pick<RegionMap, 'pools'>, region: string): string[] =>
  pools
    .filter((one) => one.region === region)
    .map(({ pool }) => pool)
    .toSorted((a, b) => Number(b === 'default') - Number(a === 'default') || (a < b ? -1 : 1))

/** Returns the pool that a region's mail leaves from, unless an assignment names another one of the region. */
export const getMainPool = (regions: Pick<RegionMap, 'pools'>, region: string): string | undefined =>
  listPoolsOfRegion(regions, region)[0]

/** Lists the regions that a domain can choose: the hosted ones, and those of pools. */
export const listRegions = ({ pools }: Pick<RegionMap, 'pools'>): string[] => [
  ...new Set<string>([...HOSTED_REGIONS, ...pools.map(({ region }) => region).toSorted()]),
]

/**
 * Returns the pool that mail is sent from, given the pool of the assignments and the domain's region.
 * @param home the pool of the assignments, and whether an assignment names the domain or team, which decides alone
 * @param region the region of the domain; null: none
 */
export function applyRegion(
  { pool, named }: { pool: string; named: boolean },
  region: string | null,
  regions: RegionMap,
): string {
  if (regions.pools.length === 0) return pool
  const own = getPoolRegion(regions, pool)
  const home = named || region === null || own === region ? pool : (getMainPool(regions, region) ?? pool)
  const place = getPoolRegion(regions, home)
  const failover = place === null ? undefined : regions.failovers.find((one) => one.region === place)
  return failover ? (getMainPool(regions, failover.target) ?? home) : home
}

/** A pool, as shown to operators. */
export interface PoolView {
  name: string
  /** The region that it is in; null: none. */
  region: string | null
  /** Its sending IPs, or `auto`. */
  sources: string[]
}

/** A region, as shown to operators. Times in Unix milliseconds. */
export interface RegionView {
  name: string
  pools: string[]
  /** Names of its nodes. */
  alive: string[]
  gone: string[]
  /** Number of domains of all teams that chose it. */
  domains: number
  /** Where its mail leaves from if all its nodes are gone for a time; null: it waits. */
  failover: { region: string; afterMs: number } | null
  /** Where its mail leaves from now, and since when; null: from the region itself. */
  active: { region: string; since: number } | null
}

/** Whether the SPF record of a domain covers the IPs of another region. */
export interface DomainPreview {
  id: string
  name: string
  teamId: string
  /** The domain whose SPF record receivers check. */
  returnPath: string
  /** The result for each IP, such as `pass`, `softfail` or `temperror`. */
  results: { ip: string; result: string }[]
}

/** What a fail-over would mean. */
export interface FailoverPreview {
  region: string
  target: string
  /** The pool that the mail would leave from; null if no pool is in the target region. */
  pool: string | null
  /** The IPs that receivers would see. */
  ips: string[]
  domains: DomainPreview[]
  /** Number of domains whose mail leaves from the region; `domains` has those that were checked. */
  total: number
}
