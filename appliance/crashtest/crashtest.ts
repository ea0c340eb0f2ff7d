/**
 * Kills a daemon repeatedly while clients send through it, and proves from the records of clients and exchangers that
 * no accepted mail was lost. The evidence is collected outside of the daemon, which is only asked for its final report.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock/clock.ts'
import { CRASH_POINTS } from '../watch/crash-points.ts'
import type { ApiTarget } from './api-client.ts'
import { startHoldOperator } from './hold-operator.ts'
import { Killer, type KillerDeps } from './killer.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { startEndpoint } from './endpoint.ts'
import { startExchangers } from './exchanger.ts'
import {
  formatKillName,
  planKills,
  planPostgresKills,
  createRandomGenerator,
  listUnreachablePoints,
  type RandomGenerator,
  type PlannedKill,
  type StorageEngine,
} from './plan.ts'
import { NodeKiller, type NodeKillerDeps } from './node-killer.ts'
import { formatFaultName, planNodeFaults, type NodeFault } from './node-plan.ts'
import { startPair, type PostgresPair } from './postgres-pair.ts'
import { findPostgresPrograms, startPostgres, type PostgresServer } from './postgres-server.ts'
import { createTestEnvironment, type CrashtestAdapters, type TestEnvironment } from './environment.ts'
import { startSendingServers, type AcceptedRecipient } from './arrivals.ts'
import type { SmtpTarget } from './smtp-client.ts'
import { startTraffic } from './traffic.ts'
import { didArrivalsPass, evaluateArrivals, type ArrivalsVerdict } from './verdict-arrivals.ts'
import { evaluateEvents, type EventsVerdict } from './verdict-events.ts'
import { didPass, evaluateLedger, type Verdict } from './verdict.ts'

export interface CrashtestOptions {
  /** Default: SQLite. */
  engine?: StorageEngine | undefined
  /** URL of an empty PostgreSQL database. Default: the test starts its own server, and kills that, too. */
  database?: string | undefined
  /** Number of daemons that share the database; more than 1 needs PostgreSQL. Default: 1. */
  nodes?: number | undefined
  kills: number
  /** The faults of several nodes, in order. Default: `kills` faults, planned from the seed. */
  faults?: readonly NodeFault[] | undefined
  seed: number
  /** Time limit for kills, in milliseconds; undefined to make all of them. */
  durationMs?: number | undefined
  clock: Clock
  /** When aborted, makes no further kills and completes the test. */
  enough?: AbortSignal | undefined
  /** Called periodically with the number of kills. */
  progress?: ((text: string) => void) | undefined
}

/** How often a daemon was killed at a crash point, and how often that was planned. */
export interface CrashPointCount {
  name: string
  /** Reason why the point can't be reached; null when it can. */
  unreachable: string | null
  planned: number
  reached: number
}

export interface CrashtestReport {
  engine: StorageEngine
  /** Number of daemons that shared the database. */
  nodes: number
  seed: number
  kills: number
  points: CrashPointCount[]
  verdict: Verdict
  /** Verdict on the events that the webhook endpoint received. */
  events: EventsVerdict
  /** Verdict on the messages that the public MX accepted. */
  arrivals: ArrivalsVerdict
  /** Differences between the daemon's report and the evidence, and other problems. */
  faults: string[]
  /** Milliseconds from the start of the process until it accepts mail: median and maximum. */
  startMs: { median: number; longest: number }
  /** Maximum number of concurrent conversations at a kill. */
  mostConversations: number
  seconds: number
  /**
   * Whether the test passed: nothing lost, no duplicate without a kill, no key used twice, no event missing, no fault.
   */
  sound: boolean
  /** Where the directory was kept for inspection; null when the test passed and it was removed. */
  kept: string | null
}

/** Maximum time that an exchanger waits before it accepts a message, in milliseconds. */
const THINK_MS = 15

