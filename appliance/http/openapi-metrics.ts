/** What the API document says of metrics beyond the hosted service's. */
import { BREAKDOWNS } from '../events/metrics.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

/** The parameters that are its own. */
export const METRICS_PARAMETERS: Record<string, ParameterNotes> = {
  'breakdown.by': {
    name: 'by',
    description: 'The dimension of the rows.',
    schema: { type: 'string', enum: [...BREAKDOWNS], default: 'domain' },
  },
  'breakdown.provider': {
    name: 'provider',
    description: 'Only these mailbox providers: up to 100 comma-separated ids.',
    schema: { type: 'string', examples: ['google'] },
  },
}

/** The words for the route. */
export const METRICS_OPERATIONS: Record<string, OperationNotes> = {
  'GET /emails/metrics/breakdown': {
    id: 'breakDownMetrics',
    tag: 'Emails',
    summary: 'Break down email metrics',
    description:
      'Totals over a time range by period, domain, mailbox provider, tag or bounce category. For domains, providers and tags, the 50 largest have a row each and the others share one. An email counts for each of its tags. Opens and clicks by bots are counted separately. `GET /emails/search` finds the emails behind a number. Not part of the hosted API.',
    query: [
      ...['breakdown.by', 'start_date', 'end_date', 'timezone', 'granularity'],
      ...['metrics.domain_id', 'breakdown.provider'],
    ],
  },
}
