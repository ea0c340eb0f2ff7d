/** Sending domains: adds, configures, verifies and removes them, and rotates their DKIM keys. */
import { domainToASCII } from 'node:url'
import { parseDomain } from '../mail/domain.ts'
import type { EventDomain } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { HOSTED_REGIONS, listRegions } from '../mail/region.ts'
import type { DkimKey, Domain, DomainSettings, Storage } from '../storage/storage.ts'
import { startVerification } from './verification-schedule.ts'
import type { KeyGenerator } from './keys.ts'
import { checkDomainRecords, type DomainCheckDeps, toEventDomain } from './check-domain.ts'
import { getDelegatedName, isWithin, overlapsServerNames } from './aliases.ts'
import { isReturnPathLabel, validateDomainName } from './names.ts'
import { chooseSelectors, generateKeys, renewKeys } from './new-keys.ts'
import { buildExpectedRecords, type ExpectedRecord, type SendingHost } from './records.ts'

export interface NewDomainArgs {
  teamId: string
  /** Domain name in U-labels or A-labels. */
  name: string
  /**
   * A region of the hosted service, or of a pool. The domain's mail leaves from it, if it has a pool. Default:
   * `us-east-1`, as in the hosted service.
   */
  region?: string | undefined
  /** Label of the return path. Default: `send`. */
  returnPath?: string | undefined
  settings?: Partial<DomainSettings> | undefined
  /** Selectors that new keys must not use, because others already use them. */
  takenSelectors?: readonly string[] | undefined
}

export interface DomainMethods {
  /**
   * Adds a domain with new DKIM keys.
   * Refuses: `invalid_field`, `invalid_region`, `domain_taken`.
   */
  addDomain(args: NewDomainArgs): Promise<Domain>
  /**
   * Validates a new domain in a hosted region like `addDomain`, without adding it.
   * Refuses: what `addDomain` would refuse, except `domain_taken`.
   */
  checkDomain(args: NewDomainArgs): void
  /** Newest first. */
  listDomains(args: { teamId: string }): Promise<Domain[]>
  /** Returns a domain. Refuses: `not_found`. */
  getDomain(args: { teamId: string; id: string }): Promise<Domain>
  /** Finds a domain by name, in any case and script; undefined if the team has none with this name. */
  findDomain(args: { teamId: string; name: string }): Promise<Domain | undefined>
  /**
   * Changes the given settings.
   * Refuses: `not_found`, `invalid_field`.
   */
  updateDomain(args: { teamId: string; id: string; settings: Partial<DomainSettings> }): Promise<void>
  /** Removes a domain. Refuses: `not_found`. */
  removeDomain(args: { teamId: string; id: string }): Promise<void>
  /** Returns the zone of our DNS server; null if there is none. */
  delegationZone(): string | null
  /** Returns the records that the domain's owner has to publish. */
  expectedRecords(domain: Domain): Promise<ExpectedRecord[]>
  /** Returns all DKIM keys, oldest first, including retired ones, without private keys. */
  dkimKeys(domain: Domain): Promise<PublicKey[]>
  /**
   * Looks up every record; stores the results and the domain's new status.
   * Refuses: `not_found`, `domain_held`.
   */
  verifyDomain(args: { teamId: string; id: string }): Promise<Domain>
  /**
   * Starts a verification in the background and returns immediately.
   * Refuses: `not_found`, `domain_held`.
   */
  requestVerification(args: { teamId: string; id: string }): Promise<void>
  /**
   * Creates new DKIM keys, which take over once their records are published; calling it again before that changes
   * nothing. Returns the pending keys.
   * Refuses: `not_found`, `dkim_selectors_used`.
   */
  rotateKeys(args: { teamId: string; id: string }): Promise<PublicKey[]>
}

/** A DKIM key without its private key. */
export type PublicKey = Omit<DkimKey, 'privateKey'>

export interface DomainDeps extends DomainCheckDeps {
  storage: Storage
  /** Notifies the watcher that a check is due. */
  wake: () => void
  /** Generates DKIM keys. */
  keygen?: KeyGenerator | undefined
}

const defaults: DomainSettings = {
  tls: 'opportunistic',
  sending: true,
  receiving: false,
  openTracking: false,
  clickTracking: false,
  trackingSubdomain: null,
  delegation: 'none',
}

