import { refuse } from '../mail/refusals.ts'
import type { Context } from './context.ts'
import { readNewPassword } from './password-input.ts'
import { dashboardOrigin } from './set-up-link.ts'

/** `setup`: creates the team and its owner. Reads the password from standard input. */
export async function runSetup(context: Context, options: { email: string; team: string }): Promise<void> {
  const { accounts, output, config } = context
  // Checked before prompting for a password.
  if (await accounts.firstTeam()) throw refuse('already_set_up')
  const password = await readNewPassword()
  const { user, team } = await accounts.createOwner({
    email: options.email,
    password,
    teamName: options.team,
  })
  output.object({
    object: 'session',
    user: { id: user.id, email: user.email },
    team: { id: team.id, name: team.name },
  })
  const origin = dashboardOrigin(config)
  output.text(
    `Created the team "${team.name}" with the owner ${user.email}. Next steps:`,
    '',
    '  posthaste domain add example.com        add a domain to send from',
    '  posthaste domain verify example.com     check its DNS records, once published',
    '  posthaste key create --name my-app      create an API key',
    '',
    `  Dashboard: ${origin}/dashboard/`,
  )
}
