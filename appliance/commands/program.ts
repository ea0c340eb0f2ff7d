/** The command line: all commands with their arguments and options. */
import { Argument, Command, CommanderError, Option } from 'commander'
import { findConfig, createSandboxConfig } from '../config/config.ts'
import type { Permission } from '../storage/storage.ts'
import { reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { erase } from './erase.ts'
import type { CrashtestArgs } from './crashtest.ts'
import { addDomain, listDomains, removeDomain, rotateDomain, showDomain, verifyDomain } from './domain.ts'
import { delegateDomain } from './domain-delegation.ts'
import { runDoctor } from './doctor.ts'
import { printStatus } from './status.ts'
import { showTlsPolicy } from './tls.ts'
import { createKey, listKeys, revokeKey } from './key.ts'
import { showBreakdown, recomputeAllMetrics, showMetrics } from './metrics.ts'
import { migrate } from './migrate.ts'
import { registerMigrateStorageCommand } from './migrate-storage.ts'
import { createOutput, type Output } from './output.ts'
import { registerQueueCommands } from './queue-commands.ts'
import { createRegistrar, type Registrar } from './registrar.ts'
import { showDomainProviderRules } from './provider-rules.ts'
import { showDomainInsights, showDomainReputation } from './reputation.ts'
import { setBodyStorage, showRetention } from './retention.ts'
import { runSetup } from './setup.ts'
import { registerRegionCommands } from './region.ts'
import { registerReportCommands } from './report.ts'
import { registerNodeCommands } from './node.ts'
import { registerSourceCommands } from './source-commands.ts'
import { listLanes, pauseLane, resumeLane } from './lane.ts'
import { listProviders, setProvider, showProvider } from './provider.ts'
import { registerWebhookCommands } from './webhook-commands.ts'
import { registerMemberCommands, registerTeamCommands } from './member-commands.ts'
import {
  addSuppression,
  exportSuppressions,
  importSuppressions,
  listSuppressions,
  removeSuppression,
} from './suppression.ts'
import { registerContactCommands } from './contact-commands.ts'
import { registerAlertCommands } from './alert.ts'
import { registerAutomationCommands } from './automation.ts'
import { addArchive } from './archive.ts'
import { registerFormCommands } from './form.ts'
import { registerBroadcastCommands } from './broadcast.ts'
import { registerEmailCommands } from './email.ts'
import { registerEventCommands } from './event.ts'
import { registerInboundCommands } from './inbound.ts'
import { listTemplates, publishTemplate, showTemplate } from './template.ts'
import { registerImportCommand } from './import-commands.ts'
import { parseCount, parseId, parseMinutes, parseSeed } from './values.ts'
import { SUPPRESSION_ORIGINS } from '../mail/verdict.ts'
import { registerUserCommands } from './user-factors.ts'
import { registerAuditCommands } from './audit.ts'
import { registerBackupCommands } from './restore.ts'
import { registerCertificateCommands } from './certificate.ts'
import { registerSecretsCommands } from './secrets.ts'
import { registerSimulateCommand } from './simulate.ts'

/** Builds the command line; `finish` receives the exit code of the command. */
export function createProgram(adapters: Adapters, version: string, finish: (code: number) => void): Command {
  const program = new Command('posthaste')
    .description(
      "Self-hosted email delivery: apps send over REST or SMTP, and Posthaste delivers to the recipients' mail servers.",
    )
    .version(version, '-V, --version', 'Print the version')
    .exitOverride()
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .showHelpAfterError('Add --help for usage.')
  const registrar = createRegistrar(program, adapters, finish)
  registerServeCommand(registrar)
  registerSetupCommand(registrar)
  registerDomainCommands(registrar)
  registerKeyCommands(registrar)
  registerTeamCommands(registrar)
  registerMemberCommands(registrar)
  registerUserCommands(registrar)
  registerContactCommands(registrar)
  registerEmailCommands(registrar)
  registerInboundCommands(registrar)
  registerTemplateCommands(registrar)
  registerBroadcastCommands(registrar)
  registerAutomationCommands(registrar)
  registerFormCommands(registrar)
  addArchive(registrar)
  registerAlertCommands(registrar)
  registerEventCommands(registrar)
  registerSuppressionCommands(registrar)
  registerWebhookCommands(registrar)
  registerQueueCommands(registrar)
  registerAuditCommands(registrar)
  registerSourceCommands(registrar)
  registerNodeCommands(registrar)
  registerRegionCommands(registrar)
  registerReportCommands(registrar)
  registerShapingCommands(registrar)
  registerMetricsCommands(registrar)
  registerTlsCommands(registrar, adapters)
  registerCertificateCommands(registrar)
  registerStatusCommand(registrar, adapters)
  registerDoctorCommand(registrar, adapters)
  registerSimulateCommand(registrar, adapters)
  registerCrashtestCommand(registrar, adapters)
  registerBackupCommands(registrar, adapters)
  registerSecretsCommands(registrar, adapters)
  registerImportCommand(registrar)
  registerRetentionCommands(registrar)
  registrar
    .add('migrate', 'Upgrade the database schema, after making a copy')
    .action(registrar.does((context) => migrate(context, adapters)))
  registerMigrateStorageCommand(registrar, adapters)
  registrar
    .add('version', 'Print the version')
    .action((options: CommonOptions) => printVersion(createOutput(options.json === true), version))
  return program
}

/** Registers `retention` and `erase`. */
function registerRetentionCommands({ addInTeam, does, doesWith }: Registrar): void {
  addInTeam('retention', 'Show retention periods, disk usage and the disk forecast').action(
    does(showRetention),
  )
  addInTeam('erase', 'Erase the data of one address; queued deliveries to it fail')
    .argument('<address>', 'Address of the person')
    .option('--dry-run', 'Show what would be erased, without changing anything')
    .option('--yes', 'Skip the confirmation prompt')
    .action(doesWith(erase))
}

/**
 * Runs the command line.
 *
 * @param argv without the program's own name
 * @returns the exit code: 0 success, 1 refused or failed, 2 wrong usage
 */
export async function runProgram(argv: string[], adapters: Adapters, version: string): Promise<number> {
  let code = 0
  const program = createProgram(adapters, version, (result) => (code = result))
  try {
    await program.parseAsync(helpAsOption(program, argv), { from: 'user' })
    return code
  } catch (error) {
    // Commander has printed the error. --help ends this way, too; a missing command is wrong usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    throw error
  }
}

/**
 * Rewrites `help domain add` and `domain help add` to `domain add --help`. Commander's own help doesn't go below the
 * group, and shows the general help for unknown names.
 */
function helpAsOption(program: Command, argv: string[]): string[] {
  const at = argv.indexOf('help')
  const words = argv.toSpliced(at, 1)
  if (at < 0 || at > 1 || !isGroup(program, argv.slice(0, at))) return argv
  let command: Command | undefined = program
  for (const word of words) command = command?.commands.find((one) => one.name() === word)
  return command ? [...words, '--help'] : words
}

/** Reports whether the words before `help` are a group, not a command that takes `help` as an argument. */
const isGroup = (program: Command, [name]: string[]): boolean =>
  name === undefined || program.commands.some((one) => one.name() === name && one.commands.length > 0)

function registerServeCommand({ add, finish }: Registrar): void {
  add('serve', 'Start the server (sandbox mode if there is no config file)')
    .option('--sandbox', 'Simulate DNS and mail exchangers on loopback; nothing leaves the machine')
    .action(async (options: CommonOptions & { sandbox?: boolean }) => {
      const code = await reportFailure(createOutput(options.json === true), async () => {
        const { config: file, sandbox: wanted = false } = options
        const find = () =>
          wanted && file === undefined
            ? { sandbox: true, loaded: createSandboxConfig({ env: process.env }) }
            : findConfig({ file, env: process.env })
        const found = find()
        const { config, notes } = requireValidConfig(found.loaded)
        // Loaded on demand: the daemon's object graph would slow down other commands.
        const { serve } = await import('./serve.ts')
        const reread = () => find().loaded
        return serve({ config, notes, sandbox: wanted || found.sandbox, reread })
      })
      finish(code)
    })
}

function registerSetupCommand({ add, doesFirst }: Registrar): void {
  add('setup', 'Create the first team and its owner; reads the password from standard input')
    .requiredOption('--email <address>', "The owner's email address, used to sign in")
    .option('--team <name>', 'Name of the team', 'My team')
    .action(doesFirst(runSetup))
}

function registerDomainCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const domain = group('domain', 'Manage domains to send from')
  const on = (name: string, description: string) =>
    addInTeam(name, description, domain).argument('<name>', 'example.com')
  on('add', 'Add a domain and print the DNS records to publish')
    .option('--region <name>', 'Region that its mail leaves from (default: us-east-1)')
    .action(doesWith(addDomain))
  addInTeam('list', 'List domains', domain).action(does(listDomains))
  on('show', 'Show the expected and found DNS records').action(doesTo(showDomain))
  on('verify', 'Check the DNS records; exit code 1 if any is missing').action(doesTo(verifyDomain))
  on('rotate', 'Create new DKIM keys and print their DNS records').action(doesTo(rotateDomain))
  on('delegate', "Let the server's own DNS server publish records of a domain")
    .addArgument(new Argument('<what>', 'Which records').choices(['none', 'cname', 'ns']))
    .action(doesWith(delegateDomain))
  on('provider-rules', 'Check a domain against the rules of mailbox providers').action(
    doesTo(showDomainProviderRules),
  )
  on('reputation', 'Show how receivers treat the mail of a domain, and what changed when')
    .option('--days <count>', 'Days up to now, at most 90 (default: 30)', parseCount)
    .action(doesWith(showDomainReputation))
  on('insights', 'Count the emails of a domain that failed checks of their content and sender')
    .option('--days <count>', 'Days up to now, at most 90 (default: 30)', parseCount)
    .action(doesWith(showDomainInsights))
  on('bodies', "Keep the bodies of a domain's emails, or discard each one once the email is final")
    .addArgument(new Argument('<what>', 'For emails accepted from now on').choices(['keep', 'discard']))
    .action(doesWith(setBodyStorage))
  on('remove', 'Remove a domain and its DKIM keys').action(doesTo(removeDomain))
}

