import * as api from '../../api/erasures.ts'
import { serve } from '../serve.ts'
import { presentList } from '../../api/shared.ts'
import { actorOf, callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes to erase a person's data in the caller's own team, by address. */
export function erasureRoutes(app: App, { erasures, clock }: HttpDeps): void {
  serve(app, api.createErasure, { right: 'erase', audit: null, secretBody: true }, async (request) => {
    const { teamId } = callerOf(request)
    const { address, dry_run: dryRun = false } = request.body
    if (dryRun) return api.presentErasureSurvey(await erasures.survey({ teamId, address }), clock.now())
    return api.presentErasure(await erasures.begin({ teamId, address, actor: actorOf(request) }))
  })

  serve(app, api.listErasures, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { items, hasMore } = await erasures.list({ ...request.query, teamId })
    return presentList(items.map(api.presentErasure), hasMore)
  })

  serve(app, api.getErasure, {}, async (request) =>
    api.presentErasure(await erasures.get({ teamId: callerOf(request).teamId, id: request.params.id })),
  )
}
