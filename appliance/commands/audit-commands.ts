/** The command of the audit log. */
import { listAudit } from './audit.ts'
import type { Registrar } from './registrar.ts'
import { parseCount } from './values.ts'
import { teamFilter } from './which-team.ts'

/** Puts `audit` into the program. */
export function addAudit({ add, does }: Registrar): void {
  add('audit', 'list what was done, newest first')
    .addOption(teamFilter('only to what is of this team'))
    .option('--actor <words>', 'only by this person, key or account; part of the name is enough')
    .option('--action <action>', 'only this: domain.update, or all of a noun: domain')
    .option('--target <target>', 'only about this: a noun, an id, both, or part of a name')
    .option('--since <instant>', 'only from then on: ISO 8601')
    .option('--until <instant>', 'only before')
    .option('--limit <count>', 'at most this many (default: 20)', parseCount)
    .option('--csv', 'all of them, as CSV')
    .action(does(listAudit))
}