function registerKeyCommands({ group, addInTeam, does, doesTo }: Registrar): void {
  const key = group('key', 'Manage API keys')
  const permission = new Option('--permission <permission>', 'Access level of the key').choices([
    'full_access',
    'sending_access',
  ] satisfies Permission[])
  addInTeam('create', 'Create an API key and print its token, which is shown only once', key)
    .requiredOption('--name <name>', 'Name of the key')
    .addOption(permission)
    .option('--domain <name>', 'Restrict the key to this domain')
    .action(does(createKey))
  addInTeam('list', 'List API keys', key).action(does(listKeys))
  addInTeam('revoke', 'Revoke an API key immediately', key)
    .addArgument(new Argument('<id>', 'ID from the list').argParser(parseId))
    .action(doesTo(revokeKey))
}

function registerTemplateCommands({ group, addInTeam, does, doesTo }: Registrar): void {
  const templates = group('template', 'List and publish templates')
  addInTeam('list', 'List templates, newest first', templates)
    .option('--search <text>', 'Only templates whose name or alias contains this text')
    .option('--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount)
    .action(does(listTemplates))
  addInTeam('show', 'Show a template with its variables', templates)
    .argument('<template>', 'Alias or ID')
    .action(doesTo(showTemplate))
  addInTeam('publish', 'Publish the draft of a template', templates)
    .argument('<template>', 'Alias or ID')
    .action(doesTo(publishTemplate))
}

function registerSuppressionCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const suppression = group('suppression', 'Manage the suppression list')
  addInTeam('list', 'List suppressed addresses, newest first', suppression)
    .addOption(
      new Option('--origin <origin>', 'Only addresses with this origin').choices(SUPPRESSION_ORIGINS),
    )
    .option('--search <text>', 'Only addresses that contain this text')
    .option('--limit <count>', 'Maximum number of rows (default: 100)', parseCount)
    .action(does(listSuppressions))
  addInTeam('add', 'Add an address to the list', suppression)
    .argument('<email>', 'Email address')
    .action(doesTo(addSuppression))
  addInTeam('remove', 'Remove an address from the list', suppression)
    .argument('<email>', 'Email address, or ID of its entry')
    .action(doesTo(removeSuppression))
  addInTeam('export', 'Print the list as CSV', suppression)
    .addOption(
      new Option('--origin <origin>', 'Only addresses with this origin').choices(SUPPRESSION_ORIGINS),
    )
    .action(does(exportSuppressions))
  addInTeam('import', 'Import addresses from a CSV file', suppression)
    .argument('<file>', 'CSV file, or - for standard input')
    .addOption(
      new Option('--origin <origin>', 'Origin of rows without one (default: manual)').choices(
        SUPPRESSION_ORIGINS,
      ),
    )
    .option('--preview', 'Show what would be imported, without changing anything')
    .action(doesWith(importSuppressions))
}

