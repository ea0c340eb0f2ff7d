/** The commands about mail that waits. */
import { Argument, Option, type Command } from 'commander'
import { CATEGORIES } from '../mail/bounce.ts'
import type { QueueAction } from '../mail/queue-action.ts'
import { STREAMS } from '../mail/source.ts'
import { changeQueue, undoQueue, type ChangeOptions } from './queue-change.ts'
import { countQueue, listQueue, listQueueLanes, showQueue } from './queue.ts'
import type { Registrar } from './registrar.ts'
import { parseCount, parseId, parseIds } from './values.ts'
import { teamFilter } from './which-team.ts'

/** Puts `queue` into the program. */
export function addQueue({ group, add, does, doesTo }: Registrar): void {
  const queue = group('queue', 'mail that waits')
  const filtered = (name: string, description: string) => addFilter(add(name, description, queue))
  const changing = (action: QueueAction, description: string) =>
    filtered(action, description)
      .option('--dry-run', 'show what it would touch, and change nothing')
      .action(does((context, options: ChangeOptions) => changeQueue(context, action, options)))
  filtered('list', 'list what waits and why')
    .option('--limit <count>', 'at most this many (default: 100)', parseCount)
    .action(does(listQueue))
  filtered('count', 'count what waits by provider and age, and list the rules that hold new mail').action(
    does(countQueue),
  )
  filtered('lanes', 'count what waits by pool and provider, and say why it waits').action(
    does(listQueueLanes),
  )
  add('show', 'show all that happened to an email, with what was said', queue)
    .addArgument(new Argument('<id>', 'of the email or of a waiting delivery').argParser(parseId))
    .action(doesTo(showQueue))
  changing('hold', 'stop trying until released').option(
    '--new',
    'new mail, too, by domain, provider, team and tag: until undone',
  )
  changing('release', 'let what is held go on')
  changing('retry', 'try now instead of later')
  changing('reroute', 'let the next attempt leave from another pool').requiredOption(
    '--to <pool>',
    'its name',
  )
  const final = (action: QueueAction, description: string) =>
    changing(action, description).option('--all', 'everything that waits').option('--yes', 'without asking')
  final('expire', 'give up as if the time were over: the email bounces, its sender gets a report')
  final('drop', 'give up: the email becomes failed')
  add('undo', 'take back a hold with its rule, a release or a re-route, where nobody touched it since', queue)
    .addArgument(new Argument('<id>', 'of the audit entry').argParser(parseId))
    .action(doesTo(undoQueue))
}

/** The options that say which deliveries are meant; their texts are read by the same reader as the API's. */
function addFilter(command: Command): Command {
  return command
    .option('--domain <name>', 'only to recipients at this domain')
    .option('--provider <id>', 'only to this mailbox provider')
    .option('--pool <name>', 'only of this pool')
    .addOption(new Option('--stream <stream>', 'only of this kind').choices(STREAMS))
    .addOption(teamFilter('only of this team'))
    .option('--tag <tag>', 'only with this tag: name or name=value')
    .option('--older-than <age>', 'only accepted longer ago: 90m, 2h, 3d')
    .option('--newer-than <age>', 'only accepted since')
    .addOption(new Option('--state <state>', 'only in this state').choices(['waiting', 'held']))
    .option('--reply <words>', 'only with these words in the last answer')
    .addOption(new Option('--category <category>', 'only failures of this kind').choices(CATEGORIES))
    .option('--email <id>', 'only of this email', parseId)
    .option('--id <ids>', 'only these deliveries, with commas between', parseIds)
    .option('--source <ip>', 'only last tried from this address')
}
