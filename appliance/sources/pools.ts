/** The pools of sending IPs, and the regions that they are in. */
import type { Clock } from '../clock/clock.ts'
import { getPoolRegion, isRegionName, type PoolView } from '../mail/region.ts'
import { refuse } from '../mail/refusals.ts'
import { DEFAULT_POOL, type Source } from '../mail/source.ts'
import type { StorageSubset } from '../storage/storage.ts'

export interface PoolMethods {
  /** Lists the pools by name: `default`, those with sending IPs, and those with a region. */
  pools(): Promise<PoolView[]>
  /** Returns a pool. Refuses: `not_found`. */
  pool(name: string): Promise<PoolView>
  /**
   * Puts a pool in a region, in any case; null: in none. Queued mail stays where it is.
   * Refuses: `not_found`, `invalid_field`.
   */
  setPoolRegion(name: string, region: string | null): Promise<PoolView>
}

/** Creates the methods of the registry for pools. @param list lists the sending IPs */
export function createPoolMethods(
  { storage, clock }: { storage: StorageSubset<'regions'>; clock: Pick<Clock, 'now'> },
  list: () => Promise<Source[]>,
): PoolMethods {
  const pools = async (): Promise<PoolView[]> => {
    const sources = await list()
    const regions = await storage.regionMap({}, clock.now())
    const named = [...sources.map(({ pool }) => pool), ...regions.pools.map(({ pool }) => pool)]
    return [...new Set([DEFAULT_POOL, ...named])].toSorted().map((name) => ({
      name,
      region: getPoolRegion(regions, name),
      sources: sources.filter(({ pool }) => pool === name).map(({ ip }) => ip),
    }))
  }
  const pool = async (name: string): Promise<PoolView> => {
    const found = (await pools()).find((one) => one.name === name)
    if (!found) throw refuse('not_found', { resource: `Pool ${name}` })
    return found
  }
  return {
    pools,
    pool,
    async setPoolRegion(name, given) {
      const known = await pool(name)
      const region = given?.toLowerCase() ?? null
      if (region !== null && !isRegionName(region))
        throw refuse('invalid_field', {
          field: 'region',
          expected:
            'a name such as eu-west-1: lowercase letters, digits and hyphens, at most 50; null for none',
        })
      await storage.setPoolRegion({ pool: name, region }, clock.now())
      return { ...known, region }
    },
  }
}
