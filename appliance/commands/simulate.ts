/**
 * `posthaste simulate`: predicts what would happen if a large broadcast were sent now. Only reads the server's data.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import {
  findConfig,
  loadBounceRules,
  loadProviders,
  loadReceivers,
  OTHER_RECEIVER,
  type Config,
} from '../config/config.ts'
import type { Receiver } from '../mail/receiver.ts'
import { NO_REGIONS } from '../mail/region.ts'
import { DEFAULT_POOL, type Source } from '../mail/source.ts'
import type * as Simulation from '../simulation/simulation.ts'
import type { ServerState, SimulationResult } from '../simulation/simulation.ts'
import type { ReadOnlyStorage } from '../storage/storage.ts'
import { reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { Failure, describeFileError, UsageError } from './failure.ts'
import { createOutput } from './output.ts'
import type { Registrar } from './registrar.ts'
import { describeSimulation, presentSimulation } from './simulate-text.ts'
import { parseCount, parseId, parseSeed } from './values.ts'
import { findTeam, type TeamOption } from './which-team.ts'

const MOST_VOLUME = 1_000_000
const MOST_DAYS = 60
/** Share of full mailboxes. */
const FULL = 0.002

export interface SimulateOptions extends CommonOptions, TeamOption {
  volume?: number
  segment?: string
  contacts?: string
  domain?: string
  bounces: number
  transactional: number
  days: number
  at?: number
  seed: number
  receivers?: string
  plot?: string
}

/** Registers `simulate`. */
export function registerSimulateCommand({ addInTeam, finish }: Registrar, adapters: Adapters): void {
  addInTeam(
    'simulate',
    'Simulate sending a broadcast now; sends and changes nothing. Exit code 1 if a published limit would be broken',
  )
    .option('--volume <count>', `Number of recipients, at most ${MOST_VOLUME}`, parseVolume)
    .option('--segment <id>', 'Providers as in this segment (default: a typical list)', parseId)
    .option('--contacts <file>', 'Providers as in this list, an address at the start of each line')
    .option('--domain <name>', 'Sending domain, which may have its own pool of IPs (default: any)')
    .option('--bounces <percent>', 'Recipients that do not exist', parsePercent, 1)
    .option('--transactional <count>', 'Other emails per hour during the broadcast', parseOther, 300)
    .option('--days <count>', `Simulated days, at most ${MOST_DAYS}`, parseDays, 30)
    .option('--at <time>', 'Start, ISO 8601 (default: now)', parseTime)
    .option('--seed <number>', 'Random seed; the same seed and start give the same result', parseSeed, 1)
    .option('--receivers <file>', 'Models of the receivers (default: the built-in receivers.toml)')
    .option('--plot <file>', 'Also draw the progress as SVG')
    .action(async (options: SimulateOptions) => finish(await simulateCommand(options, adapters)))
}

