/** The commands about the addresses that mail leaves from. */
import { Argument, Option } from 'commander'
import { STREAMS } from '../mail/source.ts'
import type { Registrar } from './registrar.ts'
import * as source from './source.ts'
import { parseId } from './values.ts'
import { teamFilter } from './which-team.ts'

/** Puts `source` into the program. */
export function addSources({ group, add, does, doesWith }: Registrar): void {
  const sources = group('source', 'addresses that mail leaves from')
  const on = (name: string, description: string) =>
    add(name, description, sources).argument('<ip>', 'of this machine, or auto where the system chooses')
  add('list', 'list the sources with their checks, and which mail uses which pool', sources).action(
    does(source.listSources),
  )
  on('add', 'let mail leave from another address')
    .option('--pool <name>', 'the pool it is in (default: default)')
    .option('--hostname <name>', "its EHLO name, where its PTR record is not the appliance's hostname")
    .option('--warm-up', 'begin with little mail')
    .action(doesWith(source.addSource))
  on('remove', 'let nothing leave from an address that was added').action(doesWith(source.removeSource))
  on('suspend', 'let nothing leave from an address until resumed').action(doesWith(source.suspendSource))
  on('resume', 'use an address again').action(doesWith(source.resumeSource))
  on('pool', 'move an address into a pool').argument('<pool>', 'its name').action(doesWith(source.movePool))
  on('hostname', 'give an address an EHLO name of its own')
    .argument('<name>', "mail2.example.com; - for the appliance's hostname")
    .action(doesWith(source.nameSource))
  on('warm-up', 'begin with little mail from an address')
    .option('--end', 'end the warm-up: no plan limits it any more')
    .action(doesWith(source.warmUpSource))
  add('assign', 'send some mail through a pool; without options, all', sources)
    .argument('<pool>', 'its name')
    .addOption(teamFilter('of this team'))
    .option('--domain <name>', 'from this domain')
    .addOption(new Option('--stream <stream>', 'of this kind').choices(STREAMS))
    .action(doesWith(source.assignPool))
  add('unassign', 'remove an assignment', sources)
    .addArgument(new Argument('<id>', 'as the list shows it').argParser(parseId))
    .action(doesWith(source.unassignPool))
}
