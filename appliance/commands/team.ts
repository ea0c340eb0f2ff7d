import { loadPlans } from '../config/config.ts'
import { presentList } from '../api/shared.ts'
import { presentTeam } from '../api/teams.ts'
import { Failure, type Context } from './context.ts'
import { formatTable } from './output.ts'

/** Runs `team list`. */
export async function listTeams({ storage, clock, output }: Context): Promise<void> {
  const teams = await storage.listTeams({}, clock.now())
  output.object(presentList(teams.map(presentTeam)))
  const rows = teams.map(({ id, name, members, plan, mfaRequired }) => [
    id,
    String(members),
    plan,
    mfaRequired ? 'required' : 'optional',
    name,
  ])
  output.text(...formatTable(['ID', 'MEMBERS', 'PLAN', 'TWO-STEP SIGN-IN', 'NAME'], rows))
}

/** Runs `team create`. */
export async function createTeam(
  { accounts, storage, clock, output }: Context,
  [name]: string[],
  { owner: email }: { owner: string },
): Promise<void> {
  const owner = await storage.findUser({ email: email.trim().normalize('NFC') }, clock.now())
  if (!owner) throw new Failure(`There is no account with the address ${email}. See: posthaste user list`)
  const { id } = await accounts.teams.createTeam({ name: name!, ownerId: owner.id })
  const team = await accounts.teams.getTeam({ id })
  output.object(presentTeam(team))
  output.text(`Created the team "${team.name}" (ID ${id}) with the owner ${owner.email}.`)
}

/** Runs `team rename`. */
export async function renameTeam({ accounts, output, team }: Context, renamed: string): Promise<void> {
  const { id, name: before } = await team()
  const after = await accounts.teams.renameTeam({ id, name: renamed })
  output.object(presentTeam(after))
  output.text(`Renamed the team "${before}" to "${after.name}".`)
}

/** `team plan`: changes the plan of the team. A running daemon applies it within a second. */
export async function setPlan(context: Context, plan: string): Promise<void> {
  const { accounts, clock, config, storage, output, team } = context
  const plans = loadPlans(config.limits.plans)
  const limits = plans.get(plan)
  if (!limits) throw new Failure(`Unknown plan ${plan}. Available plans: ${[...plans.keys()].join(', ')}.`)
  const { id, name } = await team()
  await storage.setPlan({ teamId: id, plan }, clock.now())
  output.object(presentTeam(await accounts.teams.getTeam({ id })))
  output.text(`The team "${name}" now has the plan ${plan}: ${phrase(limits)}.`)
}

function phrase({ daily, monthly }: { daily: number | null; monthly: number | null }): string {
  const parts = [
    daily === null ? [] : [`${daily} recipients a day`],
    monthly === null ? [] : [`${monthly} recipients a month`],
  ].flat()
  return parts.length === 0 ? 'no limits' : `${parts.join(' and ')}`
}
