/** What the API document says of finding requests. */
import { LOG_METHODS } from './log-filter.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  method: {
    description: `Comma-separated. Only these methods: ${LOG_METHODS.join(', ')}.`,
    schema: text,
  },
  status: {
    description:
      'Comma-separated. Only these statuses: an HTTP status or SMTP reply code such as `422`, `4xx` for 400 to 499, or an enhanced code such as `5.7.1` or `5.7.x`.',
    schema: text,
  },
  key: { description: 'Only requests with this API key: its id or name.', schema: text },
  endpoint: {
    description: 'Only requests whose path, query or SMTP command contains this text.',
    schema: text,
  },
  ip: { description: 'Only requests from this IP address.', schema: text },
  user_agent: { description: 'Only requests from clients whose name contains this text.', schema: text },
  email_id: {
    description: 'Only the request that created this email, and its repetitions.',
    schema: { type: 'string', format: 'uuid' },
  },
  since: { description: 'Only requests at or after this time (ISO 8601).', schema: text },
  until: { description: 'Only requests before this time (ISO 8601).', schema: text },
}

/** The conditions as query parameters: their names mean other things elsewhere. */
export const LOG_PARAMETERS: Record<string, ParameterNotes> = Object.fromEntries(
  Object.entries(CONDITIONS).map(([name, notes]) => [`logs_${name}`, { name, ...notes }]),
)

/** The words for the route. */
export const logSearchOperations: Record<string, OperationNotes> = {
  'GET /logs/search': {
    id: 'searchLogs',
    tag: 'Logs',
    summary: 'Search requests',
    description:
      'All conditions must match. Each request scans a limited number of log entries, newest first, so a page can be short or empty. To get the next page, pass `next` as `after` until it is null. Not part of the hosted API.',
    query: ['limit', 'after', ...Object.keys(LOG_PARAMETERS)],
  },
}