function parseVolume(text: string): number {
  const volume = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : Infinity
  if (volume > MOST_VOLUME)
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MOST_VOLUME}.`)
  return volume
}

function parseDays(text: string): number {
  const days = parseCount(text)
  if (days > MOST_DAYS) throw new InvalidArgumentError(`Expected a whole number from 1 to ${MOST_DAYS}.`)
  return days
}

/** Parses the number of transactional emails per hour. */
function parseOther(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 0 to 99999.')
  return Number(text)
}

function parsePercent(text: string): number {
  const percent = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : Infinity
  if (percent > 99) throw new InvalidArgumentError('Expected a number from 0 to 99, such as 1.5.')
  return percent
}

function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : NaN
  if (Number.isNaN(time))
    throw new InvalidArgumentError('Expected a date or time such as 2027-03-01T08:00:00Z.')
  return time
}

/** Runs `simulate`. Returns the exit code. */
async function simulateCommand(options: SimulateOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  let broken = false
  const code = await reportFailure(output, async () => {
    refuseContradictions(options)
    const { config } = requireValidConfig(findConfig({ file: options.config, env: process.env }).loaded)
    const receivers = loadReceivers(options.receivers)
    const start = options.at ?? Date.now()
    const { hasStorage } = await adapters()
    await using storage = hasStorage(config) ? await openReadOnly(adapters, config) : undefined
    const present = await presentOf(config, storage, options)
    // Loaded on demand: delivery would slow down other commands.
    const simulation = await import('../simulation/simulation.ts')
    const weights = await weightsOf(options, { storage, receivers, present, simulation })
    const known = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
    const volume = options.volume ?? Math.round(known)
    if (volume > MOST_VOLUME)
      throw new Failure(`The list has ${volume} recipients; at most ${MOST_VOLUME} can be simulated.`)
    const result = await simulation.simulate({
      present,
      receivers,
      composition: simulation.divideProportionally(volume, weights),
      mailboxes: { unknown: options.bounces / 100, full: FULL },
      transactionalPerHour: options.transactional,
      seed: options.seed,
      start,
      days: options.days,
    })
    broken = result.receivers.some((one) => one.broken.length > 0)
    output.object(presentSimulation(result, { start, days: options.days, seed: options.seed }))
    const bars = simulation.drawBars(simulation.computeMinuteTotals(result.minutes))
    output.text(...describeSimulation(result, { start, days: options.days }), '', ...bars)
    if (options.plot !== undefined) {
      const caption = `${result.recipients} emails from ${sourceWords(result)}, simulated by posthaste simulate.`
      writePlot(options.plot, simulation.plotProgress(result.receivers, result.minutes, caption))
    }
    return 0
  })
  return broken && code === 0 ? 1 : code
}

const sourceWords = ({ sources }: SimulationResult): string =>
  sources.length === 1 ? 'one IP' : `${sources.length} IPs`

function refuseContradictions({ volume, segment, contacts }: SimulateOptions): void {
  if (segment !== undefined && contacts !== undefined)
    throw new UsageError('--segment and --contacts cannot be combined.')
  if (volume === undefined && segment === undefined && contacts === undefined)
    throw new UsageError(
      '--volume is missing: the number of recipients. Or name a list: --segment or --contacts.',
    )
}

function writePlot(file: string, svg: string): void {
  try {
    writeFileSync(file, svg)
  } catch (error) {
    throw new Failure(`--plot: ${file} could not be written: ${describeFileError(error)}`, { cause: error })
  }
}

type Reads = ReadOnlyStorage & AsyncDisposable

async function openReadOnly(adapters: Adapters, config: Config): Promise<Reads> {
  const { openReadOnlyStorage, databaseName } = await adapters()
  try {
    const storage = await openReadOnlyStorage(config)
    return { ...storage, [Symbol.asyncDispose]: () => storage.close() }
  } catch (error) {
    throw new Failure(
      `The storage in ${databaseName(config)} could not be opened: ${describeFileError(error)}`,
      {
        cause: error,
      },
    )
  }
}

/** Reads the current state; without a database, returns the state of a first start. */
async function presentOf(
  config: Config,
  storage: ReadOnlyStorage | undefined,
  options: SimulateOptions,
): Promise<ServerState> {
  const { delivery, hostname } = config
  const now = Date.now()
  const reads = storage && {
    sources: await storage.listSources({}, now),
    lanes: await storage.listLanes({}, now),
    providerSettings: await storage.listProviderSettings({}, now),
    assignments: await storage.listAssignments({}, now),
    regions: await storage.regionMap({}, now),
    sender: await senderOf(storage, options),
  }
  if (!storage && options.domain !== undefined) throw new Failure(`Domain ${options.domain} not found.`)
  const { max_connections_per_domain: connections } = delivery
  const begun = delivery.warm_up ? (options.at ?? now) : null
  const first = delivery.source_ips.map((ip) => newSource(ip, begun))
  const none = { sources: [], lanes: [], providerSettings: [], assignments: [] }
  const found = reads ?? { ...none, regions: NO_REGIONS, sender: null }
  return {
    ...found,
    hostname,
    sourceIps: delivery.source_ips,
    sources: found.sources.length > 0 ? found.sources : first,
    providers: loadProviders({ connections }, delivery.providers),
    bounces: loadBounceRules(delivery.bounces),
    maxConnections: delivery.max_connections,
  }
}

const newSource = (ip: string, warmUpSince: number | null): Source => ({
  ip,
  pool: DEFAULT_POOL,
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince,
  origin: 'configuration',
  health: null,
  checkedAt: null,
})

/** Returns the team and domain that the simulated mail is sent from; null if there is no team. */
async function senderOf(
  storage: ReadOnlyStorage,
  { team, domain }: SimulateOptions,
): Promise<ServerState['sender']> {
  const now = Date.now()
  const teams = await storage.listTeams({}, now)
  const chosen = team === undefined ? teams[0] : findTeam(teams, team)
  if (!chosen) return null
  if (domain === undefined) return { teamId: chosen.id, domainId: null, region: null }
  const found = (await storage.listDomains({ teamId: chosen.id }, now)).find(
    ({ name }) => name === domain.toLowerCase(),
  )
  if (!found) throw new Failure(`Domain ${domain} not found. See: posthaste domain list`)
  return { teamId: chosen.id, domainId: found.id, region: found.region }
}

interface Around {
  storage: ReadOnlyStorage | undefined
  receivers: readonly Receiver[]
  present: ServerState
  simulation: typeof Simulation
}

/** Returns the weight of each receiver in the list of recipients; their sum is the number of addresses, if known. */
async function weightsOf(options: SimulateOptions, around: Around): Promise<Map<string, number>> {
  const { receivers, simulation } = around
  if (options.contacts !== undefined)
    return simulation.countAddresses(readList(options.contacts), receivers, OTHER_RECEIVER)
  if (options.segment !== undefined) return segmentWeights(options.segment, around)
  return simulation.getDefaultShares(receivers)
}

function readList(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(`--contacts: ${file} could not be read: ${describeFileError(error)}`, { cause: error })
  }
}

/** Counts the mailable contacts of a segment by provider. */
async function segmentWeights(id: string, { storage, receivers, present, simulation }: Around) {
  const teamId = present.sender?.teamId
  const now = Date.now()
  if (!storage || teamId === undefined || !(await storage.getSegment({ teamId, id }, now)))
    throw new Failure(`Segment ${id} not found. See: posthaste segment list`)
  const counts = new Map<string, number>()
  let after: string | undefined
  do {
    const part = await storage.segmentProviders({ teamId, segmentId: id, after }, now)
    for (const { provider, contacts } of part.providers)
      counts.set(provider, (counts.get(provider) ?? 0) + contacts)
    after = part.next ?? undefined
  } while (after !== undefined)
  if (counts.size === 0) throw new Failure('Nobody in this segment gets broadcasts.')
  return simulation.toReceiverCounts(counts, receivers, { table: present.providers, other: OTHER_RECEIVER })
}
