import { checkLimits, checkMoments, checkWarmUp, compareStories } from './check.ts'
import type { Complaints } from './complaints.ts'
import { checkPromptness, checkStreams, checkTeams, type Day } from './fairness.ts'
import { LaneHistory, type LaneSample } from './lane-log.ts'
import { shippedLimits } from './limits.ts'
import { planCampaign, TEAMS, type Plan } from './plan.ts'
import type { Records } from './record.ts'
import { startSimulation, type Outcome, type Simulation } from './simulation.ts'

/** Runs a whole campaign, from the first request to the last final state, and reports violations. */

export interface RunOptions {
  deliveries: number
  /** The mail is handed over in this many equal parts, one per day. */
  days: number
  seed: number
  /** Real milliseconds after which the run is aborted. */
  patience: number
  /** Called with a line about each day. */
  say?: (line: string) => void
}

export interface Run {
  plan: Plan
  outcomes: Outcome[]
  records: Records
  /** The first source IP is new, the second one is warm. */
  sourceIps: readonly string[]
  lanes: readonly LaneSample[]
  days: Day[]
  /** Unix milliseconds of the simulation. */
  begin: number
  end: number
  /** Real milliseconds from the first request to the last final state. */
  took: number
  /** Violations by assertion; empty if it holds. */
  complaints: Record<Assertion, Complaints>
}

const DAY_MS = 86_400_000
const SOURCES = 2
/** The receiver at which streams and teams are compared, because it has a queue. */
const CONGESTED = 'gmail'

/** Runs a campaign and checks all assertions. Rejects if it doesn't end in time. */
export async function runCampaign(options: RunOptions): Promise<Run> {
  const plan = planCampaign(options.deliveries, options.seed)
  const simulation = await startSimulation({ teams: TEAMS, sources: SOURCES })
  try {
    const begin = simulation.clock.now()
    const days = await handOver(simulation, plan, options)
    const took = days.reduce((sum, day) => sum + day.took, 0)
    const end = simulation.clock.now()
    const records = await simulation.receivers.records()
    const { sourceIps, lanes } = simulation
    const outcomes = simulation.outcomes()
    const run = { plan, outcomes, records, sourceIps, lanes, days, begin, end, took }
    return { ...run, complaints: check(run) }
  } finally {
    await simulation.close()
  }
}

/** Hands over one part per day, then runs until the queue is empty. */
async function handOver(
  simulation: Simulation,
  { emails }: Plan,
  { days: count, patience, say }: RunOptions,
): Promise<Day[]> {
  const { clock, driver } = simulation
  const begin = clock.now()
  const part = Math.ceil(emails.length / count)
  const days: Day[] = []
  for (let day = 0; day < count; day++) {
    const started = performance.now()
    const own = emails.slice(day * part, (day + 1) * part)
    await simulation.accept(own)
    const acceptedAt = clock.now()
    if (day === count - 1) await simulation.finish(patience)
    else {
      const morning = begin + (day + 1) * DAY_MS
      clock.after(morning - clock.now(), () => undefined)
      await driver.run(() => clock.now() >= morning, patience)
    }
    const took = performance.now() - started
    days.push({ recipients: new Set(own.flatMap(({ to }) => to)), acceptedAt, took })
    say?.(`day ${day + 1} of ${count}: ${own.length} emails, ${(took / 1000).toFixed(1)} s`)
  }
  return days
}

/**
 * Returns the history of a source's lane to a personality; undefined if the provider table doesn't have the
 * personality.
 */
export type LaneOf = (ip: string, personality: string) => LaneHistory | undefined

/** Creates a lookup of lanes from the saved states of all of them. */
export function laneFinder(samples: readonly LaneSample[]): LaneOf {
  const known = shippedLimits()
  const lanes = Map.groupBy(samples, ({ source, provider }) => `${source} ${provider}`)
  const histories = new Map<string, LaneHistory>()
  return (ip, personality) => {
    const { provider, limits, listed } = known.get(personality) ?? { listed: false }
    if (!listed) return undefined
    const key = `${ip} ${provider}`
    const history = histories.get(key) ?? new LaneHistory(lanes.get(key) ?? [], limits)
    histories.set(key, history)
    return history
  }
}

/** The assertions that each run checks. */
export const ASSERTIONS = [
  'spool and receivers tell the same story',
  'no lane goes over the limits of its provider',
  'no lane goes over what it allowed at that moment',
  'a new address keeps to its warm-up',
  'who is always ready has its mail as soon as its own lane allows',
  'transactional mail overtakes broadcast mail',
  'teams share equally while all have mail waiting',
] as const

export type Assertion = (typeof ASSERTIONS)[number]

function check(run: Omit<Run, 'complaints'>): Record<Assertion, Complaints> {
  const { plan, outcomes, records, sourceIps, lanes, days, begin } = run
  const known = shippedLimits()
  const young = { ip: sourceIps[0]!, since: begin }
  const perMinute = (name: string): number => known.get(name)!.limits.messagesPerMinute
  const complaints: Complaints[] = [
    compareStories(plan, outcomes, records),
    checkLimits(records, (name) => known.get(name)?.limits),
    checkMoments(records, laneFinder(lanes)),
    checkWarmUp(records, young, (name) => known.get(name)?.warmUp),
    checkPromptness(plan, records, days, perMinute),
    checkStreams(plan, records, days, CONGESTED),
    checkTeams(plan, records, days, CONGESTED),
  ]
  return Object.fromEntries(ASSERTIONS.map((one, at) => [one, complaints[at]!])) as Run['complaints']
}
