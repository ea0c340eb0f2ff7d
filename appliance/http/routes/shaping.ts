import * as api from '../../api/shaping.ts'
import { serve } from '../serve.ts'
import { presentList } from '../../api/shared.ts'
import { readLane, readProvider } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../access.ts'

/** Routes for mailbox providers and lanes. They belong to the server, so only operators see and change them. */
export function shapingRoutes(app: App, deps: HttpDeps): void {
  const { shaping } = deps
  const preValidation = requireOperator(deps)

  serve(app, api.listProviders, { preValidation }, async () =>
    presentList((await shaping.providers()).map(api.presentProvider)),
  )

  serve(app, api.getProvider, { preValidation }, async (request) =>
    api.presentProvider(await shaping.provider(request.params.id)),
  )

  serve(
    app,
    api.updateProvider,
    {
      right: 'operate',
      audit: { action: 'provider.update', noun: 'provider', read: readProvider(deps), appliance: true },
      preValidation,
    },
    async (request) => api.presentProvider(await shaping.setProvider(request.params.id, request.body)),
  )

  serve(app, api.listLanes, { preValidation }, async () =>
    presentList((await shaping.lanes()).map(api.presentLane)),
  )

  serve(
    app,
    api.pauseLane,
    {
      right: 'operate',
      audit: { action: 'lane.pause', noun: 'lane', read: readLane(deps), appliance: true },
      preValidation,
    },
    async (request) =>
      api.presentLane(await shaping.pauseLane(request.params.id, request.body?.minutes ?? null)),
  )

  serve(
    app,
    api.resumeLane,
    {
      right: 'operate',
      audit: { action: 'lane.resume', noun: 'lane', read: readLane(deps), appliance: true },
      preValidation,
    },
    async (request) => api.presentLane(await shaping.resumeLane(request.params.id)),
  )
}