/** Converts a name to A-labels. The name need not be a valid mail domain: if it isn't, it won't be found. */
const asciiOf = (name: string): string => parseDomain(name) ?? domainToASCII(name).replace(/\.$/, '')

export function createDomainMethods(deps: DomainDeps): DomainMethods {
  const { storage, clock, config, wake } = deps
  const notFound = () => refuse('not_found', { resource: 'Domain' })
  const getDomain: DomainMethods['getDomain'] = async (args) => {
    const domain = await storage.getDomain(args, clock.now())
    if (!domain) throw notFound()
    return domain
  }
  const keysOf = (domain: Domain) => storage.dkimKeys({ domainId: domain.id }, clock.now())
  const eventOf = async (domain: Domain) =>
    toEventDomain(domain, buildExpectedRecords(domain, await keysOf(domain), config))
  const beginVerification = async (args: { teamId: string; id: string }): Promise<boolean> => {
    const now = clock.now()
    const domain = await unheld(await getDomain(args), deps)
    const begun = startVerification(domain, now)
    const told = begun.status === domain.status ? undefined : await eventOf({ ...domain, ...begun })
    return storage.scheduleDomainCheck({ ...args, ...begun, seen: domain.status, told }, now)
  }

  return {
    addDomain: (args) => addDomain(deps, args),
    checkDomain: (args) => checkDelegation(newDomain(args, HOSTED_REGIONS, clock.now()), config),
    listDomains: (args) => storage.listDomains(args, clock.now()),
    getDomain,
    findDomain: ({ teamId, name }) => storage.findDomain({ teamId, name: asciiOf(name) }, clock.now()),
    updateDomain: (args) => updateDomain(deps, args, { getDomain, eventOf }),
    async removeDomain(args) {
      const told = await eventOf(await getDomain(args))
      if (!(await storage.deleteDomain({ ...args, told }, clock.now()))) throw notFound()
    },
    delegationZone: () => config.nameserver?.zone ?? null,
    expectedRecords: async (domain) => buildExpectedRecords(domain, await keysOf(domain), config),
    dkimKeys: async (domain) => (await keysOf(domain)).map(publicOf),
    async verifyDomain(args) {
      await checkDomainRecords(await unheld(await getDomain(args), deps), true, deps)
      return getDomain(args)
    },
    async requestVerification(args) {
      // Retry if a check has changed the status at the same time.
      while (!(await beginVerification(args)));
      wake()
    },
    async rotateKeys(args) {
      const domain = await getDomain(args)
      const rotating = (await keysOf(domain)).some(isNextKey)
      const date = rotating ? undefined : await renewKeys(deps, domain)
      if (date !== undefined) throw refuse('dkim_selectors_used', { date })
      await lookSoon(deps, domain)
      return (await keysOf(domain)).filter(({ state }) => state === 'pending').map(publicOf)
    },
  }
}

async function updateDomain(
  deps: DomainDeps,
  args: Parameters<DomainMethods['updateDomain']>[0],
  {
    getDomain,
    eventOf,
  }: Pick<DomainMethods, 'getDomain'> & { eventOf: (domain: Domain) => Promise<EventDomain> },
): Promise<void> {
  const { storage, clock } = deps
  const changes = defined(args.settings)
  const domain = await getDomain(args)
  const next = { ...domain, ...changes }
  checkSettings(next)
  const moved = next.delegation !== domain.delegation
  if (moved) checkDelegation(next, deps.config)
  const told = await eventOf({ ...domain, ...changes })
  if (!(await storage.updateDomain({ ...args, told }, clock.now()))) {
    // Another request has turned off the other capability, or removed the domain.
    checkSettings({ ...(await getDomain(args)), ...changes })
    throw refuse('not_found', { resource: 'Domain' })
  }
  // Our DNS server publishes the keys from now on, or no longer does, so new keys are needed. If no selector is free,
  // the watcher creates them later.
  if (moved && [domain.delegation, next.delegation].includes('none'))
    await renewKeys(deps, next, { restart: true })
  const { trackingSubdomain: named = null } = args.settings
  if (moved || (named !== null && named !== domain.trackingSubdomain)) await lookSoon(deps, domain)
}

/**
 * Returns the domain unless another team has verified its name.
 * Refuses: `domain_held`.
 */
