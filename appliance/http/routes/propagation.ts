import { presentPropagation } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readId } from '../query.ts'
import * as schema from '../schemas/propagation.ts'

/** GET /domains/:id/propagation: what every authoritative server of the domain's zone answers now. */
export function propagationRoutes(app: App, { senders, propagation }: HttpDeps): void {
  app.get(
    '/domains/:id/propagation',
    { schema: { response: { 200: schema.Propagation } } },
    async (request) => {
      const args = { teamId: callerOf(request).teamId, id: readId(request.params) }
      const domain = await senders.getDomain(args)
      return presentPropagation(domain.id, await propagation.look(domain))
    },
  )
}
