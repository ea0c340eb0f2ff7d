import { getDomainInsights, INSIGHT_DAYS, presentDomainInsights } from '../../api/insight-counts.ts'
import { getDomainReputation, presentDomainReputation } from '../../api/reputation.ts'
import * as summaries from '../../api/report-summaries.ts'
import * as api from '../../api/reports.ts'
import { presentPage } from '../../api/shared.ts'
import { firstDay, sumInsights } from '../../mail/insight-counts.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for DMARC and TLS reports about a domain of the team, and for its reputation. */
export function reportRoutes(app: App, deps: HttpDeps): void {
  const { senders, storage, clock, reports, reputation, shaping } = deps
  const domainOf = (teamId: string, id: string) => senders.getDomain({ teamId, id })

  serve(app, api.listDomainReports, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id: domainId } = await domainOf(teamId, request.params.id)
    const page = await storage.listDomainReports({ teamId, domainId, ...request.query }, clock.now())
    return presentPage(page, api.presentReport)
  })

  serve(app, summaries.getDmarcSummary, {}, async (request) => {
    const domain = await domainOf(getCaller(request).teamId, request.params.id)
    const { head, names } = await reports.dmarc(domain, request.query.days)
    return summaries.presentDmarcSummary(head, names)
  })

  serve(app, summaries.getTlsSummary, {}, async (request) => {
    const domain = await domainOf(getCaller(request).teamId, request.params.id)
    return summaries.presentTlsSummary(await reports.tls(domain, request.query.days))
  })

  serve(app, api.getDomainReport, {}, async (request) => {
    const domain = await domainOf(getCaller(request).teamId, request.params.id)
    return api.presentExplainedReport(await reports.report(domain, request.params.report_id))
  })

  serve(app, getDomainReputation, {}, async (request) => {
    const domain = await domainOf(getCaller(request).teamId, request.params.id)
    const names = new Map((await shaping.providers()).map(({ id, name }) => [id, name]))
    return presentDomainReputation(await reputation.domain(domain, request.query.days), names)
  })

  serve(app, getDomainInsights, {}, async (request) => {
    const { teamId, id: domainId } = await domainOf(getCaller(request).teamId, request.params.id)
    const [now, days] = [clock.now(), request.query.days ?? INSIGHT_DAYS]
    const rows = await storage.listInsightDays({ teamId, domainId, since: firstDay(now, days) }, now)
    return presentDomainInsights(domainId, sumInsights(rows, now, days))
  })
}