async function unheld(domain: Domain, { storage, clock }: DomainDeps): Promise<Domain> {
  const isHeld = await storage.isDomainHeld({ id: domain.id }, clock.now())
  if (isHeld) throw refuse('domain_held', { domain: domain.name })
  return domain
}

/** Checks new records immediately, unless no verification has been requested yet. */
async function lookSoon({ storage, clock, wake }: DomainDeps, { teamId, id }: Domain): Promise<void> {
  await storage.hastenDomainCheck({ teamId, id }, clock.now())
  wake()
}

const publicOf = ({ privateKey: _, ...key }: DkimKey): PublicKey => key

/** Removes undefined fields, which would overwrite existing values when spread into an object. */
const defined = (settings: Partial<DomainSettings>): Partial<DomainSettings> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

function checkSettings({
  sending,
  receiving,
  trackingSubdomain,
  returnPath,
}: DomainSettings & Pick<Domain, 'returnPath'>): void {
  if (!sending && !receiving)
    throw refuse('invalid_field', {
      field: 'capabilities',
      expected: 'at least one capability must be enabled',
    })
  if (trackingSubdomain !== null && !isReturnPathLabel(trackingSubdomain))
    throw refuse('invalid_field', { field: 'tracking_subdomain', expected: 'a label such as links' })
  // A name with a CNAME has no other records (RFC 1034 §3.6.2).
  if (trackingSubdomain?.toLowerCase() === returnPath.toLowerCase())
    throw refuse('invalid_field', {
      field: 'tracking_subdomain',
      expected: "a label different from the return path's",
    })
}

/** Checks that our DNS server can publish records of a domain. */
function checkDelegation(domain: Domain, config: SendingHost): void {
  const { delegation, name } = domain
  if (delegation === 'none') return
  const no = (expected: string) => refuse('invalid_field', { field: 'delegation', expected })
  if (!config.nameserver) throw no('none, because this server has no DNS server (nameserver.zone)')
  if (isWithin(name, config.nameserver.zone))
    throw no("none, because the domain is in the DNS server's own zone")
  if (delegation === 'ns' && overlapsServerNames(getDelegatedName(domain), config))
    throw no(`none or cname, because ${getDelegatedName(domain)} contains names of this server`)
}

/** Whether a key is waiting to replace another one. A pending Ed25519 key alone is not a rotation. */
const isNextKey = ({ state, algorithm }: DkimKey): boolean =>
  state === 'pending' && algorithm === 'rsa-sha256'

/** Builds the requested domain after validation. */
function newDomain(
  { teamId, name, region = HOSTED_REGIONS[0], returnPath = 'send', settings = {} }: NewDomainArgs,
  regions: readonly string[],
  now: number,
): Domain {
  const judged = validateDomainName(name)
  if (!judged.ok) throw refuse('invalid_field', { field: 'name', expected: judged.expected })
  if (!regions.includes(region))
    throw refuse('invalid_region', { regions: regions.map((one) => `"${one}"`).join(' | ') })
  if (!isReturnPathLabel(returnPath))
    throw refuse('invalid_field', { field: 'custom_return_path', expected: 'a label such as send' })
  const domain: Domain = {
    id: newId(now),
    teamId,
    name: judged.name,
    region,
    returnPath,
    ...defaults,
    ...defined(settings),
    status: 'not_started',
    statusSince: now,
    checks: [],
    createdAt: now,
    checkedAt: null,
    verifyUntil: null,
    suspect: null,
    nextCheckAt: null,
  }
  checkSettings(domain)
  return domain
}

async function addDomain(deps: DomainDeps, args: NewDomainArgs): Promise<Domain> {
  const { storage, clock } = deps
  const now = clock.now()
  const domain = newDomain(args, listRegions(await storage.regionMap({}, now)), now)
  checkDelegation(domain, deps.config)
  const selectors = chooseSelectors(domain, [], { config: deps.config, now, taken: args.takenSelectors })
  const [rsa, ...others] = await generateKeys(deps, domain, selectors)
  // The Ed25519 key signs once its record is found; the RSA key signs from the start, because nothing is sent before
  // the domain is verified.
  const keys: DkimKey[] = [{ ...rsa!, state: 'active' }, ...others]
  const told = toEventDomain(domain, buildExpectedRecords(domain, keys, deps.config))
  const done = await storage.createDomain({ domain, keys, told }, now)
  if (done === 'taken') throw refuse('domain_taken', { domain: domain.name })
  return domain
}
