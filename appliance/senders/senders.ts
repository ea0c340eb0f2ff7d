/** Who may send as whom: API keys, sending domains with their DKIM keys, and the verification of what is in DNS. */
import { domainToASCII } from 'node:url'
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { ApiKey, Domain, Permission, Storage } from '../storage/storage.ts'
import type { Caller } from './caller.ts'
import { checkRecords } from './check.ts'
import { generateRsaKey, hashToken, newToken, type KeyGenerator } from './keys.ts'
import { isReturnPathLabel, judgeName } from './names.ts'
import { expectedRecords, type ExpectedRecord, type SendingHost } from './records.ts'
import { judgeDomain } from './verification.ts'

export interface NewKeyArgs {
  teamId: string
  name: string
  permission: Permission
  /** Restricts a `sending_access` key to this domain. */
  domainId?: string | null | undefined
}

export interface NewDomainArgs {
  teamId: string
  /** U-labels or A-labels. */
  name: string
  /** Default `us-east-1`, the hosted service's; it means nothing here but clients ask for it. */
  region?: string | undefined
  /** Label of the return path, default `send`. */
  returnPath?: string | undefined
}

export interface Senders {
  /** The token is told here and never again. Refuses: `invalid_field`, `not_found` (domain). */
  createKey(args: NewKeyArgs): Promise<{ key: ApiKey; token: string }>
  /** Whose key that is; undefined when it is nobody's. Notes the use, a few seconds late. */
  authenticate(token: string): Promise<Caller | undefined>
  listKeys(args: { teamId: string }): Promise<ApiKey[]>
  /** Ends a key at once. Refuses: `not_found`. */
  revokeKey(args: { teamId: string; id: string }): Promise<void>

  /** Adds a domain with a fresh DKIM key. Refuses: `invalid_field`, `domain_taken`. */
  addDomain(args: NewDomainArgs): Promise<Domain>
  listDomains(args: { teamId: string }): Promise<Domain[]>
  /** Refuses: `not_found`. */
  getDomain(args: { teamId: string; id: string }): Promise<Domain>
  /** By name, in any case and script; undefined when the team has none. */
  findDomain(args: { teamId: string; name: string }): Promise<Domain | undefined>
  /** Refuses: `not_found`. */
  removeDomain(args: { teamId: string; id: string }): Promise<void>
  /** The records that the domain's owner has to publish. */
  expectedRecords(domain: Domain): Promise<ExpectedRecord[]>
  /** Looks up every record, keeps what was found and the domain's new status. Refuses: `not_found`. */
  verifyDomain(args: { teamId: string; id: string }): Promise<Domain>
  /**
   * Whether the caller may send from addresses at `domain`, now. Only the exact name counts: a subdomain is a domain of its own.
   * Refuses: `domain_unknown`, `domain_not_verified`, `key_restricted_to_domain`.
   */
  authorize(caller: Caller, args: { domain: string }): Promise<Domain>

  /** Writes what is not yet written. */
  close(): Promise<void>
}

export interface SendersDeps {
  storage: Storage
  resolver: Resolver
  clock: Clock
  config: SendingHost
  /** Makes DKIM keys; RSA-2048 unless tests need it faster. */
  keygen?: KeyGenerator
}

const selector = 'posthaste'
const regions = ['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1']
/** How long uses of keys are gathered before they are written, in milliseconds: one write for thousands of requests. */
const touchDelay = 3000

export function createSenders(deps: SendersDeps): Senders {
  const keys = keyMethods(deps)
  const domains = domainMethods(deps)
  return {
    ...keys,
    ...domains,

    // Reads the database each time: other processes change it (the command line), and one indexed read is cheap.
    async authorize({ teamId, apiKey }, args) {
      const domain = await domains.findDomain({ teamId, name: args.domain })
      const only = apiKey?.domainId ?? null
      if (only !== null && only !== domain?.id)
        throw refuse('key_restricted_to_domain', { domain: args.domain })
      if (!domain) throw refuse('domain_unknown', { domain: args.domain })
      if (domain.status !== 'verified') throw refuse('domain_not_verified', { domain: domain.name })
      return domain
    },
  }
}

type KeyMethods = Pick<Senders, 'createKey' | 'authenticate' | 'listKeys' | 'revokeKey' | 'close'>

