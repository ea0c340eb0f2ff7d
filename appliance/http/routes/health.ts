import type { FastifyReply } from 'fastify'
import type { Health } from '../../watch/health.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as schema from '../schemas/health.ts'

/** GET /healthz and GET /readyz, for supervisors and load balancers: 200, or 503 with reasons. */
export function healthRoutes(app: App, { health, log }: Pick<HttpDeps, 'health' | 'log'>): void {
  const open = { config: { access: 'public' as const, unmetered: true }, logLevel: 'warn' as const }
  const answer = (reply: FastifyReply, { ok, reasons }: Health) => {
    if (ok) return { object: 'health' as const, status: 'ok' as const, reasons }
    log.error({ reasons }, 'not healthy')
    void reply.code(503)
    return { object: 'health' as const, status: 'unavailable' as const, reasons }
  }
  const responses = { response: { 200: schema.Health, 503: schema.Health } }
  app.get('/healthz', { ...open, schema: responses }, async (_request, reply) =>
    answer(reply, await health.alive()),
  )
  app.get('/readyz', { ...open, schema: responses }, async (_request, reply) =>
    answer(reply, await health.ready()),
  )
}
