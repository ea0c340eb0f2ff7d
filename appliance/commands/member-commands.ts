/** The commands about teams and their members. */
import { Argument, Option } from 'commander'
import { RULE_MODES } from '../mail/provider-rules.ts'
import { ROLES } from '../mail/roles.ts'
import { inviteMember, listMembers, removeMember, setMemberRole } from './member.ts'
import { setProviderRules, showProviderRules } from './provider-rules.ts'
import type { Registrar } from './registrar.ts'
import { createTeam, listTeams, renameTeam, setPlan } from './team.ts'

/** Registers `team`. */
export function registerTeamCommands({ group, add, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const team = group('team', 'Manage teams and their plans')
  add('list', 'List teams', team).action(does(listTeams))
  add('create', 'Create another team', team)
    .argument('<name>', 'Team name')
    .requiredOption('--owner <email>', 'Email address of the owner, who must have an account')
    .action(doesWith(createTeam))
  addInTeam('rename', 'Rename the team', team).argument('<name>', 'New team name').action(doesTo(renameTeam))
  addInTeam('plan', "Change the team's plan", team)
    .argument('<name>', 'Name of a plan in config/plans.toml, such as free or unlimited')
    .action(doesTo(setPlan))
  addInTeam('provider-rules', 'Show the rules of mailbox providers for senders', team).action(
    does(showProviderRules),
  )
  addInTeam(
    'set-provider-rules',
    'Set what happens to bulk mail that breaks rules of mailbox providers',
    team,
  )
    .addArgument(new Argument('<mode>', 'Refuse it, warn about it, or neither').choices(RULE_MODES))
    .action(doesTo(setProviderRules))
}

/** Registers `member`. */
export function registerMemberCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const member = group('member', 'Manage team members')
  addInTeam('list', 'List team members', member).action(does(listMembers))
  const on = (name: string, description: string) =>
    addInTeam(name, description, member).argument('<email>', "The person's email address")
  on('invite', 'Print an invitation link')
    .addOption(new Option('--role <role>', 'Role in the team').choices(ROLES).default('developer'))
    .action(doesWith(inviteMember))
  on('role', "Change a member's role")
    .addArgument(new Argument('<role>', 'Role in the team').choices(ROLES))
    .action(doesWith(setMemberRole))
  on('remove', 'Remove a member from the team and end their sessions in it').action(doesTo(removeMember))
}