/** Runs the test. Rejects only when it can't start. */
export async function runCrashtest(
  parts: CrashtestAdapters,
  options: CrashtestOptions,
): Promise<CrashtestReport> {
  const { clock, seed } = options
  const begun = clock.now()
  const dice = createRandomGenerator(seed)
  await using opened = new AsyncDisposableStack()
  const servers = await openServers(options, opened)
  const ledger = createLedger()
  const nodes = options.nodes ?? 1
  const sourceIps = nodes > 1 ? Array.from({ length: nodes }, (_, at) => `127.0.0.${at + 11}`) : []
  /** The current run of each node. */
  const runs = Array.from({ length: nodes }, () => 0)
  let lastRun = 0
  const thinking = createRandomGenerator(seed + 1)
  const accepted: AcceptedRecipient[] = []
  const exchangers = await startExchangers({
    ledger,
    now: () => clock.now(),
    run: (address) => runs[Math.max(0, sourceIps.indexOf(address))]!,
    thinkMs: () => thinking.between(0, THINK_MS),
    accepted: (recipient, returnPath) => void accepted.push({ recipient, returnPath }),
  })
  opened.defer(() => exchangers.close())
  const endpoint = await startEndpoint(ledger)
  opened.defer(() => endpoint.close())
  const stage = await createTestEnvironment(parts, {
    deliveryPort: exchangers.port,
    endpoint: endpoint.url,
    database: options.database ?? (servers.pair ?? servers.single)?.urlOf('postgres'),
    sourceIps,
    clock,
    // Not from the test's seed, because two parallel tests with the same seed must not pick the same port while their
    // daemons are down.
    dice: createRandomGenerator(process.pid),
  })
  opened.defer(() => stage.close())

  const nextRun = (node = 0): number => (runs[node] = ++lastRun)
  const { killer, steps } = openKiller({ stage, ledger, clock, exchangers, servers, nextRun }, options, dice)
  opened.defer(() => killer.end())
  const planned = steps.map(({ name }) => name)
  if (steps[0]?.isFirst) await steps.shift()!.make()
  const apiKey = await stage.setUp()
  const asked = sendThrough(killer, { stage, ledger, clock, seed, apiKey, runs, accepted })
  for (const { make } of steps) {
    if (killer.faults.length > 0 || options.enough?.aborted) break
    if (options.durationMs !== undefined && clock.now() - begun > options.durationMs) break
    await make()
    if (ledger.kills.length % (nodes > 1 ? 5 : 25) === 0)
      options.progress?.(`${ledger.kills.length} kills, ${ledger.sent.length} emails`)
  }
  if (killer.faults.length === 0) await killer.drain(asked)
  return conclude(stage, { killer, ledger, planned, begun }, options)
}

/**
 * Lets clients, other servers and an operator use the nodes, choosing a node each time. Returns the settings for API
 * requests.
 */
function sendThrough(
  killer: Killer | NodeKiller,
  {
    stage,
    ledger,
    clock,
    seed,
    apiKey,
    runs,
    accepted,
  }: {
    stage: TestEnvironment
    ledger: Ledger
    clock: Clock
    seed: number
    apiKey: string
    /** The current run of each node. */
    runs: readonly number[]
    accepted: AcceptedRecipient[]
  },
): ApiTarget {
  const { from, domains, receiving } = stage
  const choosing = createRandomGenerator(seed + 6)
  const nodeAt = (): number => choosing.between(0, stage.nodes.length - 1)
  const targetOf = (listener: 'smtpPort' | 'mxPort') => (): SmtpTarget => {
    const node = nodeAt()
    return { port: stage.nodes[node]![listener], run: () => runs[node]! }
  }
  const asked = { url: () => stage.nodes[nodeAt()]!.url, apiKey }
  const around = { ledger, now: () => clock.now(), asked, domains }
  const traffic = startTraffic({
    ...around,
    dice: createRandomGenerator(seed + 3),
    smtp: targetOf('smtpPort'),
    from,
  })
  const arriving = { ledger, mx: targetOf('mxPort'), domain: receiving, accepted }
  const inbound = startSendingServers({ ...arriving, dice: createRandomGenerator(seed + 5) })
  const fault = (text: string): void => void killer.faults.push(text)
  const holder = startHoldOperator({ ...around, dice: createRandomGenerator(seed + 4), fault })
  killer.traffic = {
    allow(emails, arrivals) {
      traffic.allow(emails)
      inbound.allow(arrivals)
    },
    finish: async () => void (await Promise.all([traffic.finish(), holder.finish(), inbound.finish()])),
  }
  return asked
}

/** A planned fault. */
interface Step {
  name: string
  make: () => Promise<void>
  /** Whether the kill must come before there are an account and traffic. */
  isFirst: boolean
}

