/** What the document says of mail that port 25 takes without sign-in. */
import type { OperationNotes } from './openapi-operations.ts'

const message = { type: 'message/rfc822', description: 'The message, byte for byte as it arrived.' }

/** Returned messages of an email, and the postmaster mailbox. */
export const RECEIVED: Record<string, OperationNotes> = {
  'GET /emails/:id/returned': {
    id: 'listReturnedMessages',
    tag: 'Emails',
    summary: 'List messages returned to an email',
    description:
      'Messages that came to the return path of the email: delivery reports as a rule. Nothing about them is verified, and they change neither the email nor the suppression list. Not at the hosted service.',
  },
  'GET /emails/:id/returned/:returned_id': {
    id: 'getReturnedMessage',
    tag: 'Emails',
    summary: 'Get a returned message',
    description: 'Not at the hosted service.',
    path: {
      returned_id: {
        description: 'The id of the returned message.',
        schema: { type: 'string', format: 'uuid' },
      },
    },
    answers: message,
  },
  'GET /postmaster': {
    id: 'listPostmasterMessages',
    tag: 'Service',
    summary: 'List mail to postmaster and abuse',
    description: 'For the team that runs the server. Not at the hosted service.',
    query: ['limit', 'after', 'before'],
  },
  'GET /postmaster/:id/source': {
    id: 'getPostmasterMessage',
    tag: 'Service',
    summary: 'Get a message to postmaster',
    description: 'For the team that runs the server. Not at the hosted service.',
    answers: message,
  },
}
