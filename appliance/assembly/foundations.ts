/** Opens the shared foundations of the server, the accounts and the sending IPs. */
import { type Accounts, createAccounts } from '../accounts/accounts.ts'
import { type Capacity, createCapacity } from '../capacity/capacity.ts'
import { type Clock, systemClock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Events } from '../events/events.ts'
import { LOST_MS } from '../mail/node.ts'
import { createMimeReader, type MimeReader } from '../mime/mime.ts'
import type { Sandbox, SandboxDeps } from '../sandbox/sandbox.ts'
import { createSenders, type Senders } from '../senders/senders.ts'
import type { SourceRegistry } from '../sources/sources.ts'
import { freeSpaceToStart, openDiskReserve } from '../storage/disk-guard.ts'
import type { Storage } from '../storage/storage.ts'
import { watchDescriptors } from '../watch/descriptors.ts'
import { createDuties, type Duties, type Turn } from '../watch/duties.ts'
import { createHealthChecks, type HealthChecks } from '../watch/health.ts'
import type { Logger } from '../watch/log.ts'
import type { Heartbeat } from '../watch/heartbeat.ts'
import { createInstruments, type Instruments } from '../watch/metrics.ts'
import { openEvents, openResolver, openSourceRegistry } from './adapters.ts'
import type { ComposeOptions } from './appliance.ts'
import { withBroadcastMail } from './broadcasts.ts'
import { openMembership } from './membership.ts'
import { isShared, createNodeInfoCollector, type NodeInfoCollector } from './node.ts'
import { capacityOptions, diskSpaceOptions } from './options.ts'
import { lockDirectory, openDaemonStorage } from './storage.ts'
import type { LiveTables } from './tables.ts'
import { VERSION } from './version.ts'

/**
 * How often to poll for domains to check and for other rare work. A single node is notified when there is work, so once
 * a minute is enough. With several nodes, the notified node may not be the one that does the work.
 */
export const domainPollOptions = ({
  config,
  options: { pollMs = 0 },
}: Pick<SharedResources, 'config' | 'options'>) => ({
  pollMs: Math.max(isShared(config) ? 1000 : 60_000, pollMs),
})

/** Options, with the folder of the built dashboard. */
type Options = ComposeOptions & { dashboard: string }

/** The shared foundations. Opened resources are closed with `started`, in reverse order. */
export interface SharedResources {
  config: Config
  options: Options
  log: Logger
  clock: Clock
  started: AsyncDisposableStack
  storage: Storage
  /** Identifies this process in leases. */
  owner: string
  /** The ID of this node, and its state among the other nodes. */
  nodeId: string
  heartbeat: Heartbeat
  node: NodeInfoCollector
  duties: Duties & { turn: (name: 'certificates') => Turn }
  sandbox: Sandbox | null
  resolver: ReturnType<typeof openResolver>
  events: Events
  instruments: Instruments
  health: HealthChecks
  /** Limits on the resources that clients use. */
  capacity: Capacity
  /** Parses messages. */
  mime: MimeReader
  /** Reports whether the disk of the data directory has at least the minimum free space. */
  hasRoom: () => Promise<boolean>
  /** Sets the function that composes the emails of broadcasts. */
  composed: ReturnType<typeof withBroadcastMail>['composed']
  /** Statistics of the storage engine. */
  stats: () => { commits: number; calls: number; waiting: number }
}

/** Loads the sandbox on demand, because its servers and verifiers are a large part of the program. */
async function openSandbox(deps: SandboxDeps): Promise<Sandbox> {
  const { startSandbox } = await import('../sandbox/sandbox.ts')
  return startSandbox(deps)
}

/** Opens storage, DNS and other shared resources. Rejects if one is missing or in use. */
export async function openSharedResources(
  config: Config,
  options: Options,
  started: AsyncDisposableStack,
  { providers }: LiveTables,
): Promise<SharedResources> {
  const { log, clock = systemClock } = options
  const room = { ...diskSpaceOptions(config), clock, log }
  const { leastFree } = room
  await freeSpaceToStart(room)
  const lock = await lockDirectory(config)
  started.defer(() => lock.release())
  started.defer(watchDescriptors(log))
  const reserve = await openDiskReserve(room)
  started.defer(() => reserve.close())
  const freeBytes = () => reserve.freeBytes()
  const known = (id: string) => providers().providers.some((one) => one.id === id)
  const instruments = createInstruments({ clock, version: VERSION, knownProvider: known })
  started.defer(() => instruments.close())
  let wake = (): void => undefined
  const { storage: opened, writes } = await openDaemonStorage(config, {
    instruments,
    clock,
    logger: log,
    onLost: options.onLost,
    migrations: options.program?.migrations,
    onEvents: () => wake(),
    room: { freeBytes, leastFree, log },
  })
  started.defer(() => opened.close())
  const { storage, composed } = withBroadcastMail(opened)
  const sandbox = options.sandbox ? await openSandbox({ config, storage, clock, log }) : null
  if (sandbox) started.defer(() => sandbox.close())
  const resolver = openResolver(config, clock, sandbox?.resolver ?? options.resolver)
  started.defer(() => resolver.close())
  const node = createNodeInfoCollector(config, clock, { sandbox: sandbox !== null, program: options.program })
  const own = await openMembership({ config, storage, clock, log, node })
  const { owner, heartbeat } = own
  started.defer(() => heartbeat.stop())
  const fenced = () => heartbeat.fenced()
  const watched = { storage, clock, freeBytes, leastFree, fenced, isRemote: isShared(config) }
  const health = createHealthChecks({ ...watched, lastFailure: () => writes.lastFailure() })
  const duties = createDuties({ storage, clock, owner, lostAfter: LOST_MS, node: heartbeat })
  started.defer(() => duties.release())
  const telling = { storage, resolver, clock, log, duties, pollMs: options.pollMs }
  const events = openEvents(config, telling, options.webhookHosts)
  wake = () => events.wake()
  started.defer(() => events.stop())
  const base = { config, options, log, clock, started, storage, node, duties, sandbox, resolver, events }
  const capacity = createCapacity({ ...capacityOptions(config), clock, freeBytes })
  const mime = createMimeReader({ clock, turns: capacity.turns })
  started.defer(() => mime.close())
  const hasRoom = async () => ((await freeBytes()) ?? Infinity) >= leastFree
  const stats = () => storage.stats()
  return { ...base, ...own, instruments, health, capacity, mime, hasRoom, composed, stats }
}

/** Returns a function that divides a limit that each node counts separately by the number of live nodes. */
export const createShares =
  ({ heartbeat }: Pick<SharedResources, 'heartbeat'>) =>
  (limit: number): number =>
    Math.ceil(limit / heartbeat.alive())

/** Accounts, senders and the sending IPs. */
export interface AccountsAndSenders {
  accounts: Accounts
  senders: Senders
  book: SourceRegistry
}

/** Opens accounts, senders and the sending IPs. */
export async function openAccountsAndSenders(ground: SharedResources): Promise<AccountsAndSenders> {
  const { config, log, clock, started, storage, duties, sandbox, resolver } = ground
  const accounts = createAccounts({
    storage,
    clock,
    hostname: config.hostname,
    shareOf: createShares(ground),
  })
  const book = await openSourceRegistry(config, storage, clock)
  await book.reconcile()
  const polls = { ...domainPollOptions(ground), duties }
  const senders = createSenders({ storage, resolver, clock, config: book.host, log, ...polls })
  started.defer(() => senders.close())
  if (sandbox) await sandbox.open({ accounts, senders, resolver })
  return { accounts, senders, book }
}
