/** What the document says of the routes of identity providers. */
import type { OperationNotes } from './openapi-operations.ts'

const provider = {
  id: { description: 'The id of the provider in the configuration.', schema: { type: 'string' } },
}

/** Signing in by a provider, and one's own accounts there. */
export const IDENTITY_OPERATIONS: Record<string, OperationNotes> = {
  'GET /session/providers': {
    id: 'listSignInProviders',
    tag: 'Dashboard',
    summary: 'See who else may say who people are',
    description: 'What the sign-in page offers beside a password. Not at the hosted service.',
  },
  'POST /session/oidc/:id': {
    id: 'startProviderSignIn',
    tag: 'Dashboard',
    summary: 'Go to an identity provider',
    description:
      'Answers with the address that the browser goes to, and sets a cookie without which nobody comes back. Not at the hosted service.',
    path: provider,
    errors: ['403', '409', '429', '502'],
  },
  'GET /session/oidc/:id/callback': {
    id: 'finishProviderSignIn',
    tag: 'Dashboard',
    summary: 'Come back from an identity provider',
    description:
      'The provider sends the browser here. Answers with status 302 to a page of the dashboard: signed in, waiting for the second factor, or with `problem` in its query. Not at the hosted service.',
    path: provider,
    answers: { type: 'text/html', description: 'Never: the answer is a redirect.' },
  },
  'GET /account/identities': {
    id: 'listIdentities',
    tag: 'Dashboard',
    summary: 'List the linked accounts of one’s own',
    description: 'Not at the hosted service.',
  },
  'POST /account/identities': {
    id: 'linkIdentity',
    tag: 'Dashboard',
    summary: 'Link an account at a provider',
    description:
      'Asks for the password or a factor shown within the last ten minutes. Answers with the address that the browser goes to. Not at the hosted service.',
    errors: ['403', '409', '429', '502'],
  },
  'DELETE /account/identities/:id': {
    id: 'unlinkIdentity',
    tag: 'Dashboard',
    summary: 'Unlink an account at a provider',
    description:
      'Asks for the password or a factor shown within the last ten minutes. The last way in stays. Not at the hosted service.',
    errors: ['403', '409'],
  },
}
