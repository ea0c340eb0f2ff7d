import * as api from '../../api/metrics.ts'
import { serve } from '../serve.ts'
import { readBreakdownQuery, readMetricsQuery, reportBreakdown, reportMetrics } from '../../events/metrics.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'

/** GET /emails/metrics and what we add to it: from the roll-ups, whatever the mail. */
export function metricsRoutes(app: App, { storage, shaping, clock }: HttpDeps): void {
  serve(app, api.getMetrics, {}, async (request) => {
    const { teamId } = callerOf(request)
    const now = clock.now()
    return api.presentMetrics(await reportMetrics(storage, teamId, readMetricsQuery(request.query, now), now))
  })

  serve(app, api.breakDownMetrics, {}, async (request) => {
    const { teamId } = callerOf(request)
    const now = clock.now()
    const asked = readBreakdownQuery(request.query, now)
    const providers = asked.by === 'provider' ? await shaping.providers() : []
    const names = new Map(providers.map(({ id, name }) => [id, name]))
    return api.presentBreakdown(await reportBreakdown(storage, teamId, asked, names, now))
  })
}
