import { Type, type Static } from 'typebox'
import { kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId, path, pathText } from './parameters.ts'

const next = Type.Optional(string('The dashboard page to open afterwards: a path below /dashboard.'))
const providerId = string('The id in the configuration.')

/** An identity provider that people may sign in with. */
export const SignInProvider = object('An identity provider for sign-in.', {
  object: kind('sign_in_provider'),
  id: providerId,
  label: string('The display name.'),
  preset: literals(['google', 'github', 'oidc'], 'The protocol.'),
})

export const SignInProviderList = listOf(SignInProvider, 'the configured identity providers')

export const StartProviderSignIn = object('A sign-in request.', { next })

export const LinkIdentity = object('Links an identity to your account.', { provider: providerId })

/** The URL that the browser must open next. */
export const ProviderRedirect = object('Where the browser goes to sign in.', {
  object: kind('provider_departure'),
  url: string("The provider's page. The same browser must open it within ten minutes."),
})

/** A provider account that is linked to a user. */
export const Identity = object('A linked account at an identity provider.', {
  object: kind('identity'),
  id: Id,
  provider: providerId,
  label: Nullable(
    Type.String(),
    'The name of the provider. Null: it is no longer configured, so this link cannot be used to sign in.',
  ),
  email: string('The address that the provider last reported.'),
  created_at: Timestamp,
  last_used_at: Nullable(Type.String(), 'The last sign-in with it; null: none yet.'),
})

export const IdentityList = listOf(Identity, 'your linked accounts')

export const IdentityUnlinked = object(
  'The account is unlinked. Sessions that started with the provider were ended, except this one.',
  { object: kind('identity'), id: Id, deleted: Deleted },
)

export type SignInProvider = Static<typeof SignInProvider>
export type SignInProviderList = Static<typeof SignInProviderList>
export type ProviderRedirect = Static<typeof ProviderRedirect>
export type Identity = Static<typeof Identity>
export type IdentityList = Static<typeof IdentityList>
export type IdentityUnlinked = Static<typeof IdentityUnlinked>

/** Why a sign-in at a provider failed; sent as `problem` in the URL that the browser is redirected to. */
export type ProviderProblemCode =
  | 'denied'
  | 'unreachable'
  | 'misconfigured'
  | 'invalid'
  | 'unverified'
  | 'domain'
  | 'not_linked'
  | 'unproven'
  | 'unknown'
  | 'expired'
  | 'taken'
  | 'signed_out'
  | 'no_team'

const operation = operationsIn('Dashboard')

export const listSignInProviders = operation('GET /session/providers', {
  access: 'public',
  summary: 'List identity providers for sign-in',
  description: 'The options that the sign-in page offers besides a password. Not part of the hosted API.',
  response: { 200: SignInProviderList },
})
export const startProviderSignIn = operation('POST /session/oidc/:id', {
  access: 'public',
  summary: 'Start sign-in with an identity provider',
  description:
    'Returns the URL to open in the browser, and sets a cookie that the callback requires. Not part of the hosted API.',
  params: path({ id: pathText("The provider's id in the configuration.") }),
  body: StartProviderSignIn,
  response: { 200: ProviderRedirect },
  errors: ['403', '409', '429', '502'],
})
export const finishProviderSignIn = operation('GET /session/oidc/:id/callback', {
  access: 'public',
  summary: 'Callback of an identity provider',
  description:
    'The provider redirects the browser here. Returns status 302 to a dashboard page: signed in, waiting for the second step, or with `problem` in the query. Not part of the hosted API.',
  params: path({ id: pathText("The provider's id in the configuration.") }),
  response: { 200: nonJsonContent('text/html', 'Never: the response is a redirect.') },
})
export const listIdentities = operation('GET /account/identities', {
  access: 'people',
  summary: 'List your linked accounts',
  description: 'Not part of the hosted API.',
  response: { 200: IdentityList },
})
export const linkIdentity = operation('POST /account/identities', {
  access: 'people',
  summary: 'Link an account at an identity provider',
  description:
    'Requires a password or second step entered within the last ten minutes. Returns the URL to open in the browser. Not part of the hosted API.',
  body: LinkIdentity,
  response: { 200: ProviderRedirect },
  errors: ['403', '409', '429', '502'],
})
export const unlinkIdentity = operation('DELETE /account/identities/:id', {
  access: 'people',
  summary: 'Unlink an account at an identity provider',
  description:
    'Requires a password or second step entered within the last ten minutes. You cannot remove your only way to sign in. Not part of the hosted API.',
  params: byId,
  response: { 200: IdentityUnlinked },
  errors: ['403', '409'],
})
