import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import { serve } from '../serve.ts'
import { getPrometheus } from '../../api/service.ts'

/** GET /metrics for Prometheus, with a key of the team that runs the server; `metrics.listen` needs none. */
export function prometheusRoutes(app: App, deps: HttpDeps): void {
  const preValidation = requireOperator(deps)
  serve(app, getPrometheus, { preValidation, logLevel: 'warn' }, async (_request, reply) => {
    const { type, text } = await deps.instruments.page()
    return reply.type(type).send(text)
  })
}

/** Measures every request by its route: the set of routes is small, that of paths is not. */
export function measureRequests(app: App, { instruments }: Pick<HttpDeps, 'instruments'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    const route = request.is404 ? 'unknown' : (routeOptions.url ?? 'unknown')
    instruments.httpAnswered({ method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 })
    done()
  })
}