function keyMethods({ storage, clock }: SendersDeps): KeyMethods {
  const notes = useNotes(storage, clock)
  return {
    async createKey({ teamId, name, permission, domainId = null }) {
      if (name.length > 50)
        throw refuse('invalid_field', { field: 'name', expected: 'at most 50 characters' })
      if (domainId !== null) {
        if (permission !== 'sending_access')
          throw refuse('invalid_field', { field: 'domain_id', expected: 'only with sending_access' })
        if (!(await storage.getDomain({ teamId, id: domainId }, clock.now())))
          throw refuse('not_found', { resource: 'Domain' })
      }
      const now = clock.now()
      const token = newToken()
      const key = { id: newId(now), teamId, name, permission, domainId, createdAt: now, lastUsedAt: null }
      await storage.createApiKey({ ...key, tokenHash: hashToken(token) }, now)
      return { key, token }
    },

    async authenticate(token) {
      if (!token.startsWith('re_') || token.length > 200) return undefined
      const key = await storage.findApiKey({ tokenHash: hashToken(token) }, clock.now())
      if (!key) return undefined
      notes.note(key.id)
      return { teamId: key.teamId, apiKey: key }
    },

    listKeys: (args) => storage.listApiKeys(args, clock.now()),

    async revokeKey(args) {
      if (!(await storage.deleteApiKey(args, clock.now()))) throw refuse('not_found', { resource: 'API key' })
    },

    close: notes.flush,
  }
}

/** Gathers "key was used" and writes it now and then. */
function useNotes(
  storage: Storage,
  clock: Clock,
): { note: (id: string) => void; flush: () => Promise<void> } {
  let uses = new Map<string, number>()
  let scheduled: (() => void) | null = null
  let writing = Promise.resolve()
  const write = async () => {
    if (uses.size === 0) return
    const batch = [...uses].map(([id, at]) => ({ id, at }))
    uses = new Map()
    await storage.touchApiKeys({ uses: batch }, clock.now())
  }
  const flush = () => {
    scheduled?.()
    scheduled = null
    // "Last used" is a hint for people: when writing it fails, mail goes on and the next use writes it.
    writing = writing.then(write).catch(() => undefined)
    return writing
  }
  return {
    note(id) {
      uses.set(id, clock.now())
      scheduled ??= clock.after(touchDelay, () => void flush())
    },
    flush,
  }
}

type DomainMethods = Omit<Senders, keyof KeyMethods | 'authorize'>

function domainMethods(deps: SendersDeps): DomainMethods {
  const { storage, resolver, clock, config } = deps
  const getDomain: Senders['getDomain'] = async (args) => {
    const domain = await storage.getDomain(args, clock.now())
    if (!domain) throw refuse('not_found', { resource: 'Domain' })
    return domain
  }
  const recordsOf: Senders['expectedRecords'] = async (domain) =>
    expectedRecords(domain, await storage.dkimKeys({ domainId: domain.id }, clock.now()), config)

  return {
    addDomain: (args) => addDomain(deps, args),
    listDomains: (args) => storage.listDomains(args, clock.now()),
    getDomain,
    findDomain: ({ teamId, name }) =>
      storage.findDomain({ teamId, name: domainToASCII(name).replace(/\.$/, '') }, clock.now()),
    async removeDomain(args) {
      if (!(await storage.deleteDomain(args, clock.now()))) throw refuse('not_found', { resource: 'Domain' })
    },
    expectedRecords: recordsOf,
    async verifyDomain(args) {
      const domain = await getDomain(args)
      const records = await recordsOf(domain)
      const checks = await checkRecords(resolver, domain, records)
      const status = judgeDomain(domain.status, records, checks)
      await storage.saveDomainCheck({ ...args, status, checks }, clock.now())
      return getDomain(args)
    },
  }
}

async function addDomain(
  { storage, clock, keygen = generateRsaKey }: SendersDeps,
  { teamId, name, region = regions[0]!, returnPath = 'send' }: NewDomainArgs,
): Promise<Domain> {
  const judged = judgeName(name)
  if (!judged.ok) throw refuse('invalid_field', { field: 'name', expected: judged.expected })
  if (!regions.includes(region))
    throw refuse('invalid_field', { field: 'region', expected: `one of ${regions.join(', ')}` })
  if (!isReturnPathLabel(returnPath))
    throw refuse('invalid_field', { field: 'custom_return_path', expected: 'a label such as send' })
  const pair = await keygen()
  const now = clock.now()
  const domain: Domain = {
    id: newId(now),
    teamId,
    name: judged.name,
    status: 'not_started',
    region,
    returnPath,
    checks: [],
    createdAt: now,
    checkedAt: null,
  }
  const key = {
    id: newId(now),
    teamId,
    domainId: domain.id,
    selector,
    algorithm: 'rsa-sha256' as const,
    ...pair,
  }
  const done = await storage.createDomain({ domain, key: { ...key, createdAt: now } }, now)
  if (done === 'taken') throw refuse('domain_taken', { domain: judged.name })
  return domain
}
