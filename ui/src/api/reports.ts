/** Calls about DMARC and TLS reports of a domain. */
import type { DmarcSummary, TlsReportSummary } from '../../../appliance/api/reports.ts'
import { read } from './client.ts'

const at = (id: string, kind: string, days: number) =>
  `/domains/${encodeURIComponent(id)}/reports/${kind}?days=${days}`

export const getDmarcSummary = (id: string, days: number, signal?: AbortSignal) =>
  read<DmarcSummary>(at(id, 'dmarc', days), signal)

export const getTlsSummary = (id: string, days: number, signal?: AbortSignal) =>
  read<TlsReportSummary>(at(id, 'tls', days), signal)
