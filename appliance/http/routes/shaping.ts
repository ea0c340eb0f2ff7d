import { presentLane, presentProvider } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { readLane, readProvider } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import * as schema from '../schemas/shaping.ts'

const idOf = (params: unknown): string => (params as { id: string }).id

/** Mailbox providers and lanes. They are the appliance's: only those who run it see and change them. */
export function shapingRoutes(app: App, deps: HttpDeps): void {
  const { shaping } = deps
  const preHandler = requireOperator(deps)

  app.get('/providers', { preHandler, schema: { response: { 200: schema.ProviderList } } }, async () =>
    presentList((await shaping.providers()).map(presentProvider)),
  )

  app.get('/providers/:id', { preHandler, schema: { response: { 200: schema.Provider } } }, async (request) =>
    presentProvider(await shaping.provider(idOf(request.params))),
  )

  app.patch(
    '/providers/:id',
    {
      config: {
        right: 'operate',
        audit: { action: 'provider.update', noun: 'provider', read: readProvider(deps), appliance: true },
      },
      preHandler,
      schema: { body: schema.UpdateProvider, response: { 200: schema.Provider } },
    },
    async (request) => presentProvider(await shaping.setProvider(idOf(request.params), request.body)),
  )

  app.get('/lanes', { preHandler, schema: { response: { 200: schema.LaneList } } }, async () =>
    presentList((await shaping.lanes()).map(presentLane)),
  )

  app.post(
    '/lanes/:id/pause',
    {
      config: {
        right: 'operate',
        audit: { action: 'lane.pause', noun: 'lane', read: readLane(deps), appliance: true },
      },
      preHandler,
      schema: { body: schema.PauseLane, response: { 200: schema.Lane } },
    },
    async (request) =>
      presentLane(await shaping.pauseLane(idOf(request.params), request.body.minutes ?? null)),
  )

  app.post(
    '/lanes/:id/resume',
    {
      config: {
        right: 'operate',
        audit: { action: 'lane.resume', noun: 'lane', read: readLane(deps), appliance: true },
      },
      preHandler,
      schema: { response: { 200: schema.Lane } },
    },
    async (request) => presentLane(await shaping.resumeLane(idOf(request.params))),
  )
}
