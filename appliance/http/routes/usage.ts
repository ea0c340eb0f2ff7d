import { presentUsage } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as schema from '../schemas/usage.ts'

/** GET /usage: what the team has used of its plan. For every key, as at the hosted service: it tells nothing but numbers. */
export function usageRoutes(app: App, { senders, quotas, rateLimiter, clock }: HttpDeps): void {
  app.get(
    '/usage',
    { config: { access: 'sending' }, schema: { response: { 200: schema.Usage } } },
    async (request) => {
      const { teamId } = callerOf(request)
      const { plan, usage, ends } = await quotas.usageOf(teamId)
      const domains = (await senders.listDomains({ teamId })).length
      const { perSecond } = rateLimiter
      return presentUsage({ plan, usage, ends, domains, perSecond, now: clock.now() })
    },
  )

  app.get('/usage/history', { schema: { response: { 200: schema.UsageHistory } } }, async (request) => {
    const { days, months } = await quotas.historyOf(callerOf(request).teamId)
    return { object: 'usage_history' as const, days, months }
  })
}