/** Plans the faults, and creates the killer that makes them. */
function openKiller(
  { servers: { pair, single: server }, ...deps }: Omit<KillerDeps & NodeKillerDeps, 'server'> & OwnServers,
  { engine, kills, faults, nodes = 1 }: CrashtestOptions,
  dice: RandomGenerator,
): { killer: Killer | NodeKiller; steps: Step[] } {
  if (nodes > 1) {
    if (!pair) throw new Error('Several nodes need PostgreSQL servers that the test starts itself')
    const killer = new NodeKiller({ ...deps, server: pair })
    const plan = faults ?? planNodeFaults(kills, nodes, dice)
    const steps = plan.map((one) => ({
      name: formatFaultName(one),
      make: () => killer.make(one),
      isFirst: false,
    }))
    return { killer, steps }
  }
  const killer = new Killer({ ...deps, server })
  const ownServer = server !== undefined
  const plan = engine === 'postgres' ? planPostgresKills(kills, dice, { ownServer }) : planKills(kills, dice)
  const isFirst = (one: PlannedKill): boolean =>
    one.kind === 'point' && CRASH_POINTS[one.point].reach === 'start'
  const steps = plan.map((one) => ({
    name: formatKillName(one),
    make: () => killer.kill(one),
    isFirst: isFirst(one),
  }))
  return { killer, steps }
}

/** The database servers that the test starts itself. */
interface OwnServers {
  servers: {
    /** For one daemon. */
    single?: PostgresServer
    /** For several nodes: a primary and its standby. */
    pair?: PostgresPair
  }
}

/** Starts PostgreSQL if the test needs servers of its own. */
async function openServers(
  { engine, database, nodes = 1 }: CrashtestOptions,
  opened: AsyncDisposableStack,
): Promise<OwnServers['servers']> {
  if (engine !== 'postgres' || database !== undefined) return {}
  const programs = findPostgresPrograms()
  if (nodes > 1) {
    const pair = await startPair(programs)
    opened.defer(() => pair.close())
    return { pair }
  }
  const single = await startPostgres(programs, { safe: true })
  opened.defer(() => single.close())
  return { single }
}

async function conclude(
  { folder }: TestEnvironment,
  {
    killer,
    ledger,
    planned,
    begun,
  }: { killer: Killer | NodeKiller; ledger: Ledger; planned: string[]; begun: number },
  { seed, clock, engine = 'sqlite', nodes = 1 }: CrashtestOptions,
): Promise<CrashtestReport> {
  await killer.end()
  const verdict = evaluateLedger(ledger)
  const events = evaluateEvents(ledger)
  const arrivals = evaluateArrivals(ledger)
  const { faults } = killer
  const told = events.untold.length === 0 && events.strange.length === 0
  const sound = didPass(verdict) && didArrivalsPass(arrivals) && told && faults.length === 0
  if (sound) await rm(folder, { recursive: true, force: true })
  else
    await writeFile(
      join(folder, 'ledger.json'),
      JSON.stringify({ ...ledger, rejected: [...ledger.rejected], quit: [...ledger.quit] }),
    )
  const starts = killer.starts.toSorted((a, b) => a - b)
  return {
    engine,
    nodes,
    seed,
    kills: ledger.kills.length,
    points: countPoints(planned, ledger, nodes > 1 ? {} : CRASH_POINTS, engine),
    verdict,
    events,
    arrivals,
    faults,
    startMs: { median: starts[Math.floor(starts.length / 2)] ?? 0, longest: starts.at(-1) ?? 0 },
    mostConversations: Math.max(0, ...ledger.kills.map(({ conversations }) => conversations)),
    seconds: Math.round((clock.now() - begun) / 1000),
    sound,
    kept: sound ? null : folder,
  }
}

/**
 * Counts the kills at each point, including points that were not planned or not reached.
 * @param points those that can be planned
 */
function countPoints(
  planned: string[],
  { kills }: Ledger,
  points: object,
  engine: StorageEngine,
): CrashPointCount[] {
  const unreachable = listUnreachablePoints(engine)
  const names = new Set([...Object.keys(points), ...planned])
  return [...names].map((name) => ({
    name,
    unreachable: unreachable[name] ?? null,
    planned: planned.filter((one) => one === name).length,
    reached: kills.filter(({ how }) => how === name).length,
  }))
}
