import * as api from '../../api/retention.ts'
import { serve } from '../serve.ts'
import { callerOf, isOperator } from '../access.ts'
import { readBodies } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes for retention periods, and for whether a domain's bodies are kept. */
export function retentionRoutes(app: App, deps: HttpDeps): void {
  const { storage, senders, clock, retention } = deps
  const without = (teamId: string) => storage.domainsWithoutBodies({ teamId }, clock.now())

  serve(app, api.getRetention, {}, async (request) => {
    const disk = (await isOperator(request, deps)) ? await retention.disk() : null
    return api.presentRetention(retention.days, disk, await without(callerOf(request).teamId))
  })

  serve(app, api.getDomainBodies, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { id, name } = await senders.getDomain({ teamId, id: request.params.id })
    const keep = !(await without(teamId)).includes(name)
    return { object: 'domain_bodies' as const, domain_id: id, keep }
  })

  serve(
    app,
    api.setDomainBodies,
    { right: 'erase', audit: { action: 'domain.keep_bodies', noun: 'domain', read: readBodies(deps) } },
    async (request) => {
      const { teamId } = callerOf(request)
      const { id } = await senders.getDomain({ teamId, id: request.params.id })
      const { keep } = request.body
      await storage.setKeepBodies({ teamId, domainId: id, keep }, clock.now())
      return { object: 'domain_bodies' as const, domain_id: id, keep }
    },
  )
}
