import * as api from '../../api/health.ts'
import { serve } from '../serve.ts'
import type { FastifyReply } from 'fastify'
import type { Health } from '../../watch/health.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes GET /healthz and GET /readyz, for supervisors and load balancers: 200, or 503 with reasons. */
export function healthRoutes(app: App, { health, log }: Pick<HttpDeps, 'health' | 'log'>): void {
  const open = { unmetered: true, logLevel: 'warn' } as const
  const answer = (reply: FastifyReply, { ok, reasons }: Health) => {
    if (ok) return { object: 'health' as const, status: 'ok' as const, reasons }
    log.error({ reasons }, 'not healthy')
    void reply.code(503)
    return { object: 'health' as const, status: 'unavailable' as const, reasons }
  }
  serve(app, api.getHealth, open, async (_request, reply) => answer(reply, await health.alive()))
  serve(app, api.getReadiness, open, async (_request, reply) => answer(reply, await health.ready()))
}
