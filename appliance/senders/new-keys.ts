/**
 * Creates DKIM keys: at the request of a domain's owner, and on a schedule for domains whose records our DNS server
 * publishes.
 */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { DkimKey, Domain, Storage } from '../storage/storage.ts'
import { ALGORITHMS, findFreeSlots } from './aliases.ts'
import { generateDkimKey, type KeyGenerator } from './keys.ts'
import type { SendingHost } from './records.ts'
import { isRotationDue, pickSelectors } from './rotation.ts'

export interface NewKeysDeps {
  storage: Pick<Storage, 'dkimKeys' | 'addDkimKeys'>
  clock: Clock
  config: SendingHost
  /** Generates DKIM keys. */
  keygen?: KeyGenerator | undefined
}

/** Whether our DNS server publishes a domain's keys. */
const isDelegated = ({ delegation }: Pick<Domain, 'delegation'>, { nameserver }: SendingHost): boolean =>
  delegation !== 'none' && nameserver !== undefined

/** The selectors of new keys. */
type Selectors = readonly Pick<DkimKey, 'selector' | 'algorithm'>[]

/**
 * Chooses selectors for new keys, RSA first.
 * @param taken selectors that others already use
 */
export function chooseSelectors(
  domain: Pick<Domain, 'delegation'>,
  keys: readonly Pick<DkimKey, 'selector' | 'state'>[],
  { config, now, taken = [] }: { config: SendingHost; now: number; taken?: readonly string[] },
): Selectors {
  if (isDelegated(domain, config)) return findFreeSlots(keys)
  const { rsa, ed25519 } = pickSelectors([...keys.map(({ selector }) => selector), ...taken], now)
  const names = { 'rsa-sha256': rsa, 'ed25519-sha256': ed25519 }
  return ALGORITHMS.map((algorithm) => ({ algorithm, selector: names[algorithm] }))
}

/** Generates pending keys with these selectors, in this order. */
export async function generateKeys(
  { clock, keygen = generateDkimKey }: Pick<NewKeysDeps, 'clock' | 'keygen'>,
  { id: domainId, teamId }: Pick<Domain, 'id' | 'teamId'>,
  selectors: Selectors,
): Promise<DkimKey[]> {
  const pairs = await Promise.all(selectors.map(({ algorithm }) => keygen(algorithm)))
  const now = clock.now()
  return selectors.map(({ selector, algorithm }, at): DkimKey => ({
    id: newId(now),
    teamId,
    domainId,
    selector,
    algorithm,
    ...pairs[at]!,
    createdAt: now,
    state: 'pending',
    stateSince: now,
    retireAt: null,
  }))
}

/**
 * Creates the next keys of a domain. Without `restart`, nothing changes while a key waits for its record. Returns
 * undefined, or, if all selectors are in use, the day on which one becomes free; then nothing changes either.
 * Refuses: `not_found`.
 */
export async function renewKeys(
  deps: NewKeysDeps,
  domain: Domain,
  { restart = false }: { restart?: boolean } = {},
): Promise<string | undefined> {
  const { storage, clock, config } = deps
  const keys = await storage.dkimKeys({ domainId: domain.id }, clock.now())
  const unused = restart && domain.status === 'not_started'
  const selectors = chooseSelectors(domain, unused ? [] : keys, { config, now: clock.now() })
  if (selectors[0]?.algorithm !== 'rsa-sha256') return freeOn(keys)
  const { teamId, id: domainId } = domain
  const fresh = await generateKeys(deps, domain, selectors)
  const done = await storage.addDkimKeys({ teamId, domainId, keys: fresh, restart }, clock.now())
  if (done === 'gone') throw refuse('not_found', { resource: 'Domain' })
  return undefined
}

/** Returns the day on which the first retiring key is retired. */
function freeOn(keys: readonly Pick<DkimKey, 'algorithm' | 'retireAt'>[]): string {
  const times = keys.flatMap(({ algorithm, retireAt }) =>
    algorithm === 'rsa-sha256' && retireAt !== null ? [retireAt] : [],
  )
  return new Date(Math.min(...times)).toISOString().slice(0, 10)
}

/** Creates the next keys if the domain delegates its keys and they are due. Returns whether it created any. */
export async function renewKeysIfDue(
  deps: NewKeysDeps & { storage: Pick<Storage, 'getDomain'> },
  { teamId, id }: Pick<Domain, 'teamId' | 'id'>,
): Promise<boolean> {
  const { storage, clock, config } = deps
  const now = clock.now()
  const domain = await storage.getDomain({ teamId, id }, now)
  if (!domain || !config.nameserver || !isDelegated(domain, config)) return false
  const keys = await storage.dkimKeys({ domainId: id }, now)
  if (!isRotationDue(keys, domain.checks, { now, rotateMs: config.nameserver.rotateMs })) return false
  await renewKeys(deps, domain, { restart: true })
  return true
}
