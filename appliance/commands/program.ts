/** The command line: which commands there are and what they take. */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { findConfig, sandboxConfig } from '../config/config.ts'
import { isId } from '../mail/ids.ts'
import { SUPPRESSION_ORIGINS } from '../mail/suppression.ts'
import type { Permission } from '../storage/storage.ts'
import { reportFailure, soundConfig, type Adapters, type CommonOptions } from './context.ts'
import { addDomain, listDomains, removeDomain, rotateDomain, showDomain, verifyDomain } from './domain.ts'
import { createKey, listKeys, revokeKey } from './key.ts'
import { migrate } from './migrate.ts'
import { createOutput } from './output.ts'
import { changeQueue, listQueue, showQueue, type QueueChange, type QueueOptions } from './queue.ts'
import { createRegistrar, type Registrar } from './registrar.ts'
import { setup } from './setup.ts'
import { setPlan } from './team.ts'
import { addSuppression, listSuppressions, removeSuppression } from './suppression.ts'
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
  addSuppressions(registrar)
  addQueue(registrar)
  registrar.add('migrate', 'bring the database up to date').action(registrar.does(migrate))
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
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    // Commander has written its reason. Asking for help ends this way too; without any command it is wrong usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    throw error
  }
}

function addServe({ add, finish }: Registrar): void {
  add('serve', 'run the daemon; without a configuration, the sandbox')
    .option('--sandbox', 'with a built-in DNS and mail exchangers on loopback instead of the internet')
    .action(async (options: CommonOptions & { sandbox?: boolean }) => {
      const code = await reportFailure(createOutput(options.json === true), async () => {
        const { config: file, sandbox: wanted = false } = options
        const found =
          wanted && file === undefined
            ? { sandbox: true, loaded: sandboxConfig({ env: process.env }) }
            : findConfig({ file, env: process.env })
        const { config, notes } = soundConfig(found.loaded)
        // The daemon's whole object graph: other commands start faster without it.
        const { serve } = await import('./serve.ts')
        return serve({ config, notes, sandbox: wanted || found.sandbox })
      })
      finish(code)
    })
}

function addSetup({ add, does }: Registrar): void {
  add('setup', 'make the team and its owner; the password comes from standard input')
    .requiredOption('--email <address>', "the owner's address, for signing in")
    .option('--team <name>', 'name of the team', 'My team')
    .action(does(setup))
}

function addDomains({ group, add, does, doesTo }: Registrar): void {
  const domain = group('domain', 'domains to send from')
  const on = (name: string, description: string) =>
    add(name, description, domain).argument('<name>', 'example.com')
  on('add', 'add a domain and print the records to publish').action(doesTo(addDomain))
  add('list', 'list the domains', domain).action(does(listDomains))
  on('show', 'show the records, expected and found').action(doesTo(showDomain))
  on('verify', 'look the records up; exit code 1 while any is missing').action(doesTo(verifyDomain))
  on('rotate', 'make new DKIM keys and print their records').action(doesTo(rotateDomain))
  on('remove', 'remove a domain with its DKIM keys').action(doesTo(removeDomain))
}

function addKeys({ group, add, does, doesTo }: Registrar): void {
  const key = group('key', 'API keys')
  const permission = new Option('--permission <permission>', 'what it may do').choices([
    'full_access',
    'sending_access',
  ] satisfies Permission[])
  add('create', 'make a key and print its token, once', key)
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(permission)
    .option('--domain <name>', 'may only send from this domain')
    .action(does(createKey))
  add('list', 'list the keys', key).action(does(listKeys))
  add('revoke', 'end a key at once', key)
    .addArgument(new Argument('<id>', 'as the list shows it').argParser(parseId))
    .action(doesTo(revokeKey))
}

function addTeam({ group, add, doesTo }: Registrar): void {
  const team = group('team', 'the team and what it may send')
  add('plan', 'give the team another plan', team)
    .argument('<name>', 'of a plan in config/plans.toml: free, unlimited')
    .action(doesTo(setPlan))
}

function addSuppressions({ group, add, does, doesTo }: Registrar): void {
  const suppression = group('suppression', 'addresses that nothing is sent to')
  add('list', 'list the addresses, newest first', suppression)
    .addOption(new Option('--origin <origin>', 'only those put there by').choices(SUPPRESSION_ORIGINS))
    .option('--limit <count>', 'at most this many (default: 100)', parseCount)
    .action(does(listSuppressions))
  add('add', 'send nothing to an address any more', suppression)
    .argument('<email>', 'the address')
    .action(doesTo(addSuppression))
  add('remove', 'let mail be sent to an address again', suppression)
    .argument('<email>', 'the address, or the id of its entry')
    .action(doesTo(removeSuppression))
}

function addQueue({ group, add, does, doesTo }: Registrar): void {
  const queue = group('queue', 'mail that waits')
  const filtered = (name: string, description: string) =>
    add(name, description, queue)
      .option('--domain <name>', 'only to recipients at this domain')
      .option('--email <id>', 'only of this email', parseId)
      .option('--id <id>', 'only this delivery', parseId)
      .addOption(new Option('--state <state>', 'only in this state').choices(['waiting', 'held']))
  const changes = (change: QueueChange) =>
    does((context, options: QueueOptions) => changeQueue(context, change, options))
  filtered('list', 'list what waits and why')
    .option('--limit <count>', 'at most this many (default: 100)', parseCount)
    .action(does(listQueue))
  add('show', 'show all that happened to an email, with what was said', queue)
    .addArgument(new Argument('<id>', 'of the email or of a waiting delivery').argParser(parseId))
    .action(doesTo(showQueue))
  filtered('hold', 'stop trying until released').action(changes('hold'))
  filtered('release', 'let what is held go on').action(changes('release'))
  filtered('retry', 'try now instead of later').action(changes('retry'))
  filtered('drop', 'give up: the email becomes failed')
    .option('--all', 'everything that waits')
    .action(changes('drop'))
}

function parseId(text: string): string {
  if (!isId(text)) throw new InvalidArgumentError('An id looks like 0197c3e2-5a71-7000-8000-1c2d3e4f5061.')
  return text.toLowerCase()
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 to 999999.')
  return Number(text)
}
