/** The commands about queued mail. */
import { Argument, Option, type Command } from 'commander'
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { STREAMS } from '../mail/source.ts'
import { changeQueue, undoQueue, type ChangeOptions } from './queue-change.ts'
import { countQueue, listHoldRules, listQueue, listQueueLanes, showQueue } from './queue.ts'
import type { Registrar } from './registrar.ts'
import { parseCount, parseId, parseIds } from './values.ts'
import { createTeamFilterOption } from './which-team.ts'
import type { QueueAction } from '../mail/queue.ts'

/** Registers `queue`. */
export function registerQueueCommands({ group, add, does, doesTo }: Registrar): void {
  const queue = group('queue', 'Manage queued mail')
  const filtered = (name: string, description: string) => addFilter(add(name, description, queue))
  const changing = (action: QueueAction, description: string) =>
    filtered(action, description)
      .option('--dry-run', 'Show the matching deliveries, without changing anything')
      .action(does((context, options: ChangeOptions) => changeQueue(context, action, options)))
  filtered('list', 'List queued deliveries and why they are queued')
    .option('--limit <count>', 'Maximum number of rows (default: 100)', parseCount)
    .action(does(listQueue))
  filtered(
    'count',
    'Count queued deliveries by provider and age, and list the rules that hold new mail',
  ).action(does(countQueue))
  add('holds', 'List the rules that hold new mail', queue).action(does(listHoldRules))
  filtered('lanes', 'Count queued deliveries by pool and provider, with the reasons').action(
    does(listQueueLanes),
  )
  add('show', 'Show the history of an email, with SMTP transcripts', queue)
    .addArgument(new Argument('<id>', 'ID of an email or a queued delivery').argParser(parseId))
    .action(doesTo(showQueue))
  changing('hold', 'Hold deliveries until released').option(
    '--new',
    'Also hold new mail that matches by domain, provider, team or tag, until released or undone',
  )
  changing('release', 'Release held deliveries')
  changing('retry', 'Retry deliveries now')
  changing('reroute', 'Send the next attempt from another pool').requiredOption('--to <pool>', 'Pool name')
  const final = (action: QueueAction, description: string) =>
    changing(action, description)
      .option('--all', 'Apply to all queued deliveries')
      .option('--yes', 'Skip the confirmation prompt')
  final('expire', 'Expire deliveries now: they bounce, and the sender gets a report')
  final('drop', 'Drop deliveries: they fail without another attempt')
  add(
    'undo',
    "Undo a hold and its rule, a release or a reroute, for deliveries that haven't changed since",
    queue,
  )
    .addArgument(new Argument('<id>', 'ID of the audit entry').argParser(parseId))
    .action(doesTo(undoQueue))
}

/** Adds the filter options; their values are parsed as in the API. */
function addFilter(command: Command): Command {
  return command
    .option('--domain <name>', 'Only recipients at this domain')
    .option('--provider <id>', 'Only this mailbox provider')
    .option('--pool <name>', 'Only this pool')
    .option('--region <name>', 'Only pools in this region')
    .option('--node <name>', 'Only pools with a sending IP of this node (name or ID)')
    .addOption(new Option('--stream <stream>', 'Only this stream').choices(STREAMS))
    .addOption(createTeamFilterOption('Only this team'))
    .option('--tag <tag>', 'Only emails with this tag: name or name=value')
    .option('--older-than <age>', 'Only emails older than this: 90m, 2h, 3d')
    .option('--newer-than <age>', 'Only emails newer than this: 90m, 2h, 3d')
    .addOption(new Option('--state <state>', 'Only deliveries in this state').choices(['waiting', 'held']))
    .option('--reply <words>', 'Only deliveries whose last reply contains these words')
    .addOption(new Option('--category <category>', 'Only this failure category').choices(BOUNCE_CATEGORIES))
    .option('--email <id>', 'Only this email', parseId)
    .option('--broadcast <id>', 'Only this broadcast', parseId)
    .option('--id <ids>', 'Only these deliveries, as comma-separated IDs', parseIds)
    .option('--source <ip>', 'Only deliveries last attempted from this sending IP')
}
