import * as api from '../../api/provider-rules.ts'
import { getCaller } from '../access.ts'
import { readProviderRules } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for the rules of mailbox providers, and a domain's compliance with them. */
export function providerRuleRoutes(app: App, deps: HttpDeps): void {
  const { accounts, senders, storage, clock, gate } = deps

  serve(app, api.getProviderRules, {}, async (request) => {
    const { providerRules } = await accounts.teams.getTeam({ id: getCaller(request).teamId })
    return api.presentProviderRules(providerRules, gate.rules())
  })

  serve(
    app,
    api.setProviderRules,
    {
      right: 'security',
      audit: { action: 'team.provider_rules', read: readProviderRules(deps) },
    },
    async (request) => {
      const { mode } = request.body
      await storage.setProviderRules({ id: getCaller(request).teamId, mode }, clock.now())
      return api.presentProviderRules(mode, gate.rules())
    },
  )

  serve(app, api.getDomainProviderRules, {}, async (request) => {
    const { teamId } = getCaller(request)
    const domain = await senders.getDomain({ teamId, id: request.params.id })
    return api.presentRuleCompliance(domain.id, await gate.standing({ domain }))
  })
}
