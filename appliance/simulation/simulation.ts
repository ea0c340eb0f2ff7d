/**
 * Simulates sending a large amount of mail, starting now. The decisions are made by the server's own code: the
 * dispatcher, the lanes with their pace and warm-up, routing, the classification of replies and the retry schedule. The
 * clock, the storage, DNS, and the conversations with the receivers are simulated; the receivers are models
 * (config/receivers.toml). Nothing uses the network or the disk.
 */
import { createDelivery, type Delivery as DeliveryModule } from '../delivery/delivery.ts'
import type { BounceRule } from '../mail/bounce.ts'
import type { Receiver } from '../mail/receiver.ts'
import type { RegionMap } from '../mail/region.ts'
import { choosePool, type Assignment, type Source, type Stream } from '../mail/source.ts'
import { createShapingOperations, type ProviderTable } from '../shaping/shaping.ts'
import type { LaneRecord } from '../storage/storage.ts'
import { createSilentLogger } from '../watch/log.ts'
import { VirtualClock } from './clock.ts'
import { createSimulatedConnections } from './connections.ts'
import { feedBroadcast, feedTransactionalMail, type BroadcastFeed } from './feeder.ts'
import { ResultCounter, type Delays, type ReceiverFigures } from './figures.ts'
import { createSimulatedInternet, type SimulatedInternet } from './internet.ts'
import { SimulatedQueue } from './queue.ts'
import {
  createRecipients,
  createRandom,
  shuffle,
  type Composition,
  type MailboxShares,
  type Recipient,
} from './recipients.ts'
import { createSimulatedStorage } from './storage.ts'

export { plotProgress } from './plot.ts'
export { drawBars, computeMinuteTotals } from './text-chart.ts'
export type { Delays, ReceiverFigures } from './figures.ts'
export {
  toReceiverCounts,
  countAddresses,
  divideProportionally,
  getDefaultShares,
  type Composition,
} from './recipients.ts'

/** The current state of the server. */
export interface ServerState {
  hostname: string
  /** `delivery.source_ips`, used if `sources` is empty. */
  sourceIps: string[]
  sources: readonly Source[]
  lanes: readonly LaneRecord[]
  /** Limits that were changed at run time, by provider. */
  providerSettings: readonly { provider: string; settings: Record<string, unknown> }[]
  assignments: readonly Assignment[]
  regions: RegionMap
  providers: ProviderTable
  bounces: readonly BounceRule[]
  maxConnections: number
  /** The team and domain that send the mail, which determine the pool; null if unknown. */
  sender: { teamId: string; domainId: string | null; region: string | null } | null
}

export interface SimulationOptions {
  present: ServerState
  receivers: readonly Receiver[]
  composition: Composition
  mailboxes: MailboxShares
  /** Number of transactional emails per hour while the broadcast is sent. */
  transactionalPerHour: number
  seed: number
  /** Start of the simulation (Unix milliseconds), and its maximum duration. */
  start: number
  days: number
}

export interface SimulationResult {
  recipients: number
  receivers: ReceiverFigures[]
  /**
   * Milliseconds until each recipient had a first attempt, and until no mail was waiting; null if that didn't happen in
   * time.
   */
  attemptedAfter: number | null
  finishedAfter: number | null
  transactional: Delays
  /** Number of the broadcast's emails that were delivered in each minute since the start, by receiver. */
  minutes: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** The IPs of the broadcast's pool, and when their warm-up began; null for warm IPs. */
  sources: { ip: string; warmUpSince: number | null }[]
  pool: string
}

const DAY = 24 * 3_600_000
/**
 * How often an idle dispatcher checks for due mail, in milliseconds. Rarely, because no other process writes to this
 * queue.
 */
const POLL_MS = 600_000

