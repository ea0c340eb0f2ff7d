import * as api from '../../api/nodes.ts'
import { serve } from '../serve.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf, isOperator, requireOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes for the daemon itself: its state and resource usage. */
export function nodeRoutes(app: App, deps: HttpDeps): void {
  const { node, health, quotas, rateLimiter, config } = deps

  serve(app, api.listNodes, { preValidation: requireOperator(deps) }, async () =>
    presentList([api.presentNode(node.facts(), await health.ready())]),
  )

  serve(app, api.getLimits, {}, async (request) => {
    const plan = await quotas.planOf(callerOf(request).teamId)
    const plans = (await isOperator(request, deps)) ? quotas.plans() : null
    const { messageBytes } = config
    return api.presentLimits({ plan, plans, perSecond: rateLimiter.perSecond, messageBytes })
  })
}
