/** What every command uses: the configuration, the storage and the output. */
import { createAccounts, type Accounts } from '../accounts/accounts.ts'
import type { ContactBook } from '../audience/audience.ts'
import {
  type AutomationBook,
  createAutomationBook,
  createCustomEvents,
  type CustomEvents,
} from '../automations/book.ts'
import { type ArchiveBook, createArchiveBook } from '../archive/book.ts'
import { createFormBook, type FormBook } from '../forms/book.ts'
import { type BroadcastBook, createBroadcastBook } from '../broadcasts/book.ts'
import { systemClock, type Clock } from '../clock/clock.ts'
import {
  findConfig,
  formatComplaint,
  loadProviderRules,
  PlansRefused,
  readRunning,
  TableRefused,
  type Config,
  type Loaded,
} from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import type { Webhooks } from '../events/events.ts'
import type { DoctorDeps } from '../insights/insights.ts'
import type { SourceBook } from '../sources/sources.ts'
import type { Actor } from '../mail/audit.ts'
import type { Finding } from '../mail/finding.ts'
import { Refusal } from '../mail/refusals.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { Logger } from '../watch/log.ts'
import type { Rekeyed, SecretsStatus } from '../secrets/secrets.ts'
import { reachable } from '../tracking/tracking.ts'
import { createTemplates, type Templates } from '../templates/templates.ts'
import { createProviderGate, createSenders, type ProviderGate, type Senders } from '../senders/senders.ts'
import type {
  BackupDone,
  Domain,
  MoveResult,
  MoveCall,
  ReadOnlyStorage,
  Restored,
  Snapshot,
  Storage,
  Team,
} from '../storage/storage.ts'
import { Failure, Misuse, fileReason, reasonOf } from './failure.ts'
import { createOutput, type Output } from './output.ts'
import { teamCalled, type TeamOption } from './which-team.ts'

export { Failure, Misuse, readTyped } from './failure.ts'

/** The options of every command. */
export interface CommonOptions {
  config?: string
  json?: boolean
}

/** The real storage and resolver, which only the object graph may import; loaded when a command needs them. */
export type Adapters = () => Promise<{
  openStorage: (config: Config) => Promise<Storage>
  readStorage: (config: Config) => Promise<ReadOnlyStorage>
  openResolver: (
    config: Config,
    clock: Clock,
    change?: { servers: string[]; authoritativePort: number },
  ) => Resolver
  schemaVersion: (config: Config) => number
  databaseName: (config: Config) => string
  makeBackup: (
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
  ) => Promise<BackupDone>
  hasStorage: (config: Config) => boolean
  auditLogOf: (config: Config) => Pick<Storage, 'appendAudit'>
  restoreBackup: (
    options: {
      file: string
      dataDir: string
      by: Actor
      decryption?: { identities: string[] } | { passphrase: string } | undefined
    },
    now: number,
  ) => Promise<Restored>
  moveStorage: (config: Config, to: Config, options: MoveCall, now: number) => Promise<MoveResult>
  moveStorageBack: (config: Config, options: MoveCall, now: number) => Promise<MoveResult>
  inspectSecrets: (config: Config) => SecretsStatus
  rekeySecrets: (config: Config, newKeyFile: string | undefined) => Promise<Rekeyed>
  snapshotsOf: (config: Config) => Snapshot[]
  openContactBook: (config: Config, storage: Storage, clock: Clock) => ContactBook
  openSourceBook: (config: Config, storage: Storage, clock: Clock) => Promise<SourceBook>
  openTlsPolicies: (
    config: Config,
    deps: { storage: Storage; resolver: Resolver; clock: Clock; log: Logger },
  ) => { view(domain: string): Promise<TlsPolicyView> }
  openWebhooks: (
    config: Config,
    deps: { storage: Storage; resolver: Resolver; clock: Clock },
  ) => { webhooks: Webhooks; close(): void }
  openDoctor: (
    config: Config,
  ) => (deps: Omit<DoctorDeps, 'config' | 'blocklists' | 'targets'>, only?: Domain) => Promise<Finding[]>
}>

