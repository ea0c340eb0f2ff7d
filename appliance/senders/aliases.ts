/**
 * Names of the records that our DNS server publishes for a domain. Its owner publishes aliases (CNAME records) to the keys
 * once, so that keys change without the owner. Pure.
 *
 * The aliases contain the id of the domain. Another team that adds the same name gets another id, so that an alias that was
 * left behind verifies nothing for it.
 */
import { returnPathHost } from '../mail/return-path.ts'
import type { DkimKey, Domain } from '../storage/storage.ts'

/** The selectors of each algorithm, used in turn: one signs while the other is retiring or gets the next key. */
const SELECTORS = {
  'rsa-sha256': ['posthaste1', 'posthaste2'],
  'ed25519-sha256': ['posthaste-ed25519-1', 'posthaste-ed25519-2'],
} as const

export const ALGORITHMS = ['rsa-sha256', 'ed25519-sha256'] as const
type Algorithm = (typeof ALGORITHMS)[number]

/** All selectors that are aliases. */
export const ALIASED: string[] = ALGORITHMS.flatMap((algorithm) => SELECTORS[algorithm])

/** Whether the record of a key is published by our DNS server. */
export const isAliased = ({ selector }: Pick<DkimKey, 'selector'>): boolean => ALIASED.includes(selector)

/** The zone of our DNS server, and the names of the servers. In lower case. */
export interface NameserverNames {
  zone: string
  names: readonly string[]
  /** How long a DKIM key of a domain that delegates it signs, in milliseconds. */
  rotateMs: number
}

type Slot = { selector: string; algorithm: Algorithm }

/** Returns the selectors of the aliases, with their algorithms. */
export const slots = (): Slot[] =>
  ALGORITHMS.flatMap((algorithm) => SELECTORS[algorithm].map((selector) => ({ selector, algorithm })))

/**
 * Returns the selectors for new keys: of each algorithm, one that no key needs. Replaces a pending key. An algorithm is left
 * out if all its selectors are in use.
 */
export function freeSlots(keys: readonly Pick<DkimKey, 'selector' | 'state'>[]): Slot[] {
  const used = (selector: string): boolean =>
    keys.some((key) => key.selector === selector && key.state !== 'retired' && key.state !== 'pending')
  return ALGORITHMS.flatMap((algorithm) => {
    const selector = SELECTORS[algorithm].find((one) => !used(one))
    return selector === undefined ? [] : [{ selector, algorithm }]
  })
}

/** Returns the name in our zone that an alias points to. */
export function aliasTarget(selector: string, domain: { id: string }, zone: string): string {
  return `${selector}.${domain.id}.${zone}`
}

/**
 * How long a key is published before it signs, in milliseconds. Longer than the TTL of the key that the selector had before,
 * and than a resolver remembers that there was none.
 */
export const PUBLISHED_BEFORE = 3_600_000

/** Returns the subdomain that `ns` delegates: the host of the return path. */
export const delegatedName = (domain: Pick<Domain, 'name' | 'returnPath'>): string =>
  returnPathHost(domain).toLowerCase()

/** Whether delegating a name would take names of the server itself. */
export function overlaps(
  name: string,
  { hostname, nameserver }: { hostname: string; nameserver?: NameserverNames | undefined },
): boolean {
  const own = [hostname.toLowerCase(), ...(nameserver ? [nameserver.zone, ...nameserver.names] : [])]
  return (
    own.some((one) => isWithin(one, name)) || (nameserver !== undefined && isWithin(name, nameserver.zone))
  )
}

/** Whether a name is another name or below it. Both in lower case. */
export const isWithin = (inner: string, outer: string): boolean => `.${inner}`.endsWith(`.${outer}`)
