import { readBreakdownQuery, readMetricsQuery, reportBreakdown, reportMetrics } from '../../events/metrics.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as schema from '../schemas/metrics.ts'
import { presentBreakdown, presentMetrics } from '../../wireformat/wireformat.ts'

/** GET /emails/metrics and what we add to it: from the roll-ups, whatever the mail. */
export function metricsRoutes(app: App, { storage, shaping, clock }: HttpDeps): void {
  app.get('/emails/metrics', { schema: { response: { 200: schema.Metrics } } }, async (request) => {
    const { teamId } = callerOf(request)
    const now = clock.now()
    return presentMetrics(await reportMetrics(storage, teamId, readMetricsQuery(request.query, now), now))
  })

  app.get(
    '/emails/metrics/breakdown',
    { schema: { response: { 200: schema.MetricsBreakdown } } },
    async (request) => {
      const { teamId } = callerOf(request)
      const now = clock.now()
      const asked = readBreakdownQuery(request.query, now)
      const providers = asked.by === 'provider' ? await shaping.providers() : []
      const names = new Map(providers.map(({ id, name }) => [id, name]))
      return presentBreakdown(await reportBreakdown(storage, teamId, asked, names, now))
    },
  )
}
