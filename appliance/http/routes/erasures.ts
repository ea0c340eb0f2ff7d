import { presentErasure, presentErasureSurvey } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { actorOf, callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readId, readPage } from '../query.ts'
import * as schema from '../schemas/erasures.ts'

/** Erasing one person's data by address, of the caller's own team. */
export function erasureRoutes(app: App, { erasures, clock }: HttpDeps): void {
  app.post(
    '/erasures',
    {
      // The log of requests must not keep what is to be erased.
      config: { right: 'erase', audit: null, secretBody: true },
      schema: { body: schema.CreateErasure, response: { 200: schema.Erasure } },
    },
    async (request) => {
      const { teamId } = callerOf(request)
      const { address, dry_run: dryRun = false } = request.body
      if (dryRun) return presentErasureSurvey(await erasures.survey({ teamId, address }), clock.now())
      return presentErasure(await erasures.begin({ teamId, address, actor: actorOf(request) }))
    },
  )

  app.get('/erasures', { schema: { response: { 200: schema.ErasureList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const { items, hasMore } = await erasures.list({ ...readPage(request.query), teamId })
    return presentList(items.map(presentErasure), hasMore)
  })

  app.get('/erasures/:id', { schema: { response: { 200: schema.Erasure } } }, async (request) =>
    presentErasure(await erasures.get({ teamId: callerOf(request).teamId, id: readId(request.params) })),
  )
}
