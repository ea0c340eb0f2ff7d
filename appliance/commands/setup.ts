import { refuse } from '../mail/refusals.ts'
import type { Context } from './context.ts'
import { dashboardOrigin } from './dashboard-origin.ts'
import { readNewPassword } from './password-input.ts'

/** `setup`: makes the team and its owner. The password comes from standard input. */
export async function setup(context: Context, options: { email: string; team: string }): Promise<void> {
  const { accounts, output, config } = context
  // Before anybody types a password for nothing.
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
    `Team "${team.name}" and its owner ${user.email} are ready. What comes next:`,
    '',
    '  posthaste domain add example.com        a domain to send from',
    '  posthaste domain verify example.com     when its DNS records are published',
    '  posthaste key create --name my-app      a key for the API',
    '',
    `  Dashboard: ${origin}/dashboard/`,
  )
}
