/**
 * The door out: what waits in the spool is leased, tried, judged and settled (docs/flow.md, steps 7 to 13).
 * `attempt.ts` is the page to read first.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import type { BounceRule } from '../mail/bounce.ts'
import { AUTO, DEFAULT_POOL, type Source } from '../mail/source.ts'
import type { LaneActivity, ProviderTable } from '../shaping/shaping.ts'
import { createSigner } from '../signing/signing.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { type Cidr, refreshedAddresses } from '../wire/networks.ts'
import { attempt } from './attempt.ts'
import { createClassifier } from '../mail/classify.ts'
import { createConnections } from './connections.ts'
import { createDispatcher, type Dispatcher } from './dispatch.ts'
import { Lanes } from './lanes.ts'
import type { TlsPolicies } from './policy/policy.ts'

export { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from './policy/policy.ts'

export interface DeliveryOptions {
  /** EHLO name. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  /** Addresses to send from while the storage knows of none; an empty list lets the system choose. */
  sourceIps: string[]
  /** Networks that may be delivered to although they are private or otherwise special, or this machine's own. */
  allowNetworks: readonly Cidr[]
  /** Addresses of this machine's interfaces. */
  ownAddresses: () => readonly string[]
  /** Domains of test addresses, in lower case: nobody is dialled for them. */
  testDomains?: readonly string[] | undefined
  /** What the replies of servers mean, the first that fits (config/bounces.toml). Asked each time: it can be exchanged. */
  bounces: () => readonly BounceRule[]
  /** Mailbox providers and their limits (config/providers.toml). The same; `change` makes the lanes heed it. */
  providers: () => ProviderTable
  maxConnections: number
  /** Names this process start in leases. */
  owner: string
  /** How often to look for changes that other processes made, in milliseconds. Default 1000. */
  pollMs?: number | undefined
  /** Told when a report to a sender has fallen due. */
  onReportDue?: (() => void) | undefined
}

export interface DeliveryDeps {
  storage: Storage
  resolver: Resolver
  /** What recipient domains demand of TLS. */
  policies: TlsPolicies
  clock: Clock
  log: Logger
  options: DeliveryOptions
}

/** The delivery side of the appliance; it begins with `start()`. */
export interface Delivery extends Dispatcher {
  /**
   * Runs a change of what is stored of providers, lanes or sources, and acts on it at once. Changes of other processes are noticed
   * within a second or `pollMs`.
   */
  change(work: () => Promise<void>): Promise<void>
  /** Writes down what the lanes have learnt; by itself that happens a second after it was learnt. */
  saveLanes(): Promise<void>
  /** What happens on a lane of this process now. */
  laneActivity(source: string, provider: string): LaneActivity
}

/** Builds the delivery side. */
export function createDelivery({ storage, resolver, policies, clock, log, options }: DeliveryDeps): Delivery {
  const { hostname, port, owner, allowNetworks, testDomains, maxConnections, onReportDue } = options
  const ownAddresses = refreshedAddresses(clock, options.ownAddresses)
  const random = Math.random
  const fallback = sourcesOf(options.sourceIps)
  const lanes = new Lanes({ storage, clock, log, table: options.providers, fallback, random })
  const connections = createConnections({ clock })
  const deps = {
    storage: {
      ...storage,
      getDomain: briefly((of: Parameters<Storage['getDomain']>[0], now) => storage.getDomain(of, now)),
      signingKeys: briefly((of: Parameters<Storage['signingKeys']>[0], now) => storage.signingKeys(of, now)),
    },
    resolver,
    lanes,
    policies,
    connections,
    signer: createSigner(),
    clock,
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
    attempt: (batch, placed) => attempt(batch, deps, placed),
    abandon: () => connections.destroy(),
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
    laneActivity: (source, provider) => lanes.activity(source, provider),
    async stop(ms) {
      const left = await dispatcher.stop(ms)
      await connections.close()
      // What still says goodbye has had its time.
      connections.destroy()
      await lanes.stop()
      return left
    },
  }
}

/** Sources of the configuration alone: warm, in the one pool, IPv6 not checked. */
function sourcesOf(sourceIps: readonly string[]): Source[] {
  return (sourceIps.length > 0 ? sourceIps : [AUTO]).map((ip) => ({
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
 * How long an answer is believed, in milliseconds: long enough for the messages of a burst to ask once, too short for anybody to see that
 * a key or a domain was changed later here than elsewhere.
 */
const BELIEVED_MS = 100
/** Answers remembered; then all are forgotten, so that memory is bounded. */
const MOST = 1000

/**
 * The same question of the storage, asked once for all who ask within a tenth of a second. Each message of a sending domain needs its row
 * and its keys: two trips to the reading thread. A question that failed is asked again.
 */
export function briefly<A extends object, R>(
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
    // Whoever asked hears of it.
    answer.catch(() => known.delete(key))
    return answer
  }
}
