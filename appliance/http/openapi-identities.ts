/** What the document says of the routes of identity providers. */
import type { OperationNotes } from './openapi-operations.ts'

const provider = {
  id: { description: "The provider's id in the configuration.", schema: { type: 'string' } },
}

/** Signing in by a provider, and one's own accounts there. */
export const IDENTITY_OPERATIONS: Record<string, OperationNotes> = {
  'GET /session/providers': {
    id: 'listSignInProviders',
    tag: 'Dashboard',
    summary: 'List identity providers for sign-in',
    description: 'The options that the sign-in page offers besides a password. Not part of the hosted API.',
  },
  'POST /session/oidc/:id': {
    id: 'startProviderSignIn',
    tag: 'Dashboard',
    summary: 'Start sign-in with an identity provider',
    description:
      'Returns the URL to open in the browser, and sets a cookie that the callback requires. Not part of the hosted API.',
    path: provider,
    errors: ['403', '409', '429', '502'],
  },
  'GET /session/oidc/:id/callback': {
    id: 'finishProviderSignIn',
    tag: 'Dashboard',
    summary: 'Callback of an identity provider',
    description:
      'The provider redirects the browser here. Returns status 302 to a dashboard page: signed in, waiting for the second step, or with `problem` in the query. Not part of the hosted API.',
    path: provider,
    answers: { type: 'text/html', description: 'Never: the response is a redirect.' },
  },
  'GET /account/identities': {
    id: 'listIdentities',
    tag: 'Dashboard',
    summary: 'List your linked accounts',
    description: 'Not part of the hosted API.',
  },
  'POST /account/identities': {
    id: 'linkIdentity',
    tag: 'Dashboard',
    summary: 'Link an account at an identity provider',
    description:
      'Requires a password or second step entered within the last ten minutes. Returns the URL to open in the browser. Not part of the hosted API.',
    errors: ['403', '409', '429', '502'],
  },
  'DELETE /account/identities/:id': {
    id: 'unlinkIdentity',
    tag: 'Dashboard',
    summary: 'Unlink an account at an identity provider',
    description:
      'Requires a password or second step entered within the last ten minutes. You cannot remove your only way to sign in. Not part of the hosted API.',
    errors: ['403', '409'],
  },
}
