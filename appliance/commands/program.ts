/** The command line: which commands there are and what they take. */
import { Argument, Command, CommanderError, Option } from 'commander'
import { findConfig, sandboxConfig } from '../config/config.ts'
import { SUPPRESSION_ORIGINS } from '../mail/suppression.ts'
import type { Permission } from '../storage/storage.ts'
import { reportFailure, soundConfig, type Adapters, type CommonOptions } from './context.ts'
import { addAudit } from './audit-commands.ts'
import { erase } from './erase.ts'
import type { CrashtestArgs } from './crashtest.ts'
import { addDomain, listDomains, removeDomain, rotateDomain, showDomain, verifyDomain } from './domain.ts'
import { doctor } from './doctor.ts'
import { status } from './status.ts'
import { showTlsPolicy } from './tls.ts'
import { createKey, listKeys, revokeKey } from './key.ts'
import { addBackups } from './backup-commands.ts'
import { breakDown, recompute, showMetrics } from './metrics.ts'
import { migrate } from './migrate.ts'
import { createOutput } from './output.ts'
import { addQueue } from './queue-commands.ts'
import { createRegistrar, type Registrar } from './registrar.ts'
import { setBodies, showRetention } from './retention.ts'
import { addSecrets } from './secrets-commands.ts'
import { setup } from './setup.ts'
import { addSources } from './source-commands.ts'
import { listLanes, pauseLane, resumeLane } from './lane.ts'
import { listProviders, setProvider, showProvider } from './provider.ts'
import * as webhook from './webhook.ts'
import { addMembers, addTeam } from './member-commands.ts'
import {
  addSuppression,
  exportSuppressions,
  importSuppressions,
  listSuppressions,
  removeSuppression,
} from './suppression.ts'
import { addCertificates } from './certificate-commands.ts'
import { addImport } from './import-commands.ts'
import { addUsers } from './user-commands.ts'
import { parseCount, parseId, parseMinutes, parseSeed } from './values.ts'
import { printVersion } from './version.ts'

