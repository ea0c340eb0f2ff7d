import { Type, type Static } from 'typebox'
import { array, kind, literals, object } from './schemas.ts'
import { operationsIn } from './operation.ts'

export const Health = object('The health of the server.', {
  object: kind('health'),
  status: literals(['ok', 'unavailable'], '`unavailable` comes with status 503.'),
  reasons: array(Type.String(), 'What is wrong, and how to fix it.', { examples: [[]] }),
})
export type Health = Static<typeof Health>

const operation = operationsIn('Service')

export const getHealth = operation('GET /healthz', {
  access: 'public',
  summary: 'Check liveness',
  description:
    'For supervisors: succeeds if the event loop runs and the storage responds. If it fails, restart the server.',
  response: { 200: Health },
})
export const getReadiness = operation('GET /readyz', {
  access: 'public',
  summary: 'Check readiness',
  description:
    'For load balancers: succeeds if writes are durable, disk space is left and the node is not stopping. If it fails, use another node.',
  response: { 200: Health },
})
