import * as api from '../../api/receiving-rules.ts'
import { normalizeRule } from '../../mail/read-receiving-rule.ts'
import { getCaller } from '../access.ts'
import { readReceivingRules } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for receiving rules: what a domain does with mail to its addresses. */
export function receivingRuleRoutes(app: App, deps: HttpDeps): void {
  const { storage, senders, clock } = deps

  serve(app, api.getReceivingRules, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = await senders.getDomain({ teamId, id: request.params.id })
    const rules = await storage.getReceivingRules({ teamId, domainId: id }, clock.now())
    return { object: 'receiving_rules' as const, domain_id: id, rules }
  })

  const audit = {
    action: 'domain.receiving_rules',
    read: readReceivingRules(deps),
  } as const
  serve(app, api.setReceivingRules, { audit }, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = await senders.getDomain({ teamId, id: request.params.id })
    const rules = request.body.rules.map((rule, place) => normalizeRule(rule, `rules[${place}].`))
    await storage.setReceivingRules({ teamId, domainId: id, rules }, clock.now())
    return { object: 'receiving_rules' as const, domain_id: id, rules }
  })
}
