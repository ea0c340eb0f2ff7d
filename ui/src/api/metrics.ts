import type { MetricsBreakdown } from '../../../appliance/api/metrics.ts'
import { read } from './client.ts'

export type { MetricsBreakdown }

/** Returns event counts, broken down by one dimension. Takes the API's parameters. */
export const getMetricsBreakdown = (query: Record<string, string>, signal?: AbortSignal) =>
  read<MetricsBreakdown>(`/emails/metrics/breakdown?${new URLSearchParams(query)}`, signal)
