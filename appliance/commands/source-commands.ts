/** The commands about sending IPs. */
import { Argument, Option } from 'commander'
import { STREAMS } from '../mail/source.ts'
import type { Registrar } from './registrar.ts'
import { showSourceReputation } from './reputation.ts'
import * as source from './source.ts'
import { parseCount, parseId } from './values.ts'
import { createTeamFilterOption } from './which-team.ts'

/** Registers `source`. */
export function registerSourceCommands({ group, add, does, doesWith }: Registrar): void {
  const sources = group('source', 'Manage sending IPs')
  const on = (name: string, description: string) =>
    add(name, description, sources).argument(
      '<ip>',
      'IP address of this machine, or auto to let the system choose',
    )
  add('list', 'List sending IPs, their checks and the pool assignments', sources).action(
    does(source.listSources),
  )
  add('assignments', 'List which mail uses which pool', sources).action(does(source.listAssignments))
  add('pools', 'List pools, their regions and their sending IPs', sources).action(does(source.listPools))
  add('region', "Put a pool in a region, which its domains' mail is sent from", sources)
    .argument('<pool>', 'Pool name')
    .argument('<region>', 'Such as eu-west-1, or a name of your own; - for none')
    .action(doesWith(source.setPoolRegion))
  on('reputation', 'Show how receivers treat the mail from an IP, and what changed when')
    .option('--days <count>', 'Days up to now, at most 90 (default: 30)', parseCount)
    .action(doesWith(showSourceReputation))
  on('add', 'Add a sending IP')
    .option('--pool <name>', 'Pool of the sending IP (default: default)')
    .option('--hostname <name>', "EHLO name, if the PTR record differs from the server's hostname")
    .option('--warm-up', 'Start with a low daily limit and raise it step by step')
    .action(doesWith(source.addSource))
  on('remove', 'Remove an added sending IP').action(doesWith(source.removeSource))
  on('suspend', 'Stop sending from an IP until resumed').action(doesWith(source.suspendSource))
  on('resume', 'Resume sending from an IP').action(doesWith(source.resumeSource))
  on('pool', 'Move a sending IP to a pool')
    .argument('<pool>', 'Pool name')
    .action(doesWith(source.setSourcePool))
  on('hostname', 'Set the EHLO name of a sending IP')
    .argument('<name>', "Such as mail2.example.com; - for the server's hostname")
    .action(doesWith(source.setSourceHostname))
  on('warm-up', 'Start warming up a sending IP')
    .option('--end', 'End the warm-up and remove its daily limit')
    .action(doesWith(source.setSourceWarmUp))
  add('assign', 'Send matching mail through a pool (without options, all mail)', sources)
    .argument('<pool>', 'Pool name')
    .addOption(createTeamFilterOption('Mail of this team'))
    .option('--domain <name>', 'Mail from this domain')
    .addOption(new Option('--stream <stream>', 'Mail of this stream').choices(STREAMS))
    .action(doesWith(source.assignPool))
  add('unassign', 'Remove a pool assignment', sources)
    .addArgument(new Argument('<id>', 'ID from the list').argParser(parseId))
    .action(doesWith(source.unassignPool))
}
