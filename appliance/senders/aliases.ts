/**
 * Names of the records that our DNS server publishes for a domain. The domain's owner publishes aliases (CNAME records)
 * to the keys once, so that keys can change without the owner. Pure.
 *
 * The aliases contain the id of the domain. If another team adds the same name, that domain gets another id, so an
 * alias that was left behind verifies nothing for that team.
 */
import { getReturnPathHost } from '../mail/return-path.ts'
import type { DkimKey, Domain } from '../storage/storage.ts'

/** The selectors of each algorithm, used in turn: one signs while the other is retiring or gets the next key. */
const SELECTORS = {
  'rsa-sha256': ['posthaste1', 'posthaste2'],
  'ed25519-sha256': ['posthaste-ed25519-1', 'posthaste-ed25519-2'],
} as const

export const ALGORITHMS = ['rsa-sha256', 'ed25519-sha256'] as const
type Algorithm = (typeof ALGORITHMS)[number]

/** All selectors that are published as aliases. */
export const ALIASED_SELECTORS: string[] = ALGORITHMS.flatMap((algorithm) => SELECTORS[algorithm])

/** Whether the record of a key is published by our DNS server. */
export const isAliased = ({ selector }: Pick<DkimKey, 'selector'>): boolean =>
  ALIASED_SELECTORS.includes(selector)

/** The zone of our DNS server, and the names of the servers, in lower case. */
export interface NameserverNames {
  zone: string
  names: readonly string[]
  /** How long a DKIM key signs if its domain delegates it, in milliseconds. */
  rotateMs: number
}

type Slot = { selector: string; algorithm: Algorithm }

/** Returns the selectors of the aliases, with their algorithms. */
export const listSlots = (): Slot[] =>
  ALGORITHMS.flatMap((algorithm) => SELECTORS[algorithm].map((selector) => ({ selector, algorithm })))

/**
 * Returns the selectors for new keys: for each algorithm, one that no key needs. A pending key is replaced. Omits an
 * algorithm if all its selectors are in use.
 */
export function findFreeSlots(keys: readonly Pick<DkimKey, 'selector' | 'state'>[]): Slot[] {
  const used = (selector: string): boolean =>
    keys.some((key) => key.selector === selector && key.state !== 'retired' && key.state !== 'pending')
  return ALGORITHMS.flatMap((algorithm) => {
    const selector = SELECTORS[algorithm].find((one) => !used(one))
    return selector === undefined ? [] : [{ selector, algorithm }]
  })
}

/** Returns the name in our zone that an alias points to. */
export function getAliasTarget(selector: string, domain: { id: string }, zone: string): string {
  return `${selector}.${domain.id}.${zone}`
}

/**
 * How long a key is published before it signs, in milliseconds. Longer than the TTL of the selector's previous key, and
 * than resolvers cache that there was none.
 */
export const PUBLISH_LEAD_MS = 3_600_000

/** Returns the subdomain delegated with `ns`: the host of the return path. */
export const getDelegatedName = (domain: Pick<Domain, 'name' | 'returnPath'>): string =>
  getReturnPathHost(domain).toLowerCase()

/** Whether a name overlaps with names of the server itself, so that it can't be delegated. */
export function overlapsServerNames(
  name: string,
  { hostname, nameserver }: { hostname: string; nameserver?: NameserverNames | undefined },
): boolean {
  const own = [hostname.toLowerCase(), ...(nameserver ? [nameserver.zone, ...nameserver.names] : [])]
  return (
    own.some((one) => isWithin(one, name)) || (nameserver !== undefined && isWithin(name, nameserver.zone))
  )
}

/** Whether `inner` equals `outer` or is below it. Both in lower case. */
export const isWithin = (inner: string, outer: string): boolean => `.${inner}`.endsWith(`.${outer}`)
