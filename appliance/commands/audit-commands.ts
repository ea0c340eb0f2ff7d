/** The command of the audit log. */
import { listAudit } from './audit.ts'
import type { Registrar } from './registrar.ts'
import { parseCount } from './values.ts'
import { teamFilter } from './which-team.ts'

/** Puts `audit` into the program. */
export function addAudit({ add, does }: Registrar): void {
  add('audit', 'List the audit log, newest first')
    .addOption(teamFilter('Only actions affecting this team'))
    .option('--actor <words>', 'Only actions by this user, API key or account; part of the name is enough')
    .option(
      '--action <action>',
      'Only this action, such as domain.update, or all actions on a type, such as domain',
    )
    .option('--target <target>', 'Only this target: a type, an ID, both, or part of a name')
    .option('--since <instant>', 'Only entries from this time on, ISO 8601')
    .option('--until <instant>', 'Only entries before this time, ISO 8601')
    .option('--limit <count>', 'Maximum number of entries (default: 20)', parseCount)
    .option('--csv', 'Print all matching entries as CSV')
    .action(does(listAudit))
}
