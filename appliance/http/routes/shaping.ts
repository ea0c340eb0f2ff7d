import * as api from '../../api/shaping.ts'
import { serve } from '../serve.ts'
import { presentList } from '../../api/shared.ts'
import { readLane, readProvider } from '../audit-reads.ts'
import { createOperatorOptions } from '../audited.ts'
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
    createOperatorOptions(deps, 'provider.update', readProvider(deps)),
    async (request) => api.presentProvider(await shaping.setProvider(request.params.id, request.body)),
  )

  serve(app, api.listLanes, { preValidation }, async () =>
    presentList((await shaping.lanes()).map(api.presentLane)),
  )

  serve(app, api.pauseLane, createOperatorOptions(deps, 'lane.pause', readLane(deps)), async (request) =>
    api.presentLane(await shaping.pauseLane(request.params.id, request.body?.minutes ?? null)),
  )

  serve(app, api.resumeLane, createOperatorOptions(deps, 'lane.resume', readLane(deps)), async (request) =>
    api.presentLane(await shaping.resumeLane(request.params.id)),
  )
}
