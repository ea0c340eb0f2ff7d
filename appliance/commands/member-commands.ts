/** The commands about teams and who is in them. */
import { Argument, Option } from 'commander'
import { ROLES } from '../mail/roles.ts'
import { inviteMember, listMembers, removeMember, setMemberRole } from './member.ts'
import type { Registrar } from './registrar.ts'
import { createTeam, listTeams, renameTeam, setPlan } from './team.ts'

/** Puts `team` into the program. */
export function addTeam({ group, add, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const team = group('team', 'teams and what they may send')
  add('list', 'list the teams', team).action(does(listTeams))
  add('create', 'make another team', team)
    .argument('<name>', 'what it is called')
    .requiredOption('--owner <email>', 'address of its owner, who has an account')
    .action(doesWith(createTeam))
  addInTeam('rename', 'give the team another name', team)
    .argument('<name>', 'what it is called from now on')
    .action(doesTo(renameTeam))
  addInTeam('plan', 'give the team another plan', team)
    .argument('<name>', 'of a plan in config/plans.toml: free, unlimited')
    .action(doesTo(setPlan))
}

/** Puts `member` into the program. */
export function addMembers({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const member = group('member', 'people in a team')
  addInTeam('list', 'list who is in the team', member).action(does(listMembers))
  const on = (name: string, description: string) =>
    addInTeam(name, description, member).argument('<email>', "the person's address")
  on('invite', 'print a link with which somebody joins')
    .addOption(new Option('--role <role>', 'what the person may do').choices(ROLES).default('developer'))
    .action(doesWith(inviteMember))
  on('role', 'give somebody another role')
    .addArgument(new Argument('<role>', 'what the person may do').choices(ROLES))
    .action(doesWith(setMemberRole))
  on('remove', 'take somebody out of the team; the sessions there end').action(doesTo(removeMember))
}
