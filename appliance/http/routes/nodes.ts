import { presentLimits, presentNode } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { isOperator, requireOperator } from '../operator.ts'
import * as schema from '../schemas/nodes.ts'

/** The daemon itself: how it stands, and how much it takes. */
export function nodeRoutes(app: App, deps: HttpDeps): void {
  const { node, health, quotas, rateLimiter, config } = deps

  app.get(
    '/nodes',
    { preHandler: requireOperator(deps), schema: { response: { 200: schema.NodeList } } },
    async () => presentList([presentNode(node.facts(), await health.ready())]),
  )

  app.get('/limits', { schema: { response: { 200: schema.Limits } } }, async (request) => {
    const plan = await quotas.planOf(callerOf(request).teamId)
    const plans = (await isOperator(request, deps)) ? quotas.plans() : null
    const { messageBytes } = config
    return presentLimits({ plan, plans, perSecond: rateLimiter.perSecond, messageBytes })
  })
}
