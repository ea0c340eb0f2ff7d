import { refuse } from '../../mail/refusals.ts'
import type { App, HttpDeps } from '../deps.ts'

/** GET /healthz, for load balancers and supervisors: 200 when mail can be taken, 503 when the database does not answer. */
export function healthRoutes(app: App, { storage, clock, log }: HttpDeps): void {
  app.get('/healthz', { config: { access: 'public' }, logLevel: 'warn' }, async () => {
    try {
      await storage.nextDue({ fullLanes: [] }, clock.now())
    } catch (err) {
      // Whatever the reason: no mail can be taken now, and that is what the question is about.
      log.error({ err }, 'the database does not answer: no mail can be taken; look at the disk and data_dir')
      throw refuse('unavailable')
    }
    return { object: 'health' as const, status: 'ok' as const }
  })
}
