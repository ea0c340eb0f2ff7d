/** What the API document says of metrics beyond the hosted service's. */
import { BREAKDOWNS } from '../events/metrics.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

/** The parameters that are its own. */
export const METRICS_PARAMETERS: Record<string, ParameterNotes> = {
  'breakdown.by': {
    name: 'by',
    description: 'What the rows are.',
    schema: { type: 'string', enum: [...BREAKDOWNS], default: 'domain' },
  },
  'breakdown.provider': {
    name: 'provider',
    description: 'Only these mailbox providers: up to 100 ids with commas between.',
    schema: { type: 'string', examples: ['google'] },
  },
}

/** The words for the route. */
export const METRICS_OPERATIONS: Record<string, OperationNotes> = {
  'GET /emails/metrics/breakdown': {
    id: 'breakDownMetrics',
    tag: 'Emails',
    summary: 'Count emails by one thing',
    description:
      'Sums over a range of time by period, domain, mailbox provider, tag or what bounces were about; of domains, providers and tags the fifty largest, the others in one row. An email counts for each of its tags. Opens and clicks of machines are counted for themselves. `GET /emails/search` finds the emails behind a number. Not at the hosted service.',
    query: [
      ...['breakdown.by', 'start_date', 'end_date', 'timezone', 'granularity'],
      ...['metrics.domain_id', 'breakdown.provider'],
    ],
  },
}
