/** What the document says of the daemon itself. */
import type { OperationNotes } from './openapi-operations.ts'

/** How it stands, and how much it takes. */
export const NODES: Record<string, OperationNotes> = {
  'GET /nodes': {
    id: 'listNodes',
    tag: 'Service',
    summary: 'List nodes',
    description:
      'Start time, listeners, and whether each node accepts mail. For the team that operates the server. Not part of the hosted API.',
  },
  'GET /limits': {
    id: 'getLimits',
    tag: 'Usage',
    summary: 'Get sending limits',
    description: "The team's plan and rate limit, and the maximum message size. Not part of the hosted API.",
  },
}
