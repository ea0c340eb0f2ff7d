import { presentRetention } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import { readBodies } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { isOperator } from '../operator.ts'
import { readId } from '../query.ts'
import * as schema from '../schemas/retention.ts'

/** How long what is kept; and whether bodies of a domain's emails are. */
export function retentionRoutes(app: App, deps: HttpDeps): void {
  const { storage, senders, clock, retention } = deps
  const without = (teamId: string) => storage.domainsWithoutBodies({ teamId }, clock.now())

  app.get('/retention', { schema: { response: { 200: schema.Retention } } }, async (request) => {
    const disk = (await isOperator(request, deps)) ? await retention.disk() : null
    return presentRetention(retention.days, disk, await without(callerOf(request).teamId))
  })

  app.get('/domains/:id/bodies', { schema: { response: { 200: schema.DomainBodies } } }, async (request) => {
    const { teamId } = callerOf(request)
    const { id, name } = await senders.getDomain({ teamId, id: readId(request.params) })
    const keep = !(await without(teamId)).includes(name)
    return { object: 'domain_bodies' as const, domain_id: id, keep }
  })

  app.put(
    '/domains/:id/bodies',
    {
      config: {
        right: 'erase',
        audit: { action: 'domain.keep_bodies', noun: 'domain', read: readBodies(deps) },
      },
      schema: { body: schema.UpdateDomainBodies, response: { 200: schema.DomainBodies } },
    },
    async (request) => {
      const { teamId } = callerOf(request)
      const { id } = await senders.getDomain({ teamId, id: readId(request.params) })
      const { keep } = request.body
      await storage.setKeepBodies({ teamId, domainId: id, keep }, clock.now())
      return { object: 'domain_bodies' as const, domain_id: id, keep }
    },
  )
}
