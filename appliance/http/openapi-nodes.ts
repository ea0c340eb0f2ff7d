/** What the document says of the daemon itself. */
import type { OperationNotes } from './openapi-operations.ts'

/** How it stands, and how much it takes. */
export const NODES: Record<string, OperationNotes> = {
  'GET /nodes': {
    id: 'listNodes',
    tag: 'Service',
    summary: 'List the running daemons',
    description:
      'Since when, where they listen, and whether they take mail. For the team that runs the server. Not at the hosted service.',
  },
  'GET /limits': {
    id: 'getLimits',
    tag: 'Usage',
    summary: 'See how much may be sent',
    description: 'The plan of the team, its rate limit, the largest message. Not at the hosted service.',
  },
}
