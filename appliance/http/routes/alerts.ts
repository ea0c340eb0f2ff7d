import * as api from '../../api/alerts.ts'
import { presentPage } from '../../api/shared.ts'
import { ALERT_KINDS } from '../../mail/alert.ts'
import { refuse } from '../../mail/refusals.ts'
import { getCaller } from '../access.ts'
import { readAlertSettings } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for alerts, and for a team's notification settings. */
export function alertRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps

  serve(app, api.listAlerts, {}, async (request) => {
    const { teamId } = getCaller(request)
    return presentPage(await storage.listAlerts({ teamId, ...request.query }, clock.now()), api.presentAlert)
  })

  serve(app, api.getAlert, {}, async (request) => {
    const { teamId } = getCaller(request)
    const alert = await storage.getAlert({ teamId, id: request.params.id }, clock.now())
    if (!alert) throw refuse('not_found', { resource: 'Alert' })
    return api.presentAlert(alert)
  })

  serve(app, api.getAlertSettings, {}, async (request) => {
    const { teamId } = getCaller(request)
    return api.presentAlertSettings(await storage.alertSettings({ teamId }, clock.now()))
  })

  serve(
    app,
    api.setAlertSettings,
    {
      right: 'security',
      audit: { action: 'team.alerts', read: readAlertSettings(deps) },
    },
    async (request) => {
      const { email, muted } = request.body
      const settings = { email, muted: ALERT_KINDS.filter((kind) => muted.includes(kind)) }
      await storage.setAlertSettings({ teamId: getCaller(request).teamId, settings }, clock.now())
      return api.presentAlertSettings(settings)
    },
  )
}