function registerShapingCommands({ group, add, does, doesTo, doesWith }: Registrar): void {
  const providers = group('provider', 'Manage sending limits per mailbox provider')
  add('list', 'List providers and their limits', providers).action(does(listProviders))
  const on = (name: string, description: string) =>
    add(name, description, providers).argument(
      '<id>',
      'Provider, such as google, default, or the domain of a mail exchanger',
    )
  on('show', 'Show the limits of a provider and the replies that pause it').action(doesTo(showProvider))
  on('set', 'Change limits, effective immediately and until changed again')
    .argument('<name=value...>', 'Such as connections=3; connections= restores the value of providers.toml')
    .action(doesWith((context, given) => setProvider(context, given.flat())))
  const lanes = group('lane', 'Manage lanes (one sending IP to one provider)')
  const lane = (name: string, description: string) =>
    add(name, description, lanes).argument('<id>', 'Lane ID from the list, such as 192.0.2.1~google')
  add('list', 'List lanes with their current limits and the reasons', lanes).action(does(listLanes))
  lane('pause', 'Pause a lane')
    .option('--minutes <count>', 'Length of the pause (default: until resumed)', parseMinutes)
    .action(doesWith(pauseLane))
  lane('resume', 'Resume a lane and restore its full limits').action(doesTo(resumeLane))
}

