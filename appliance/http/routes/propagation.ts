import * as api from '../../api/propagation.ts'
import { serve } from '../serve.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/** GET /domains/:id/propagation: what every authoritative server of the domain's zone answers now. */
export function propagationRoutes(app: App, { senders, propagation }: HttpDeps): void {
  serve(app, api.getDomainPropagation, {}, async (request) => {
    const args = { teamId: callerOf(request).teamId, id: request.params.id }
    const domain = await senders.getDomain(args)
    return api.presentPropagation(domain.id, await propagation.look(domain))
  })
}
