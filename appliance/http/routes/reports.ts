import * as summaries from '../../api/report-summaries.ts'
import * as api from '../../api/reports.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for DMARC and TLS reports about a domain of the team. */
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

  serve(app, summaries.getDmarcSummary, {}, async (request) => {
    const domain = await domainOf(callerOf(request).teamId, request.params.id)
    const { head, names } = await reports.dmarc(domain, request.query.days)
    return summaries.presentDmarcSummary(head, names)
  })

  serve(app, summaries.getTlsSummary, {}, async (request) => {
    const domain = await domainOf(callerOf(request).teamId, request.params.id)
    return summaries.presentTlsSummary(await reports.tls(domain, request.query.days))
  })

  serve(app, api.getDomainReport, {}, async (request) => {
    const domain = await domainOf(callerOf(request).teamId, request.params.id)
    return api.presentExplainedReport(await reports.report(domain, request.params.report_id))
  })
}