function registerMetricsCommands({ group, add, addInTeam, does }: Registrar): void {
  const metrics = group('metrics', 'Show sending metrics')
  const counting = (name: string, description: string) =>
    addInTeam(name, description, metrics)
      .option('--start <date>', 'Start, ISO 8601 date or datetime (default: six days before the end)')
      .option('--end <date>', 'End, exclusive, ISO 8601 date or datetime (default: now)')
      .option('--timezone <name>', 'Time zone of periods and dates, such as Europe/Berlin (default: UTC)')
      .option('--granularity <length>', 'Period length: hourly, daily, weekly or monthly (default: daily)')
      .option('--region <name>', 'Only mail from domains in this region')
      .option('--metrics <names>', 'Comma-separated metrics, or all (default: the most common ones)')
  counting('show', 'Show metrics for a time range')
    .option('--by <dimensions>', 'Comma-separated dimensions: one row per period, domain or email')
    .action(does(showMetrics))
  counting('breakdown', 'Break metrics down by domain, provider, tag or bounce category')
    .option('--by <what>', 'Dimension: domain, provider, tag, bounce_category or period (default: domain)')
    .option('--domain <name>', 'Only mail from this domain')
    .option('--provider <ids>', 'Only mail to these providers, comma-separated')
    .action(does(showBreakdown))
  add('recompute', 'Recompute metrics from the events, for all teams', metrics).action(
    does(recomputeAllMetrics),
  )
}

function registerTlsCommands({ group, add, doesTo }: Registrar, adapters: Adapters): void {
  const tls = group('tls', 'Inspect TLS policies of recipient domains')
  add('policy', 'Show which TLS policy applies to a recipient domain, and why; sends no mail', tls)
    .argument('<domain>', 'example.com')
    .action(doesTo((context, domain) => showTlsPolicy(context, domain, adapters)))
}

function registerStatusCommand({ add, finish }: Registrar, adapters: Adapters): void {
  add('status', 'Show the state of the server; exit code 1 if something needs attention').action(
    async (options: CommonOptions) => finish(await printStatus(options, adapters)),
  )
}

function registerDoctorCommand({ add, finish }: Registrar, adapters: Adapters): void {
  add('doctor', 'Check everything that mail delivery depends on; exit code 1 if a check failed')
    .option('--domain <name>', 'Check only the DNS records and blocklist entries of this domain')
    .action(async (options: CommonOptions & { domain?: string }) =>
      finish(await runDoctor(options, adapters)),
    )
}

function registerCrashtestCommand({ add, finish }: Registrar, adapters: Adapters): void {
  add(
    'crashtest',
    'Kill a separate test daemon repeatedly while it handles test mail; exit code 1 if any mail is lost',
  )
    .option('--kills <count>', 'Number of kills', parseCount, 100)
    .addOption(
      new Option('--engine <engine>', 'Storage engine').choices(['sqlite', 'postgres']).default('sqlite'),
    )
    .option('--url <url>', 'Empty PostgreSQL database (default: start a server, and kill it, too)')
    .option('--nodes <count>', 'Number of daemons that share a PostgreSQL database', parseCount, 1)
    .option('--seed <number>', 'Random seed; the same seed gives the same kills', parseSeed, 1)
    .option('--duration <seconds>', 'Stop killing after this many seconds', parseCount)
    .action(async (options: CrashtestArgs) => {
      const { runCrashtestCommand: crashtest } = await import('./crashtest.ts')
      finish(await crashtest(options, adapters))
    })
}

/** `version`: of the program and of the Node that runs it. */
function printVersion(output: Output, version: string): void {
  output.object({ object: 'version', version, node: process.version })
  output.text(`posthaste ${version} (Node ${process.version})`)
}
