/** Sending IPs: their registry, their checks, and the IPs that receivers see. */
export {
  listAddresses,
  getFamily,
  isPublicAddress,
  lookUpHost,
  determineVisibleAddresses,
  type HostAnswers,
  type VisibleAddress,
} from './addresses.ts'
export { queryBlocklist, evaluateListing, summarizeListings } from './blocklist.ts'
export { createSourceRegistry, type SourceRegistry } from './registry.ts'
export { createFailover } from './failover.ts'
export { createRegionOverview, type RegionOverview } from './regions.ts'
export { checkSource } from './check.ts'
export { isInternalName, looksGeneric } from './names.ts'
export {
  formatTeam,
  listTeamDomains,
  listReturnPaths,
  type OtherTeam,
  type TeamDomain,
} from './return-paths.ts'
export { evaluateSpf, explainHeloSpf } from './spf.ts'
export { createSourceWatcher, type SourceWatcher } from './watcher.ts'
