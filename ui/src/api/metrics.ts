import type { MetricsBreakdown } from '../../../appliance/api/metrics.ts'
import { read } from './client.ts'

export type { MetricsBreakdown }

/** Returns event counts, broken down by one dimension. The parameters are those of the API. */
export const breakDown = (query: Record<string, string>, signal?: AbortSignal) =>
  read<MetricsBreakdown>(`/emails/metrics/breakdown?${new URLSearchParams(query)}`, signal)
