/** What the document says of the routes of the first run. */
import type { OperationNotes } from './openapi-operations.ts'

/** Set-up, and the records of a domain on their way. */
export const FIRST_RUN: Record<string, OperationNotes> = {
  'GET /setup': {
    id: 'getSetup',
    tag: 'Dashboard',
    summary: 'Check whether the server has an owner',
    description: 'Not part of the hosted API.',
  },
  'POST /setup': {
    id: 'setUp',
    tag: 'Dashboard',
    summary: 'Create the first owner',
    description:
      'Requires the token of the setup link, which the server prints at startup while it has no owner. Signs the owner in with a cookie. The link expires in 24 hours and works once. Not part of the hosted API.',
    errors: ['403', '429'],
  },
  'GET /domains/:id/propagation': {
    id: 'getDomainPropagation',
    tag: 'Domains',
    summary: 'Check DNS propagation of a domain',
    description:
      'Queries every authoritative name server of the zone, without caches. Results are shared for four seconds. Not part of the hosted API.',
  },
}
