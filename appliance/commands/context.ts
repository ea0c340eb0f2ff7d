/** What every command works with: the configuration, the storage behind it, and a place to write. */
import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import { systemClock, type Clock } from '../clock/clock.ts'
import {
  findConfig,
  formatComplaint,
  PlansRefused,
  readRunning,
  type Config,
  type Loaded,
} from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import { Refusal } from '../mail/refusals.ts'
import { createSenders, type Senders } from '../senders/senders.ts'
import type { Storage, Team } from '../storage/storage.ts'
import { createOutput, type Output } from './output.ts'

/** The options that every command has. */
export interface CommonOptions {
  config?: string
  json?: boolean
}

/** The real storage and resolver, which only the object graph may know; loaded when a command needs them. */
export type Adapters = () => Promise<{
  openStorage: (config: Config) => Promise<Storage>
  openResolver: (
    config: Config,
    clock: Clock,
    change?: { servers: string[]; authoritativePort: number },
  ) => Resolver
  schemaVersion: () => Promise<number>
}>

export interface Context {
  config: Config
  clock: Clock
  storage: Storage
  accounts: Accounts
  senders: Senders
  output: Output
  /** Number of the newest migration, which opening the storage has made. */
  schemaVersion: () => Promise<number>
  /** The team that commands act for. Fails when there is none yet. */
  team: () => Promise<Team>
}

/** A command's "no": one line on standard error, exit code 1. */
export class Failure extends Error {}

/** Stops with every complaint when the configuration is not sound. */
export function soundConfig(loaded: Loaded): Exclude<Loaded, { complaints: unknown }> {
  if (!('complaints' in loaded)) return loaded
  const count = loaded.complaints.length
  const title = `The configuration has ${count === 1 ? 'a mistake' : `${count} mistakes`}:`
  throw new Failure([title, ...loaded.complaints.map((one) => `  ${formatComplaint(one)}`)].join('\n'))
}

/** Runs a command on the configured appliance, whether its daemon runs or not; returns the exit code. */
export async function withContext(
  options: CommonOptions,
  adapters: Adapters,
  command: (context: Context) => Promise<void>,
): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { sandbox, loaded } = findConfig({ file: options.config, env: process.env })
    const { config } = soundConfig(loaded)
    await using opened = new AsyncDisposableStack()
    const clock = systemClock
    const storage = await openStorage(adapters, config)
    opened.defer(() => storage.close())
    const resolver = lazyResolver(() => resolverFor(adapters, config, clock, sandbox))
    opened.defer(() => resolver.close())
    const host = { hostname: config.hostname, sourceIps: config.delivery.source_ips }
    const senders = createSenders({ storage, resolver, clock, config: host })
    const accounts = createAccounts({ storage, clock })
    const team = async () => {
      const found = await storage.firstTeam({}, clock.now())
      if (!found)
        throw new Failure('There is no owner yet. First run: posthaste setup --email you@example.com')
      return found
    }
    const schemaVersion = async () => (await adapters()).schemaVersion()
    await command({ config, clock, storage, accounts, senders, output, team, schemaVersion })
    return 0
  })
}

/** Runs a step and turns what it throws into a reason on standard error and exit code 1. */
export async function reportFailure(output: Output, step: () => Promise<number>): Promise<number> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof Failure || error instanceof Refusal || error instanceof PlansRefused)) throw error
    output.error(error.message)
    return 1
  }
}

async function openStorage(adapters: Adapters, config: Config): Promise<Storage> {
  try {
    const { openStorage } = await adapters()
    return await openStorage(config)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure(`The storage in ${config.data_dir} could not be opened: ${reason}`, { cause: error })
  }
}

/** A running sandbox answers for the names in it, so commands beside it ask its name server. */
async function resolverFor(
  adapters: Adapters,
  config: Config,
  clock: Clock,
  sandbox: boolean,
): Promise<Resolver> {
  const { openResolver } = await adapters()
  const running = sandbox ? readRunning(config.data_dir) : undefined
  if (!running) return openResolver(config, clock)
  const authoritativePort = Number(running.dns.split(':').at(-1))
  return openResolver(config, clock, { servers: [running.dns], authoritativePort })
}

/** Most commands ask nothing of DNS: the resolver is made at the first question. */
function lazyResolver(open: () => Promise<Resolver>): Resolver & { close(): Promise<void> } {
  let opened: Promise<Resolver> | undefined
  const get = () => (opened ??= open())
  return {
    resolve: async (name, type) => (await get()).resolve(name, type),
    resolveAuthoritative: async (name, type) => (await get()).resolveAuthoritative(name, type),
    close: async () => (await opened)?.close(),
  }
}
