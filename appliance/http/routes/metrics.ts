import * as api from '../../api/metrics.ts'
import { serve } from '../serve.ts'
import {
  parseBreakdownQuery,
  parseMetricsQuery,
  computeBreakdown,
  computeMetricsReport,
} from '../../events/metrics.ts'
import { getCaller, requireOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { getPrometheus } from '../../api/service.ts'

/** Routes for GET /emails/metrics and the additional metrics of this server, computed from the roll-ups. */
export function metricsRoutes(app: App, { storage, shaping, clock }: HttpDeps): void {
  serve(app, api.getMetrics, {}, async (request) => {
    const { teamId } = getCaller(request)
    const now = clock.now()
    return api.presentMetrics(
      await computeMetricsReport(storage, teamId, parseMetricsQuery(request.query, now), now),
    )
  })

  serve(app, api.breakDownMetrics, {}, async (request) => {
    const { teamId } = getCaller(request)
    const now = clock.now()
    const asked = parseBreakdownQuery(request.query, now)
    const providers = asked.by === 'provider' ? await shaping.providers() : []
    const names = new Map(providers.map(({ id, name }) => [id, name]))
    return api.presentBreakdown(await computeBreakdown(storage, teamId, asked, names, now))
  })
}

/** Route GET /metrics for Prometheus, with a key of the operator's team; `metrics.listen` needs none. */
export function prometheusRoutes(app: App, deps: HttpDeps): void {
  const preValidation = requireOperator(deps)
  serve(app, getPrometheus, { preValidation, logLevel: 'warn' }, async (_request, reply) => {
    const { type, text } = await deps.instruments.page()
    return reply.type(type).send(text)
  })
}

/** Measures every request by its route, because there are few routes but any number of paths. */
export function measureRequests(app: App, { instruments }: Pick<HttpDeps, 'instruments'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    const route = request.is404 ? 'unknown' : (routeOptions.url ?? 'unknown')
    instruments.httpAnswered({ method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 })
    done()
  })
}