/** Builds the command line; `finish` is told the exit code of the command that ran. */
export function createProgram(adapters: Adapters, version: string, finish: (code: number) => void): Command {
  const program = new Command('posthaste')
    .description('Self-hosted email delivery: REST in, signed mail straight to the recipients out.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('Add --help to see what is taken.')
  const registrar = createRegistrar(program, adapters, finish)
  addServe(registrar)
  addSetup(registrar)
  addDomains(registrar)
  addKeys(registrar)
  addTeam(registrar)
  addMembers(registrar)
  addUsers(registrar)
  addSuppressions(registrar)
  addWebhooks(registrar)
  addQueue(registrar)
  addAudit(registrar)
  addSources(registrar)
  addShaping(registrar)
  addMetrics(registrar)
  addTls(registrar, adapters)
  addCertificates(registrar)
  addStatus(registrar, adapters)
  addDoctor(registrar, adapters)
  addCrashtest(registrar, adapters)
  addBackups(registrar, adapters)
  addSecrets(registrar, adapters)
  addImport(registrar)
  registrar
    .addInTeam(
      'retention',
      'show how long what is kept, what it takes on the disk, and how long the disk will do',
    )
    .action(registrar.does(showRetention))
  registrar
    .addInTeam('erase', "erase one person's data by address; what waits for the address is given up")
    .argument('<address>', 'whose data it is')
    .option('--dry-run', 'count what would be touched, and change nothing')
    .option('--yes', 'without asking')
    .action(registrar.doesWith(erase))
  registrar
    .add('migrate', 'bring the database up to date; a copy is made before')
    .action(registrar.does((context) => migrate(context, adapters)))
  registrar
    .add('version', 'print the version')
    .action((options: CommonOptions) => printVersion(createOutput(options.json === true), version))
  return program
}

/**
 * Runs the command line.
 * @param argv without the program's own name
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage
 */
export async function runProgram(argv: string[], adapters: Adapters, version: string): Promise<number> {
  let code = 0
  const program = createProgram(adapters, version, (result) => (code = result))
  try {
    await program.parseAsync(helpAsOption(program, argv), { from: 'user' })
    return code
  } catch (error) {
    // Commander has written its reason. Asking for help ends this way too; without any command it is wrong usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    throw error
  }
}

/**
 * `help domain add` and `domain help add` as `domain add --help`: commander's own goes no deeper than the group, and shows the help of
 * all for a name that is none.
 */
function helpAsOption(program: Command, argv: string[]): string[] {
  const at = argv.indexOf('help')
  const words = argv.toSpliced(at, 1)
  if (at < 0 || at > 1 || !isGroup(program, argv.slice(0, at))) return argv
  let command: Command | undefined = program
  for (const word of words) command = command?.commands.find((one) => one.name() === word)
  return command ? [...words, '--help'] : words
}

/** Whether what stands before `help` is no command, to which it would be an argument. */
const isGroup = (program: Command, [name]: string[]): boolean =>
  name === undefined || program.commands.some((one) => one.name() === name && one.commands.length > 0)

function addServe({ add, finish }: Registrar): void {
  add('serve', 'run the daemon; without a configuration, the sandbox')
    .option('--sandbox', 'with a built-in DNS and mail exchangers on loopback instead of the internet')
    .action(async (options: CommonOptions & { sandbox?: boolean }) => {
      const code = await reportFailure(createOutput(options.json === true), async () => {
        const { config: file, sandbox: wanted = false } = options
        const find = () =>
          wanted && file === undefined
            ? { sandbox: true, loaded: sandboxConfig({ env: process.env }) }
            : findConfig({ file, env: process.env })
        const found = find()
        const { config, notes } = soundConfig(found.loaded)
        // The daemon's whole object graph: other commands start faster without it.
        const { serve } = await import('./serve.ts')
        const reread = () => find().loaded
        return serve({ config, notes, sandbox: wanted || found.sandbox, reread })
      })
      finish(code)
    })
}

function addSetup({ add, doesFirst }: Registrar): void {
  add('setup', 'make the team and its owner; the password comes from standard input')
    .requiredOption('--email <address>', "the owner's address, for signing in")
    .option('--team <name>', 'name of the team', 'My team')
    .action(doesFirst(setup))
}

function addDomains({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const domain = group('domain', 'domains to send from')
  const on = (name: string, description: string) =>
    addInTeam(name, description, domain).argument('<name>', 'example.com')
  on('add', 'add a domain and print the records to publish').action(doesTo(addDomain))
  addInTeam('list', 'list the domains', domain).action(does(listDomains))
  on('show', 'show the records, expected and found').action(doesTo(showDomain))
  on('verify', 'look the records up; exit code 1 while any is missing').action(doesTo(verifyDomain))
  on('rotate', 'make new DKIM keys and print their records').action(doesTo(rotateDomain))
  on('bodies', 'keep the bodies of its emails, or remove them as soon as an email is final')
    .addArgument(new Argument('<what>', 'from now on').choices(['keep', 'discard']))
    .action(doesWith(setBodies))
  on('remove', 'remove a domain with its DKIM keys').action(doesTo(removeDomain))
}

function addKeys({ group, addInTeam, does, doesTo }: Registrar): void {
  const key = group('key', 'API keys')
  const permission = new Option('--permission <permission>', 'what it may do').choices([
    'full_access',
    'sending_access',
  ] satisfies Permission[])
  addInTeam('create', 'make a key and print its token, once', key)
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(permission)
    .option('--domain <name>', 'may only send from this domain')
    .action(does(createKey))
  addInTeam('list', 'list the keys', key).action(does(listKeys))
  addInTeam('revoke', 'end a key at once', key)
    .addArgument(new Argument('<id>', 'as the list shows it').argParser(parseId))
    .action(doesTo(revokeKey))
}

function addSuppressions({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const suppression = group('suppression', 'addresses that nothing is sent to')
  addInTeam('list', 'list the addresses, newest first', suppression)
    .addOption(new Option('--origin <origin>', 'only those put there by').choices(SUPPRESSION_ORIGINS))
    .option('--search <text>', 'only addresses that contain this')
    .option('--limit <count>', 'at most this many (default: 100)', parseCount)
    .action(does(listSuppressions))
  addInTeam('add', 'send nothing to an address any more', suppression)
    .argument('<email>', 'the address')
    .action(doesTo(addSuppression))
  addInTeam('remove', 'let mail be sent to an address again', suppression)
    .argument('<email>', 'the address, or the id of its entry')
    .action(doesTo(removeSuppression))
  addInTeam('export', 'print the list as CSV', suppression)
    .addOption(new Option('--origin <origin>', 'only those put there by').choices(SUPPRESSION_ORIGINS))
    .action(does(exportSuppressions))
  addInTeam('import', 'add the addresses of a CSV list', suppression)
    .argument('<file>', 'the list, or - for standard input')
    .addOption(
      new Option('--origin <origin>', 'of lines that do not say it (default: manual)').choices(
        SUPPRESSION_ORIGINS,
      ),
    )
    .option('--preview', 'only tell what would happen')
    .action(doesWith(importSuppressions))
}

function addWebhooks({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const commands = group('webhook', 'endpoints of apps that are told what happens')
  const id = () => new Argument('<id>', 'of the webhook').argParser(parseId)
  addInTeam('list', 'list the webhooks and how they do', commands).action(does(webhook.listWebhooks))
  addInTeam('show', 'show a webhook with its secret and its last requests', commands)
    .addArgument(id())
    .action(doesTo(webhook.showWebhook))
  addInTeam('add', 'tell an endpoint', commands)
    .argument('<url>', 'https:// on a public host, or in webhooks.allow_networks')
    .option('--events <types>', 'with commas between (default: all about emails)')
    .action(
      doesWith((context, [url], options: { events?: string }) => webhook.addWebhook(context, url!, options)),
    )
  addInTeam('enable', 'send to it again', commands).addArgument(id()).action(doesTo(webhook.enableWebhook))
  addInTeam('disable', 'send nothing to it until it is enabled', commands)
    .addArgument(id())
    .action(doesTo(webhook.disableWebhook))
  addInTeam('rotate', 'make a new secret; the old one signs too for 24 hours', commands)
    .addArgument(id())
    .action(doesTo(webhook.rotateWebhook))
  addInTeam('ping', 'send a test event now', commands).addArgument(id()).action(doesTo(webhook.pingWebhook))
  addInTeam('replay', 'send events again: a selection, or what happened in a range of time', commands)
    .addArgument(id())
    .option('--event-ids <ids>', 'ids of these events, with commas between')
    .option('--since <instant>', 'in place of them: from when on, ISO 8601')
    .option('--until <instant>', 'until when (default: now)')
    .option('--all', 'also what the endpoint took')
    .action(
      doesWith((context, [which], options: webhook.ReplayOptions) =>
        webhook.replayWebhook(context, which!, options),
      ),
    )
  addInTeam('remove', 'remove a webhook with its log', commands)
    .addArgument(id())
    .action(doesTo(webhook.removeWebhook))
}

function addShaping({ group, add, does, doesTo, doesWith }: Registrar): void {
  const providers = group('provider', 'mailbox providers and their limits')
  add('list', 'list the limits of each', providers).action(does(listProviders))
  const on = (name: string, description: string) =>
    add(name, description, providers).argument('<id>', 'google, default, or the domain of a mail exchanger')
  on('show', 'show one, with the replies that pause it').action(doesTo(showProvider))
  on('set', 'change limits, at once and until set again')
    .argument('<name=value...>', 'connections=3; connections= gives it back to providers.toml')
    .action(doesWith((context, given) => setProvider(context, given.flat())))
  const lanes = group('lane', 'what goes from one source address to one provider')
  const lane = (name: string, description: string) =>
    add(name, description, lanes).argument('<id>', '192.0.2.1~google, as the list shows it')
  add('list', 'list what each lane allows now, and why', lanes).action(does(listLanes))
  lane('pause', 'let nothing leave')
    .option('--minutes <count>', 'for so long (default: until resumed)', parseMinutes)
    .action(doesWith(pauseLane))
  lane('resume', 'end a pause, and the narrow limits after it').action(doesTo(resumeLane))
}

function addMetrics({ group, add, addInTeam, does }: Registrar): void {
  const metrics = group('metrics', 'how much mail there was, and what became of it')
  const counting = (name: string, description: string) =>
    addInTeam(name, description, metrics)
      .option('--start <date>', 'ISO 8601 date or datetime (default: six days before the end)')
      .option('--end <date>', 'the same, not including it (default: now)')
      .option('--timezone <name>', 'of periods and dates, such as Europe/Berlin (default: UTC)')
      .option('--granularity <length>', 'of periods: hourly, daily, weekly or monthly (default: daily)')
      .option('--metrics <names>', 'with commas between, or all (default: the usual ones)')
  counting('show', 'count the mail of a range of time')
    .option('--by <dimensions>', 'a row for each period, domain or email, with commas between')
    .action(does(showMetrics))
  counting('breakdown', 'count it by domain, mailbox provider, tag or bounce category')
    .option('--by <what>', 'domain, provider, tag, bounce_category or period (default: domain)')
    .option('--domain <name>', 'mail of this domain only')
    .option('--provider <ids>', 'mail to these mailbox providers only, with commas between')
    .action(does(breakDown))
  add('recompute', 'count again from the events, for all teams', metrics).action(does(recompute))
}

function addTls({ group, add, doesTo }: Registrar, adapters: Adapters): void {
  const tls = group('tls', 'encryption on the way to recipients')
  add('policy', 'show what a recipient domain demands of TLS, and why; sends nothing', tls)
    .argument('<domain>', 'example.com')
    .action(doesTo((context, domain) => showTlsPolicy(context, domain, adapters)))
}

function addStatus({ add, finish }: Registrar, adapters: Adapters): void {
  add('status', 'show on one screen how things stand; exit code 1 when something needs a person').action(
    async (options: CommonOptions) => finish(await status(options, adapters)),
  )
}

function addDoctor({ add, finish }: Registrar, adapters: Adapters): void {
  add('doctor', 'look at all that decides whether mail gets out; exit code 1 when a check failed')
    .option('--domain <name>', 'only at the records and listings of this domain')
    .action(async (options: CommonOptions & { domain?: string }) => finish(await doctor(options, adapters)))
}

function addCrashtest({ add, finish }: Registrar, adapters: Adapters): void {
  add(
    'crashtest',
    'kill a daemon of its own, with mail of its own, again and again; exit code 1 when any is lost',
  )
    .option('--kills <count>', 'how often', parseCount, 100)
    .option('--seed <number>', 'of the plan of kills: the same seed, the same plan', parseSeed, 1)
    .option('--duration <seconds>', 'no kill after so many seconds', parseCount)
    .action(async (options: CrashtestArgs) => {
      const { crashtest } = await import('./crashtest.ts')
      finish(await crashtest(options, adapters))
    })
}
