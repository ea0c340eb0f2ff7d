/** The registry of sending IPs: the IPs, their pools, and which mail uses which pool. */
import { isIP } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import {
  AUTO_IP,
  DEFAULT_POOL,
  listSpfSources,
  STREAMS,
  type Assignment,
  type Source,
  type Stream,
} from '../mail/source.ts'
import type { SendingHost } from '../senders/records.ts'
import type { SourcesAndPools } from '../senders/reverse-dns.ts'
import { createPoolMethods, type PoolMethods } from './pools.ts'
import type { SourceChange, StorageSubset } from '../storage/storage.ts'
import { normalizeIp } from '../wire/networks.ts'

/** A new source. */
export interface NewSource {
  ip: string
  pool?: string | undefined
  hostname?: string | null | undefined
  /** Whether to start a warm-up. */
  warmUp?: boolean | undefined
}

/** The fields that an operator can change. Undefined fields are left unchanged. */
export interface SourceEdit {
  pool?: string | undefined
  hostname?: string | null | undefined
  suspended?: boolean | undefined
  /** True starts a warm-up now, false ends it. */
  warmUp?: boolean | undefined
}

/** A new assignment; null or undefined means any. */
export interface NewAssignment {
  teamId?: string | null | undefined
  domainId?: string | null | undefined
  stream?: string | null | undefined
  pool: string
}

/** The registry. Every method refuses invalid input and names the field. */
export interface SourceRegistry extends PoolMethods {
  /** The data for SPF policies and domain checks. It follows changes of the registry. */
  readonly host: SendingHost
  /** Updates the registry to match the configuration. The daemon calls it at startup. */
  reconcile(): Promise<void>
  list(): Promise<Source[]>
  /** Lists the sending IPs of this node. */
  own(): Promise<Source[]>
  get(ip: string): Promise<Source>
  add(source: NewSource): Promise<Source>
  change(ip: string, edit: SourceEdit): Promise<Source>
  /** Removes a sending IP and returns it. */
  remove(ip: string): Promise<Source>
  assignments(): Promise<Assignment[]>
  /** Returns sending IPs and assignments, to show which IPs mail is sent from. */
  waysOut(): Promise<SourcesAndPools>
  assign(assignment: NewAssignment): Promise<Assignment>
  unassign(id: string): Promise<void>
}

export interface SourceRegistryDeps {
  storage: StorageSubset<'sources' | 'regions'>
  /** The node to which the configuration belongs. Sending IPs of other nodes are left unchanged. */
  nodeId: string
  clock: Clock
  /** Takes over sending IPs of nodes that no longer exist; undefined on SQLite. */
  adopt?: ((ips: string[]) => Promise<unknown>) | undefined
  hostname: string
  /** See `SendingHost`. */
  webHost?: string | undefined
  nameserver?: SendingHost['nameserver']
  policies?: boolean | undefined
  /** `delivery.source_ips`, and whether new ones start a warm-up. */
  configured: readonly string[]
  warmUp: boolean
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,49}$/
const HOSTNAME = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

const fresh = (ip: string, more: Partial<Source>): Source => ({
  ip,
  pool: DEFAULT_POOL,
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
  ...more,
})

/** Returns the IPs to add to and remove from a node's sending IPs so that they match its configuration. Pure. */
export function diffSources(
  sources: readonly Source[],
  { configured, warmUp }: Pick<SourceRegistryDeps, 'configured' | 'warmUp'>,
  now: number,
): { add: Source[]; remove: string[] } {
  const wanted = new Set(configured.flatMap((ip) => normalizeIp(ip) ?? []))
  const add = [...wanted]
    .filter((ip) => !sources.some((source) => source.ip === ip))
    .map((ip) => fresh(ip, { warmUpSince: warmUp ? now : null }))
  const gone = sources.filter(
    ({ ip, origin }) => origin === 'configuration' && ip !== AUTO_IP && !wanted.has(ip),
  )
  return { add, remove: gone.map(({ ip }) => ip) }
}

/** Returns the sending IPs that come from the configurations of other nodes. */
function configuredElsewhere(configured: readonly string[], sources: readonly Source[]): string[] {
  const here = new Set(configured.flatMap((ip) => normalizeIp(ip) ?? []))
  const others = sources.filter(
    ({ ip, origin }) => origin === 'configuration' && ip !== AUTO_IP && !here.has(ip),
  )
  return others.map(({ ip }) => ip)
}

/** Returns the IPs that SPF records must contain. */
function namedIn({ configured, adopt }: SourceRegistryDeps, sources: readonly Source[]): readonly string[] {
  const all = adopt ? [...configured, ...configuredElsewhere(configured, sources)] : configured
  return listSpfSources(all, sources)
}

/** Returns the settings of this host that never change. */
const fixedOf = ({ hostname, webHost, nameserver, policies }: SourceRegistryDeps) => ({
  hostname,
  webHost,
  nameserver,
  policies,
})

