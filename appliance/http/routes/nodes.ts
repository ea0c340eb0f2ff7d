import type { FastifyReply } from 'fastify'
import * as checks from '../../api/health.ts'
import * as api from '../../api/nodes.ts'
import * as regionApi from '../../api/regions.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import type { Health } from '../../watch/health.ts'
import { readNode } from '../audit-reads.ts'
import { requireOperator } from '../access.ts'
import { createOperatorOptions } from '../audited.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for the daemons of this database and their regions, for operators. */
export function nodeRoutes(app: App, deps: HttpDeps): void {
  const { node, regions } = deps
  const operator = requireOperator(deps)

  serve(app, api.listNodes, { preValidation: operator }, async () =>
    presentList((await node.list()).map(api.presentNode)),
  )

  serve(app, regionApi.listRegions, { preValidation: operator }, async () =>
    presentList((await regions.list()).map(regionApi.presentRegion)),
  )

  serve(app, regionApi.previewFailover, { preValidation: operator }, async (request) =>
    regionApi.presentFailoverPreview(
      await regions.preview(request.params.region.toLowerCase(), request.query.to?.toLowerCase()),
    ),
  )

  const deleted = createOperatorOptions(deps, 'node.forget', readNode({ node }))
  serve(app, api.deleteNode, deleted, async (request) => {
    const { id } = request.params
    await node.forget(id)
    return presentDeleted('node', id)
  })
}

/** Routes GET /healthz and GET /readyz, for supervisors and load balancers: 200, or 503 with reasons. */
export function healthRoutes(app: App, { health, log }: Pick<HttpDeps, 'health' | 'log'>): void {
  const open = { unmetered: true, logLevel: 'warn' } as const
  const answer = (reply: FastifyReply, { ok, reasons }: Health) => {
    if (ok) return { object: 'health' as const, status: 'ok' as const, reasons }
    log.error({ reasons }, 'not healthy')
    void reply.code(503)
    return { object: 'health' as const, status: 'unavailable' as const, reasons }
  }
  serve(app, checks.getHealth, open, async (_request, reply) => answer(reply, await health.alive()))
  serve(app, checks.getReadiness, open, async (_request, reply) => answer(reply, await health.ready()))
}
