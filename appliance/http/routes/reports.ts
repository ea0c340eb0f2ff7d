import * as api from '../../api/reports.ts'
import { presentList } from '../../api/shared.ts'
import { refuse } from '../../mail/refusals.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** DMARC and TLS reports about a domain of the team. */
export function reportRoutes(app: App, { senders, storage, clock, reports }: HttpDeps): void {
  const domainOf = (teamId: string, id: string) => senders.getDomain({ teamId, id })

  serve(app, api.listDomainReports, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { id: domainId } = await domainOf(teamId, request.params.id)
    const { items, hasMore } = await storage.listDomainReports(
      { teamId, domainId, ...request.query },
      clock.now(),
    )
    return presentList(items.map(api.presentReport), hasMore)
  })

  serve(app, api.getDmarcSummary, {}, async (request) => {
    const domain = await domainOf(callerOf(request).teamId, request.params.id)
    const { head, names } = await reports.dmarc(domain, request.query.days)
    return api.presentDmarcSummary(head, names)
  })

  serve(app, api.getTlsSummary, {}, async (request) => {
    const domain = await domainOf(callerOf(request).teamId, request.params.id)
    return api.presentTlsSummary(await reports.tls(domain, request.query.days))
  })

  serve(app, api.getDomainReport, {}, async (request) => {
    const { teamId } = callerOf(request)
    const { id: domainId } = await domainOf(teamId, request.params.id)
    const report = await storage.getDomainReport(
      { teamId, domainId, id: request.params.report_id },
      clock.now(),
    )
    if (!report) throw refuse('not_found', { resource: 'Report' })
    return api.presentWholeReport(report)
  })
}
