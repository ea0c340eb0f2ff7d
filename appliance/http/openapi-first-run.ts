/** What the document says of the routes of the first run. */
import type { OperationNotes } from './openapi-operations.ts'

/** Set-up, and the records of a domain on their way. */
export const FIRST_RUN: Record<string, OperationNotes> = {
  'GET /setup': {
    id: 'getSetup',
    tag: 'Dashboard',
    summary: 'See whether the server waits for its owner',
    description: 'Not at the hosted service.',
  },
  'POST /setup': {
    id: 'setUp',
    tag: 'Dashboard',
    summary: 'Make the first owner',
    description:
      'With the token of the link that the server prints at its start while it has no owner. Signs the owner in with a cookie. The link is good for 24 hours and for one owner. Not at the hosted service.',
    errors: ['403', '429'],
  },
  'GET /domains/:id/propagation': {
    id: 'getDomainPropagation',
    tag: 'Domains',
    summary: 'See how far the DNS records of a domain have come',
    description:
      'Asks every authoritative server of the zone now, past all caches. Answers are shared for four seconds. Not at the hosted service.',
  },
}
