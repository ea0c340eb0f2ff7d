import { loadPlans } from '../config/config.ts'
import { Failure, type Context } from './context.ts'

/** `team plan`: gives the team another plan. A running daemon follows within a second. */
export async function setPlan(context: Context, plan: string): Promise<void> {
  const { clock, config, storage, output, team } = context
  const plans = loadPlans(config.limits.plans)
  const limits = plans.get(plan)
  if (!limits) throw new Failure(`There is no plan ${plan}. There are: ${[...plans.keys()].join(', ')}.`)
  const { id, name } = await team()
  await storage.setPlan({ teamId: id, plan }, clock.now())
  output.object({ object: 'team', id, name, plan, quota: limits })
  output.text(`Team "${name}" has the plan ${plan}: ${phrase(limits)}.`)
}

function phrase({ daily, monthly }: { daily: number | null; monthly: number | null }): string {
  const parts = [
    daily === null ? [] : [`${daily} recipients a day`],
    monthly === null ? [] : [`${monthly} recipients a month`],
  ].flat()
  return parts.length === 0 ? 'no limits' : `${parts.join(' and ')}`
}
