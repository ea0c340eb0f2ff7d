/** API calls for DMARC and TLS reports of a domain. */
import type { DmarcSummary, TlsReportSummary } from '../../../appliance/api/report-summaries.ts'
import type { DomainReport, DomainReportSummary } from '../../../appliance/api/reports.ts'
import { read } from './client.ts'

const under = (id: string, rest: string) => `/domains/${encodeURIComponent(id)}/reports${rest}`
const at = (id: string, kind: string, days: number) => under(id, `/${kind}?days=${days}`)

export const getDmarcSummary = (id: string, days: number, signal?: AbortSignal) =>
  read<DmarcSummary>(at(id, 'dmarc', days), signal)

export const getTlsSummary = (id: string, days: number, signal?: AbortSignal) =>
  read<TlsReportSummary>(at(id, 'tls', days), signal)

export function listReports(id: string, after: string | null, before: string | null, signal?: AbortSignal) {
  const query = new URLSearchParams({ limit: '20' })
  if (after !== null) query.set('after', after)
  if (before !== null) query.set('before', before)
  return read<{ data: DomainReportSummary[]; has_more: boolean }>(under(id, `?${query}`), signal)
}

export const getReport = (domain: string, id: string, signal?: AbortSignal) =>
  read<DomainReport>(under(domain, `/${encodeURIComponent(id)}`), signal)
