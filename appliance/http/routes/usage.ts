import * as limits from '../../api/nodes.ts'
import * as api from '../../api/usage.ts'
import { serve } from '../serve.ts'
import { getCaller, isOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/**
 * Routes for the team's usage of its plan, and the plan's limits. Available to every key, as in the hosted service,
 * because they only return numbers.
 */
export function usageRoutes(app: App, deps: HttpDeps): void {
  const { senders, quotas, rateLimiter, clock } = deps

  serve(app, api.getUsage, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { plan, usage, ends } = await quotas.usageOf(teamId)
    const domains = (await senders.listDomains({ teamId })).length
    const { perSecond } = rateLimiter
    return api.presentUsage({ plan, usage, ends, domains, perSecond, now: clock.now() })
  })

  serve(app, api.getUsageHistory, {}, async (request) => {
    const { days, months } = await quotas.historyOf(getCaller(request).teamId)
    return { object: 'usage_history' as const, days, months }
  })

  serve(app, limits.getLimits, {}, async (request) => {
    const plan = await quotas.planOf(getCaller(request).teamId)
    const plans = (await isOperator(request, deps)) ? quotas.plans() : null
    const { messageBytes } = deps.config
    return limits.presentLimits({ plan, plans, perSecond: rateLimiter.perSecond, messageBytes })
  })
}
