/** The context of every command: the configuration, the storage and the output. */
import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import type { ContactOperations } from '../audience/audience.ts'
import {
  type AutomationOperations,
  createAutomationOperations,
  createCustomEvents,
  type CustomEvents,
} from '../automations/operations.ts'
import { type ArchiveOperations, createArchiveOperations } from '../archive/settings.ts'
import { createFormOperations, type FormOperations } from '../forms/operations.ts'
import { type BroadcastOperations, createBroadcastOperations } from '../broadcasts/operations.ts'
import { systemClock, type Clock } from '../clock/clock.ts'
import {
  findConfig,
  formatConfigError,
  loadProviderRules,
  InvalidPlans,
  readRunningSandbox,
  InvalidTable,
  type Config,
  type LoadResult,
} from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import type { Webhooks } from '../events/events.ts'
import type { DoctorDeps } from '../insights/insights.ts'
import type { SourceRegistry } from '../sources/sources.ts'
import type { Actor } from '../mail/audit.ts'
import type { Finding } from '../mail/finding.ts'
import { Refusal } from '../mail/refusals.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { Logger } from '../watch/log.ts'
import type { RekeyResult, SecretsStatus } from '../secrets/secrets.ts'
import { pickReachableOrigin } from '../tracking/tracking.ts'
import { createTemplates, type Templates } from '../templates/templates.ts'
import {
  createProviderRuleChecker,
  createSenders,
  type ProviderRuleChecker,
  type Senders,
} from '../senders/senders.ts'
import type {
  BackupResult,
  Domain,
  MoveResult,
  StorageMoveOptions,
  ReadOnlyStorage,
  RestoreResult,
  Snapshot,
  Storage,
  Team,
} from '../storage/storage.ts'
import { Failure, UsageError, describeFileError, formatError } from './failure.ts'
import { createOutput, type Output } from './output.ts'
import { findTeam, type TeamOption } from './which-team.ts'

export { Failure, UsageError, parseArgument } from './failure.ts'

/** The options of every command. */
export interface CommonOptions {
  config?: string
  json?: boolean
}

/** The real storage and resolver, which only the object graph may import; loaded when a command needs them. */
export type Adapters = () => Promise<{
  openStorage: (config: Config) => Promise<Storage>
  openReadOnlyStorage: (config: Config) => Promise<ReadOnlyStorage>
  openResolver: (
    config: Config,
    clock: Clock,
    change?: { servers: string[]; authoritativePort: number },
  ) => Resolver
  schemaVersion: (config: Config) => number
  databaseName: (config: Config) => string
  createBackup: (
    config: Config,
    source: string | null,
    options: {
      file: string
      bodies: boolean
      verify: boolean
      withKey: boolean
      encryption?: { recipients: string[] } | { passphrase: string } | undefined
    },
    now: number,
  ) => Promise<BackupResult>
  hasStorage: (config: Config) => boolean
  openAuditLog: (config: Config) => Pick<Storage, 'appendAudit'>
  restoreBackup: (
    options: {
      file: string
      dataDir: string
      by: Actor
      decryption?: { identities: string[] } | { passphrase: string } | undefined
    },
    now: number,
  ) => Promise<RestoreResult>
  moveStorage: (config: Config, to: Config, options: StorageMoveOptions, now: number) => Promise<MoveResult>
  moveStorageBack: (config: Config, options: StorageMoveOptions, now: number) => Promise<MoveResult>
  inspectSecrets: (config: Config) => SecretsStatus
  rekeySecrets: (config: Config, newKeyFile: string | undefined) => Promise<RekeyResult>
  listUpgradeSnapshots: (config: Config) => Snapshot[]
  openContactOperations: (config: Config, storage: Storage, clock: Clock) => ContactOperations
  openSourceRegistry: (config: Config, storage: Storage, clock: Clock) => Promise<SourceRegistry>
  openTlsPolicies: (
    config: Config,
    deps: { storage: Storage; resolver: Resolver; clock: Clock; log: Logger },
  ) => { view(domain: string): Promise<TlsPolicyView> }
  openWebhooks: (
    config: Config,
    deps: { storage: Storage; resolver: Resolver; clock: Clock },
  ) => { webhooks: Webhooks; close(): void }
  createDoctor: (
    config: Config,
  ) => (deps: Omit<DoctorDeps, 'config' | 'blocklists' | 'targets'>, only?: Domain) => Promise<Finding[]>
}>

export interface Context {
  config: Config
  clock: Clock
  storage: Storage
  accounts: Accounts
  senders: Senders
  sources: SourceRegistry
  contacts: ContactOperations
  templates: Templates
  broadcasts: BroadcastOperations
  automations: AutomationOperations
  customEvents: CustomEvents
  forms: FormOperations
  archive: ArchiveOperations
  gate: ProviderRuleChecker
  webhooks: Webhooks
  /** Created on first use. */
  resolver: Resolver
  output: Output
  /** Returns the team that the command acts for: that of `--team`, or else the first. Throws if there is none. */
  team: () => Promise<Pick<Team, 'id' | 'name'>>
  /** Returns the team of `--team`; undefined if the option is absent, which means all teams. */
  namedTeam: () => Promise<Pick<Team, 'id' | 'name'> | undefined>
}

/** Throws with all errors if the configuration is invalid. */
export function requireValidConfig(loaded: LoadResult): Exclude<LoadResult, { complaints: unknown }> {
  if (!('complaints' in loaded)) return loaded
  const count = loaded.complaints.length
  const title = `The configuration has ${count === 1 ? 'an error' : `${count} errors`}:`
  throw new Failure([title, ...loaded.complaints.map((one) => `  ${formatConfigError(one)}`)].join('\n'))
}

