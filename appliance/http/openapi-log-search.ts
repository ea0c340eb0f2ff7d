/** What the API document says of finding requests. */
import { LOG_METHODS } from './log-filter.ts'
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  method: {
    description: `Only those of these methods, with commas between: ${LOG_METHODS.join(', ')}.`,
    schema: text,
  },
  status: {
    description:
      'Only those answered so, with commas between: the HTTP status or SMTP reply code `422`, `4xx` for 400 to 499, or the enhanced code `5.7.1` or `5.7.x`.',
    schema: text,
  },
  key: { description: 'Only those made with this API key: its id or its name.', schema: text },
  endpoint: { description: 'Only those whose path, query or SMTP command contains this.', schema: text },
  ip: { description: 'Only those from this IP address.', schema: text },
  user_agent: { description: 'Only those of programs whose name contains this.', schema: text },
  email_id: {
    description: 'Only the request that made this email, and its repetitions.',
    schema: { type: 'string', format: 'uuid' },
  },
  since: { description: 'Only those at or after this instant (ISO 8601).', schema: text },
  until: { description: 'Only those before this instant (ISO 8601).', schema: text },
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
      'All conditions have to hold. It looks at a bounded number of requests, newest first: go on with `next` as `after` until it is null, also where a page is empty. Not at the hosted service.',
    query: ['limit', 'after', ...Object.keys(LOG_PARAMETERS)],
  },
}