/** Runs a simulation. The same options produce the same result. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const run = new Run(options)
  await run.run()
  return run.result()
}

class Run {
  readonly #options: SimulationOptions
  readonly #clock: VirtualClock
  readonly #counter: ResultCounter
  readonly #queue: SimulatedQueue
  readonly #internet: SimulatedInternet
  readonly #delivery: DeliveryModule
  readonly #feed: BroadcastFeed
  readonly #random: () => number
  readonly #count: number
  /** Number of the broadcast's recipients without an attempt, and number of those without a final result. */
  #unattempted: number
  #open: number
  #attemptedAt: number | null = null
  #finishedAt: number | null = null

  constructor(options: SimulationOptions) {
    const { present, receivers, seed, start } = options
    this.#options = options
    this.#random = createRandom(seed)
    this.#clock = new VirtualClock(start)
    this.#counter = new ResultCounter(start)
    this.#internet = createSimulatedInternet(receivers, present)
    this.#queue = new SimulatedQueue({
      settled: (delivery, change, now) => {
        this.#counter.settled(delivery, change, now)
        if (delivery.stream === 'broadcast')
          this.#progress(delivery.to.domain, delivery.attempts === 1, change.state !== 'waiting', now)
      },
    })
    const storage = createSimulatedStorage(this.#queue, present)
    this.#delivery = this.#createDelivery(storage)
    const clock = this.#clock
    const table = () => present.providers
    const book = createShapingOperations({ storage, clock, table })
    const recipients = this.#recipients()
    this.#count = this.#unattempted = this.#open = recipients.length
    this.#feed = feedBroadcast(recipients, {
      clock,
      queue: this.#queue,
      pool: this.#poolFor('broadcast'),
      laneRates: () => book.rates(),
      wake: () => this.#delivery.wake(),
    })
  }

  async run(): Promise<void> {
    const { start, days, transactionalPerHour, receivers, composition } = this.#options
    await this.#delivery.start()
    this.#feed.start()
    const one = createRecipients(this.#random, { unknown: 0, full: 0 })
    const byId = new Map(receivers.map((receiver) => [receiver.id, receiver]))
    feedTransactionalMail(transactionalPerHour, () => one(byId.get(pick(composition, this.#random))!), {
      clock: this.#clock,
      queue: this.#queue,
      pool: this.#poolFor('transactional'),
      wake: () => this.#delivery.wake(),
      random: this.#random,
      isOver: () => this.#unattempted === 0,
    })
    await this.#clock.run(() => this.#open === 0, start + days * DAY)
  }

  result(): SimulationResult {
    const { receivers, composition, start, present } = this.#options
    const after = (at: number | null): number | null => (at === null ? null : at - start)
    const pool = this.#poolFor('broadcast')
    const used = receivers.filter(({ id }) => (composition.get(id) ?? 0) > 0)
    return {
      recipients: this.#count,
      receivers: used.map((receiver) => {
        const { server, provider } = this.#internet.of(receiver)
        return this.#counter.figuresOf(server, provider, composition.get(receiver.id)!)
      }),
      attemptedAfter: after(this.#attemptedAt),
      finishedAfter: after(this.#finishedAt),
      transactional: this.#counter.delays(this.#queue.all(), this.#clock.now()),
      minutes: this.#counter.minutes,
      sources: sourcesOf(present, pool),
      pool,
    }
  }

  #progress(domain: string, first: boolean, final: boolean, now: number): void {
    this.#feed.settled(domain, first, final)
    if (first) this.#unattempted -= 1
    if (final) this.#open -= 1
    if (this.#unattempted === 0) this.#attemptedAt ??= now
    if (this.#open === 0) this.#finishedAt ??= now
  }

  #recipients(): Recipient[] {
    const { receivers, composition, mailboxes } = this.#options
    const one = createRecipients(this.#random, mailboxes)
    const all = receivers.flatMap((receiver) =>
      Array.from({ length: composition.get(receiver.id) ?? 0 }, () => one(receiver)),
    )
    return shuffle(all, this.#random)
  }

  #poolFor(stream: Stream): string {
    const { assignments, regions, sender } = this.#options.present
    const { teamId, domainId, region } = sender ?? { teamId: '', domainId: null, region: null }
    return choosePool(assignments, { teamId, domainId, region, stream }, regions)
  }

  #createDelivery(storage: ReturnType<typeof createSimulatedStorage>): DeliveryModule {
    const { present } = this.#options
    const clock = this.#clock
    return createDelivery({
      storage,
      resolver: this.#internet.resolver,
      policies: NO_POLICIES,
      clock,
      log: createSilentLogger(),
      options: {
        hostname: present.hostname,
        port: 25,
        sourceIps: present.sourceIps,
        allowNetworks: this.#internet.networks,
        ownAddresses: () => [],
        bounces: () => present.bounces,
        providers: () => present.providers,
        maxConnections: present.maxConnections,
        owner: 'simulation',
        pollMs: POLL_MS,
      },
      parts: {
        connections: createSimulatedConnections(clock, (ip) => this.#internet.serverAt(ip)),
        signer: { sign: () => Promise.resolve(new Uint8Array()) },
        random: this.#random,
      },
    })
  }
}

type Policies = Parameters<typeof createDelivery>[0]['policies']

/** Receivers in the simulation have no TLS policies. */
const NO_POLICIES: Policies = {
  policyFor: (domain, mxAuthentic) =>
    Promise.resolve({ domain, mxAuthentic, sts: { held: null, trouble: null }, note: null }),
  demandFor: ({ domain }) =>
    Promise.resolve({
      kind: 'demand',
      demand: { kind: 'opportunistic' },
      watched: null,
      policy: { type: 'no-policy-found', domain, strings: [], mxHosts: [] },
      note: null,
    }),
  record: () => undefined,
}

/** Picks a receiver with a probability proportional to its recipients. */
function pick(composition: Composition, random: () => number): string {
  let left = random() * [...composition.values()].reduce((sum, count) => sum + count, 0)
  for (const [id, count] of composition) if ((left -= count) < 0) return id
  return [...composition.keys()].at(-1)!
}

function sourcesOf({ sources, sourceIps }: ServerState, pool: string): SimulationResult['sources'] {
  const own = sources.filter((source) => source.pool === pool && source.state === 'active')
  const usable = own.length > 0 ? own : sources.filter(({ pool: name }) => name === 'default')
  if (sources.length > 0) return usable.map(({ ip, warmUpSince }) => ({ ip, warmUpSince }))
  return (sourceIps.length > 0 ? sourceIps : ['auto']).map((ip) => ({ ip, warmUpSince: null }))
}