/** Creates the registry. */
export function createSourceRegistry(deps: SourceRegistryDeps): SourceRegistry {
  const { storage, nodeId, clock, configured, adopt } = deps
  let named: readonly string[] = configured
  const list = async (): Promise<Source[]> => {
    const sources = await storage.listSources({}, clock.now())
    named = namedIn(deps, sources)
    return sources
  }
  const reconcile = async (): Promise<void> => {
    await adopt?.([...configured.flatMap((ip) => normalizeIp(ip) ?? []), AUTO_IP])
    const own = await storage.listSources({ nodeId }, clock.now())
    const { add, remove } = diffSources(own, deps, clock.now())
    for (const source of add) await storage.addSource({ source, nodeId }, clock.now())
    for (const ip of remove) await storage.removeSource({ ip }, clock.now())
    // Mail without an assignment must always have a sending IP: while its pool has none, the system chooses one.
    await storage.keepWayOut({ source: fresh(AUTO_IP, {}), nodeId }, clock.now())
    await list()
  }
  const get = async (given: string): Promise<Source> => {
    const ip = normalizeIp(given) ?? given
    const found = (await list()).find((one) => one.ip === ip)
    if (!found) throw refuse('not_found', { resource: `Source ${given}` })
    return found
  }
  return {
    host: {
      ...fixedOf(deps),
      get sourceIps() {
        return named
      },
    },
    reconcile,
    list,
    own: () => storage.listSources({ nodeId }, clock.now()),
    get,
    async add(given) {
      const source = readSource(given, clock.now())
      const { ip } = source
      if (!(await storage.addSource({ source, nodeId }, clock.now()))) throw refuse('source_taken', { ip })
      await reconcile()
      return source
    },
    async change(given, edit) {
      const source = await get(given)
      await storage.saveSource({ ip: source.ip, change: readEdit(source, edit, clock.now()) }, clock.now())
      await reconcile()
      return (await list()).find(({ ip }) => ip === source.ip) ?? source
    },
    async remove(given) {
      const source = await get(given)
      const { ip, origin } = source
      if (origin === 'configuration') throw refuse('source_configured', { ip })
      await storage.removeSource({ ip }, clock.now())
      await reconcile()
      return source
    },
    ...assignmentMethods(deps, list),
    ...createPoolMethods(deps, list),
  }
}

/** Validates a sending IP that an operator adds. */
function readSource(
  { ip, pool = DEFAULT_POOL, hostname = null, warmUp = false }: NewSource,
  now: number,
): Source {
  return fresh(readIp(ip), {
    pool: readPool(pool),
    hostname: readHostname(hostname),
    origin: 'operator',
    warmUpSince: warmUp ? now : null,
  })
}

/** Creates the methods for assignments. */
function assignmentMethods(
  { storage, clock }: SourceRegistryDeps,
  list: () => Promise<Source[]>,
): Pick<SourceRegistry, 'assignments' | 'waysOut' | 'assign' | 'unassign'> {
  const assignments = () => storage.listAssignments({}, clock.now())
  return {
    assignments,
    async waysOut() {
      const [sources, all] = await Promise.all([list(), assignments()])
      return { sources, assignments: all, regions: await storage.regionMap({}, clock.now()) }
    },
    async assign({ teamId = null, domainId = null, stream = null, pool }) {
      const pools = [...new Set((await list()).map((source) => source.pool))]
      if (!pools.includes(readPool(pool)))
        throw refuse('invalid_field', {
          field: 'pool',
          expected: `a pool that has a sending IP: ${pools.join(', ')}`,
        })
      const assignment = {
        id: newId(clock.now()),
        teamId,
        domainId,
        stream: readStream(stream),
        pool,
      }
      const stored = await storage.saveAssignment({ assignment }, clock.now())
      if (!stored) throw refuse('not_found', { resource: domainId === null ? 'Team' : 'Domain' })
      return stored
    },
    async unassign(id) {
      if (!(await storage.removeAssignment({ id }, clock.now())))
        throw refuse('not_found', { resource: 'Assignment' })
    },
  }
}

function readIp(given: string): string {
  const ip = isIP(given) === 0 || given.includes('%') ? undefined : normalizeIp(given)
  if (ip === undefined)
    throw refuse('invalid_field', {
      field: 'ip',
      expected: 'an IP address of this machine, such as 192.0.2.1',
    })
  return ip
}

function readPool(pool: string): string {
  if (!NAME.test(pool))
    throw refuse('invalid_field', {
      field: 'pool',
      expected: 'a name of lowercase letters, digits, - and _, at most 50 characters',
    })
  return pool
}

function readHostname(name: string | null): string | null {
  const lower = name?.toLowerCase() ?? null
  if (lower !== null && !HOSTNAME.test(lower))
    throw refuse('invalid_field', {
      field: 'hostname',
      expected: 'a fully qualified hostname such as mail2.example.com',
    })
  return lower
}

function readStream(stream: string | null): Stream | null {
  const found = STREAMS.find((one) => one === stream)
  if (stream !== null && !found)
    throw refuse('invalid_field', { field: 'stream', expected: `one of ${STREAMS.join(', ')}` })
  return found ?? null
}

function readEdit(source: Source, edit: SourceEdit, now: number): SourceChange {
  const { pool, hostname, suspended, warmUp } = edit
  if (source.ip === AUTO_IP && pool !== undefined && pool !== DEFAULT_POOL)
    throw refuse('invalid_field', { field: 'pool', expected: 'auto is always in the pool default' })
  const change: SourceChange = {}
  if (pool !== undefined) change.pool = readPool(pool)
  if (hostname !== undefined) change.hostname = readHostname(hostname)
  // Keep a running warm-up. To restart it, the operator must end it first.
  if (warmUp !== undefined) change.warmUpSince = warmUp ? (source.warmUpSince ?? now) : null
  if (suspended === true)
    Object.assign(change, {
      state: 'suspended',
      stateReason: 'An operator suspended it.',
      suspendedBy: 'operator',
    } satisfies SourceChange)
  if (suspended === false)
    Object.assign(change, { state: 'active', stateReason: null, suspendedBy: null } satisfies SourceChange)
  return change
}
