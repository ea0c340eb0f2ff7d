/**
 * Outgoing delivery: leases queued deliveries, attempts them, and stores the results (docs/flow.md, steps 7 to 13).
 * Read `attempt.ts` first.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import type { BounceRule } from '../mail/bounce.ts'
import { AUTO_IP, DEFAULT_POOL, type Source } from '../mail/source.ts'
import type { LaneActivity, ProviderTable } from '../shaping/shaping.ts'
import { createSigner, type Signer } from '../signing/signing.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { type Cidr, createAddressCache } from '../wire/networks.ts'
import { attemptDelivery, type AttemptDeps } from './attempt.ts'
import { createClassifier } from '../mail/classify.ts'
import { createConnections, type Connections } from './connections.ts'
import { createDispatcher } from './dispatch.ts'
import type { DispatchDeps, Dispatcher } from './dispatch-deps.ts'
import { Lanes, type LanesDeps } from './lanes.ts'

export type { ConversationRequest, Connections, ConversationResult } from './connections.ts'
export { createHostMemory } from './host-cache.ts'
export type { Failure } from './outcome.ts'
export { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from './policy/policy.ts'

/** The storage methods that delivery uses. */
export type DeliveryStorage = DispatchDeps['storage'] & AttemptDeps['storage'] & LanesDeps['storage']

export interface DeliveryOptions {
  /** EHLO name. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Source IPs to use while storage has none; empty to let the system choose. */
  sourceIps: string[]
  /** Networks that may receive mail although they are private, otherwise special, or this machine's own. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces. */
  ownAddresses: () => readonly string[]
  /** Domains of test addresses, in lower case; no connection is made for them. */
  testDomains?: readonly string[] | undefined
  /**
   * The bounce rules; the first match decides (config/bounces.toml). Called each time, because they can be replaced.
   */
  bounces: () => readonly BounceRule[]
  /**
   * Mailbox providers and their limits (config/providers.toml). Called each time; call `change` to make the lanes apply
   * new ones.
   */
  providers: () => ProviderTable
  maxConnections: number
  /** Identifies this run of the process in leases. */
  owner: string
  /** How often to look for changes by other processes, in milliseconds. Default 1000. */
  pollMs?: number | undefined
  /** Called when a report to a sender is due. */
  onReportDue?: (() => void) | undefined
  /** ID of this node, if other nodes may have their own sources; undefined if all sources belong to this node. */
  nodeId?: string | undefined
  /** Why this node must not begin deliveries (watch/heartbeat.ts); null when it may. */
  fenced?: (() => string | null) | undefined
  /** Whether other nodes may take over deliveries in progress, so that no message is sent anymore. Default: never. */
  mayBeTakenOver?: (() => boolean) | undefined
}

export interface DeliveryDeps {
  storage: DeliveryStorage
  resolver: Pick<Resolver, 'resolve'>
  /** The TLS policies of recipient domains. */
  policies: AttemptDeps['policies']
  clock: Clock
  log: Logger
  options: DeliveryOptions
  /** Replaces the parts that reach the network, use a processor or are random; for simulations. */
  parts?: { connections: Connections; signer: Signer; random: () => number }
}

/** The delivery module; it begins with `start()`. */
export interface Delivery extends Dispatcher {
  /**
   * Changes stored providers, lanes or sources by running `work`, and applies the change at once. Changes by other
   * processes are noticed within a second or `pollMs`.
   */
  change(work: () => Promise<void>): Promise<void>
  /** Saves the state of the lanes now; otherwise, that happens a second after a change. */
  saveLanes(): Promise<void>
  /** Ends conversations in progress, because other nodes may take over their deliveries. */
  cut(): void
  /** Returns the current activity of a lane in this process. */
  laneActivity(source: string, provider: string): LaneActivity
}

/** Creates the delivery module. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { storage, resolver, policies, clock, log, options } = deps
  const { hostname, port, owner, allowNetworks, testDomains, maxConnections, onReportDue } = options
  const ownAddresses = createAddressCache(clock, options.ownAddresses)
  const { random, connections, signer } = deps.parts ?? realParts(clock, options)
  const fallback = sourcesOf(options.sourceIps)
  const { nodeId } = options
  const lanes = new Lanes({ storage, clock, log, table: options.providers, fallback, random, nodeId })
  const attempting = {
    storage: {
      ...storage,
      getDomain: cacheBriefly((of: Parameters<Storage['getDomain']>[0], now) => storage.getDomain(of, now)),
      signingKeys: cacheBriefly((of: Parameters<Storage['signingKeys']>[0], now) =>
        storage.signingKeys(of, now),
      ),
    },
    resolver,
    lanes,
    policies,
    connections,
    signer,
    clock,
    log,
    random,
    classify: createClassifier(options.bounces),
    options: { hostname, port, owner, allowNetworks, ownAddresses, testDomains },
  }
  const dispatcher = createDispatcher({
    storage,
    lanes,
    clock,
    log,
    owner,
    attempt: (batch, placed) => attemptDelivery(batch, attempting, placed),
    abandon: () => connections.destroy(),
    fenced: options.fenced,
    maxConnections,
    pollMs: options.pollMs ?? 1000,
    onReportDue,
  })
  return {
    start: () => dispatcher.start(),
    wake: () => dispatcher.wake(),
    changed: () => dispatcher.changed(),
    async change(work) {
      await lanes.change(work)
      dispatcher.wake()
    },
    saveLanes: () => lanes.save(),
    cut: () => connections.cut(),
    laneActivity: (source, provider) => lanes.activity(source, provider),
    async stop(ms) {
      const left = await dispatcher.stop(ms)
      await connections.close()
      // Connections that are still closing have had enough time.
      connections.destroy()
      await lanes.stop()
      return left
    },
  }
}

const realParts = (
  clock: Clock,
  { mayBeTakenOver }: DeliveryOptions,
): NonNullable<DeliveryDeps['parts']> => ({
  connections: createConnections({ clock, mayBeTakenOver }),
  signer: createSigner(),
  random: Math.random,
})

/** Returns the sources of the configuration: without warm-up, in the default pool, IPv6 not checked. */
function sourcesOf(sourceIps: readonly string[]): Source[] {
  return (sourceIps.length > 0 ? sourceIps : [AUTO_IP]).map((ip) => ({
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
  }))
}

/**
 * How long an answer is cached, in milliseconds: long enough for a burst of messages to share one query, too short for
 * anyone to notice an outdated key or domain.
 */
const BELIEVED_MS = 100
/** Maximum cached answers; above it, all are dropped to bound memory. */
const MOST = 1000

/**
 * Caches storage reads for 100 ms and merges concurrent ones. Each message needs its domain and its keys: two round
 * trips to the reading thread. Failures aren't cached.
 */
export function cacheBriefly<A extends object, R>(
  ask: (args: A, now: number) => Promise<R>,
): (args: A, now: number) => Promise<R> {
  const known = new Map<string, { answer: Promise<R>; at: number }>()
  return (args, now) => {
    const key = JSON.stringify(args)
    const last = known.get(key)
    if (last && now >= last.at && now - last.at < BELIEVED_MS) return last.answer
    if (known.size >= MOST) known.clear()
    const answer = ask(args, now)
    known.set(key, { answer, at: now })
    // The caller gets the error.
    answer.catch(() => known.delete(key))
    return answer
  }
}
