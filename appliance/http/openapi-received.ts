/** What the document says of mail that port 25 takes without sign-in. */
import type { OperationNotes } from './openapi-operations.ts'

const message = { type: 'message/rfc822', description: 'The message, exactly as received.' }

/** Returned messages of an email, and the postmaster mailbox. */
export const RECEIVED: Record<string, OperationNotes> = {
  'GET /emails/:id/returned': {
    id: 'listReturnedMessages',
    tag: 'Emails',
    summary: 'List messages returned to an email',
    description:
      'Messages sent to the return path of the email, usually delivery reports. They are not verified, and change neither the email nor the suppression list. Not part of the hosted API.',
  },
  'GET /emails/:id/returned/:returned_id': {
    id: 'getReturnedMessage',
    tag: 'Emails',
    summary: 'Get a returned message',
    description: 'Not part of the hosted API.',
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
    description: 'For the team that operates the server. Not part of the hosted API.',
    query: ['limit', 'after', 'before'],
  },
  'GET /postmaster/:id/source': {
    id: 'getPostmasterMessage',
    tag: 'Service',
    summary: 'Get a message to postmaster',
    description: 'For the team that operates the server. Not part of the hosted API.',
    answers: message,
  },
}
