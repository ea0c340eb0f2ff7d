import { loadPlans } from '../config/config.ts'
import type { TeamDetails } from '../storage/storage.ts'
import { presentList } from '../api/shared.ts'
import { timestamp } from '../api/timestamp.ts'
import { Failure, type Context } from './context.ts'
import { table } from './output.ts'

/** `team list` */
export async function listTeams({ storage, clock, output }: Context): Promise<void> {
  const teams = await storage.listTeams({}, clock.now())
  output.object(presentList(teams.map(present)))
  const rows = teams.map(({ id, name, members, plan, mfaRequired }) => [
    ...[id, String(members), plan, mfaRequired ? 'required' : 'optional', name],
  ])
  output.text(...table(['ID', 'MEMBERS', 'PLAN', 'TWO-STEP SIGN-IN', 'NAME'], rows))
}

/** `team create` */
export async function createTeam(
  { accounts, storage, clock, output }: Context,
  [name]: string[],
  { owner: email }: { owner: string },
): Promise<void> {
  const owner = await storage.findUser({ email: email.trim().normalize('NFC') }, clock.now())
  if (!owner) throw new Failure(`There is no account with the address ${email}. See: posthaste user list`)
  const { id } = await accounts.teams.createTeam({ name: name!, ownerId: owner.id })
  const team = await accounts.teams.getTeam({ id })
  output.object(present(team))
  output.text(`Created the team "${team.name}" (ID ${id}) with the owner ${owner.email}.`)
}

/** `team rename` */
export async function renameTeam({ accounts, output, team }: Context, renamed: string): Promise<void> {
  const { id, name: before } = await team()
  const after = await accounts.teams.renameTeam({ id, name: renamed })
  output.object(present(after))
  output.text(`Renamed the team "${before}" to "${after.name}".`)
}

const present = (team: TeamDetails) => ({
  object: 'team',
  id: team.id,
  name: team.name,
  plan: team.plan,
  mfa_required: team.mfaRequired,
  members: team.members,
  created_at: timestamp(team.createdAt),
})

/** `team plan`: gives the team another plan. A running daemon follows within a second. */
export async function setPlan(context: Context, plan: string): Promise<void> {
  const { clock, config, storage, output, team } = context
  const plans = loadPlans(config.limits.plans)
  const limits = plans.get(plan)
  if (!limits) throw new Failure(`Unknown plan ${plan}. Available plans: ${[...plans.keys()].join(', ')}.`)
  const { id, name } = await team()
  await storage.setPlan({ teamId: id, plan }, clock.now())
  output.object({ object: 'team', id, name, plan, quota: limits })
  output.text(`The team "${name}" now has the plan ${plan}: ${phrase(limits)}.`)
}

function phrase({ daily, monthly }: { daily: number | null; monthly: number | null }): string {
  const parts = [
    daily === null ? [] : [`${daily} recipients a day`],
    monthly === null ? [] : [`${monthly} recipients a month`],
  ].flat()
  return parts.length === 0 ? 'no limits' : `${parts.join(' and ')}`
}
