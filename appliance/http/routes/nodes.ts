import type { FastifyReply } from 'fastify'
import * as checks from '../../api/health.ts'
import * as api from '../../api/nodes.ts'
import { presentList } from '../../api/shared.ts'
import type { Health } from '../../watch/health.ts'
import { requireOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Route GET /nodes: the daemons of this database, for operators. */
export function nodeRoutes(app: App, deps: HttpDeps): void {
  serve(app, api.listNodes, { preValidation: requireOperator(deps) }, async () =>
    presentList((await deps.node.list()).map(api.presentNode)),
  )
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
