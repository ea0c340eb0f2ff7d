/** Sending IPs: their registry, their checks, and how receivers see them. */
export {
  addressesOf,
  familyOf,
  isPublicAddress,
  lookUpHost,
  seenAddresses,
  type HostAnswers,
  type SeenAddress,
} from './addresses.ts'
export { askBlocklist, judgeListing, summarise } from './blocklist.ts'
export { createSourceBook, type SourceBook } from './book.ts'
export { lookAtSource } from './check.ts'
export { isInternalName, looksGeneric } from './names.ts'
export { ofTeam, readDomains, returnPathsOf, type OtherTeam, type TeamDomain } from './return-paths.ts'
export { evaluateSpf, judgeSpfOfHelo } from './spf.ts'
export { createSourceWatcher, type SourceWatcher } from './watcher.ts'