/**
 * Runs a command on the configured server, whether or not its daemon runs; returns the exit code.
 *
 * @param options.first the command may run before the first start and creates the database. Other commands create
 * nothing, because a restore would refuse to overwrite it
 */
export async function withContext(
  options: CommonOptions & TeamOption & { first?: boolean },
  adapters: Adapters,
  command: (context: Context) => Promise<void>,
): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { sandbox, loaded } = findConfig({ file: options.config, env: process.env })
    const { config } = requireValidConfig(loaded)
    if (!options.first && !(await adapters()).hasStorage(config)) throw nothingYet(config, sandbox)
    await using opened = new AsyncDisposableStack()
    const clock = systemClock
    const storage = await openStorage(adapters, config)
    opened.defer(() => storage.close())
    const resolver = createLazyResolver(async () =>
      (await createCommandResolver(adapters, config, clock, sandbox))(),
    )
    opened.defer(() => resolver.close())
    const sources = await (await adapters()).openSourceRegistry(config, storage, clock)
    const contacts = (await adapters()).openContactOperations(config, storage, clock)
    const hooks = (await adapters()).openWebhooks(config, { storage, resolver, clock })
    opened.defer(() => hooks.close())
    const senders = createSenders({ storage, resolver, clock, config: sources.host })
    const accounts = createAccounts({ storage, clock, hostname: config.hostname })
    const namedTeam = async () =>
      options.team === undefined
        ? undefined
        : findTeam(await storage.listTeams({}, clock.now()), options.team)
    const team = async () => {
      const first = await storage.firstTeam({}, clock.now())
      if (!first) throw new Failure(`There is no owner yet. First run: ${SETUP}`)
      return (await namedTeam()) ?? first
    }
    const gate = openGate(config, storage, clock)
    await command({
      config,
      clock,
      storage,
      accounts,
      senders,
      resolver,
      sources,
      contacts,
      templates: createTemplates({ storage, clock }),
      broadcasts: createBroadcastOperations({ storage, clock, senders, gate, tracking: trackingOf(config) }),
      automations: createAutomationOperations({ storage, clock }),
      customEvents: createCustomEvents({ storage, clock }),
      forms: createFormOperations({ storage, clock, senders, originFor: async () => originOf(config) }),
      archive: createArchiveOperations({ storage, clock, tracking: trackingOf(config) }),
      gate,
      webhooks: hooks.webhooks,
      output,
      team,
      namedTeam,
    })
    return 0
  })
}

const openGate = ({ delivery }: Config, storage: Storage, clock: Clock): ProviderRuleChecker =>
  createProviderRuleChecker({ storage, clock, rules: () => loadProviderRules(delivery.provider_rules) })

const trackingOf = (config: Config) => ({ originFor: () => originOf(config) })

/** Returns the origin of links in mail according to the configuration; null if nobody could open such links. */
const originOf = ({ http }: Config): string | null =>
  http.public_url ?? pickReachableOrigin(`http://${http.listen[0] ?? '0.0.0.0'}`)

const SETUP = 'posthaste setup --email you@example.com'

const nothingYet = ({ data_dir: dataDir }: Config, sandbox: boolean): Failure =>
  new Failure(
    sandbox
      ? `The sandbox has not been started: there is no database in ${dataDir}. First run: posthaste serve`
      : `Posthaste has not been set up: there is no database in ${dataDir}. First run: ${SETUP}, then: posthaste serve`,
  )

/** Runs a step. Prints an error on standard error and returns exit code 1, or 2 for wrong usage. */
export async function reportFailure(output: Output, step: () => Promise<number>): Promise<number> {
  try {
    return await step()
  } catch (error) {
    const known = [Failure, Refusal, InvalidPlans, InvalidTable].some((kind) => error instanceof kind)
    if (!known) throw error
    output.error(formatError(error as Error))
    return error instanceof UsageError ? 2 : 1
  }
}

/** Opens the storage. Throws a failure with the reason. */
export async function openStorage(adapters: Adapters, config: Config): Promise<Storage> {
  const { openStorage, databaseName } = await adapters()
  try {
    return await openStorage(config)
  } catch (error) {
    const reason = describeFileError(error)
    throw new Failure(`The storage in ${databaseName(config)} could not be opened: ${reason}`, {
      cause: error,
    })
  }
}

/** Creates resolvers. If a sandbox runs, commands use its name server. */
export async function createCommandResolver(
  adapters: Adapters,
  config: Config,
  clock: Clock,
  sandbox: boolean,
): Promise<() => Resolver> {
  const { openResolver } = await adapters()
  const running = sandbox ? readRunningSandbox(config.data_dir) : undefined
  if (!running) return () => openResolver(config, clock)
  const authoritativePort = Number(running.dns.split(':').at(-1))
  return () => openResolver(config, clock, { servers: [running.dns], authoritativePort })
}

/** Wraps a resolver that is created on first use, because most commands need no DNS. */
export function createLazyResolver(open: () => Promise<Resolver>): Resolver & { close(): Promise<void> } {
  let opened: Promise<Resolver> | undefined
  const get = () => (opened ??= open())
  return {
    resolve: async (name, type) => (await get()).resolve(name, type),
    resolveAuthoritative: async (name, type) => (await get()).resolveAuthoritative(name, type),
    close: async () => (await opened)?.close(),
  }
}