export interface Context {
  config: Config
  clock: Clock
  storage: Storage
  accounts: Accounts
  senders: Senders
  sources: SourceBook
  contacts: ContactBook
  templates: Templates
  broadcasts: BroadcastBook
  automations: AutomationBook
  customEvents: CustomEvents
  forms: FormBook
  archive: ArchiveBook
  gate: ProviderGate
  webhooks: Webhooks
  /** Created on first use. */
  resolver: Resolver
  output: Output
  /** Number of the newest migration, which opening the storage has made. */
  /** Returns the team that the command acts for: that of `--team`, or else the first. Throws if there is none. */
  team: () => Promise<Pick<Team, 'id' | 'name'>>
  /** Returns the team of `--team`; undefined if the option is absent, which means all teams. */
  namedTeam: () => Promise<Pick<Team, 'id' | 'name'> | undefined>
}

/** Throws with all errors if the configuration is invalid. */
export function requireValidConfig(loaded: Loaded): Exclude<Loaded, { complaints: unknown }> {
  if (!('complaints' in loaded)) return loaded
  const count = loaded.complaints.length
  const title = `The configuration has ${count === 1 ? 'an error' : `${count} errors`}:`
  throw new Failure([title, ...loaded.complaints.map((one) => `  ${formatComplaint(one)}`)].join('\n'))
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
    const resolver = lazyResolver(async () => (await resolverFor(adapters, config, clock, sandbox))())
    opened.defer(() => resolver.close())
    const sources = await (await adapters()).openSourceBook(config, storage, clock)
    const contacts = (await adapters()).openContactBook(config, storage, clock)
    const hooks = (await adapters()).openWebhooks(config, { storage, resolver, clock })
    opened.defer(() => hooks.close())
    const senders = createSenders({ storage, resolver, clock, config: sources.host })
    const accounts = createAccounts({ storage, clock, hostname: config.hostname })
    const namedTeam = async () =>
      options.team === undefined
        ? undefined
        : teamCalled(await storage.listTeams({}, clock.now()), options.team)
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
      broadcasts: createBroadcastBook({ storage, clock, senders, gate, tracking: trackingOf(config) }),
      automations: createAutomationBook({ storage, clock }),
      customEvents: createCustomEvents({ storage, clock }),
      forms: createFormBook({ storage, clock, senders, originFor: () => Promise.resolve(originOf(config)) }),
      archive: createArchiveBook({ storage, clock, tracking: trackingOf(config) }),
      gate,
      webhooks: hooks.webhooks,
      output,
      team,
      namedTeam,
    })
    return 0
  })
}

const openGate = ({ delivery }: Config, storage: Storage, clock: Clock): ProviderGate =>
  createProviderGate({ storage, clock, rules: () => loadProviderRules(delivery.provider_rules) })

const trackingOf = (config: Config) => ({ originFor: () => originOf(config) })

/** Returns the origin of links in mail as far as the configuration tells; null: nobody could open one. */
const originOf = ({ http }: Config): string | null =>
  http.public_url ?? reachable(`http://${http.listen[0] ?? '0.0.0.0'}`)

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
    const known = [Failure, Refusal, PlansRefused, TableRefused].some((kind) => error instanceof kind)
    if (!known) throw error
    output.error(reasonOf(error as Error))
    return error instanceof Misuse ? 2 : 1
  }
}

/** Opens the storage. Throws a failure with the reason. */
export async function openStorage(adapters: Adapters, config: Config): Promise<Storage> {
  const { openStorage, databaseName } = await adapters()
  try {
    return await openStorage(config)
  } catch (error) {
    const reason = fileReason(error)
    throw new Failure(`The storage in ${databaseName(config)} could not be opened: ${reason}`, {
      cause: error,
    })
  }
}

/** Creates resolvers. If a sandbox runs, commands use its name server. */
export async function resolverFor(
  adapters: Adapters,
  config: Config,
  clock: Clock,
  sandbox: boolean,
): Promise<() => Resolver> {
  const { openResolver } = await adapters()
  const running = sandbox ? readRunning(config.data_dir) : undefined
  if (!running) return () => openResolver(config, clock)
  const authoritativePort = Number(running.dns.split(':').at(-1))
  return () => openResolver(config, clock, { servers: [running.dns], authoritativePort })
}

/** Wraps a resolver that is created on first use, because most commands need no DNS. */
export function lazyResolver(open: () => Promise<Resolver>): Resolver & { close(): Promise<void> } {
  let opened: Promise<Resolver> | undefined
  const get = () => (opened ??= open())
  return {
    resolve: async (name, type) => (await get()).resolve(name, type),
    resolveAuthoritative: async (name, type) => (await get()).resolveAuthoritative(name, type),
    close: async () => (await opened)?.close(),
  }
}
