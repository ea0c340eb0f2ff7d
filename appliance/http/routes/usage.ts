import * as api from '../../api/usage.ts'
import { serve } from '../serve.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/**
 * Route GET /usage: the team's usage of its plan. For every key, as in the hosted service, because it only returns
 * numbers.
 */
export function usageRoutes(app: App, { senders, quotas, rateLimiter, clock }: HttpDeps): void {
  serve(app, api.getUsage, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { plan, usage, ends } = await quotas.usageOf(teamId)
    const domains = (await senders.listDomains({ teamId })).length
    const { perSecond } = rateLimiter
    return api.presentUsage({ plan, usage, ends, domains, perSecond, now: clock.now() })
  })

  serve(app, api.getUsageHistory, {}, async (request) => {
    const { days, months } = await quotas.historyOf(callerOf(request).teamId)
    return { object: 'usage_history' as const, days, months }
  })
}
