/** Machine-readable information about the server: metrics, live events, and the OpenAPI document. */
import { Type } from 'typebox'
import { operationsIn, nonJsonContent } from './operation.ts'
import { record } from './schemas.ts'

const emailOperation = operationsIn('Emails')
const serviceOperation = operationsIn('Service')

export const watchEmails = emailOperation('GET /live', {
  summary: 'Stream events live',
  description:
    'Server-sent events: an `email`, `domain` or `suppression` event with `type`, `email_id` and `created_at` for everything that happens. The team that operates the server also gets `lanes`, without data, when a lane changes. `Last-Event-ID` resumes a stream; `reset` means that too many events were missed. A stream ends after 15 minutes; reconnect then.',
  response: { 200: nonJsonContent('text/event-stream', 'A stream of events.') },
})

export const getPrometheus = serviceOperation('GET /metrics', {
  summary: 'Get Prometheus metrics',
  description:
    'Metrics of this process. For the team that operates the server; `metrics.listen` requires no key.',
  response: { 200: nonJsonContent('text/plain', 'Prometheus text format.') },
})

export const getDocument = serviceOperation('GET /openapi.json', {
  access: 'public',
  summary: 'Get this document',
  response: { 200: record(Type.Unknown(), 'OpenAPI 3.1.') },
})
