import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const next = Type.Optional(
  Type.String({ description: 'The page of the dashboard to go on with: a path below /dashboard.' }),
)
const providerId = Type.String({ description: 'The id that the configuration gives it.' })

/** An identity provider that people may sign in with. */
export const SignInProvider = Type.Object(
  {
    object: kind('sign_in_provider'),
    id: providerId,
    label: Type.String({ description: 'Its name for people.' }),
    preset: literals(['google', 'github', 'oidc'], { description: 'What it speaks.' }),
  },
  { description: 'An identity provider that people may sign in with.' },
)

/** GET /session/providers */
export const SignInProviderList = listOf(SignInProvider, 'Identity providers, as configured')

/** POST /session/oidc/:id */
export const StartProviderSignIn = Type.Object({ next }, { description: 'Somebody wants to sign in.' })

/** POST /account/identities */
export const LinkIdentity = Type.Object(
  { provider: providerId },
  { description: 'A further way into one’s own account.' },
)

/** Where the browser has to go now. */
export const ProviderDeparture = Type.Object(
  {
    object: kind('provider_departure'),
    url: Type.String({
      description:
        'The provider’s page. The browser that asked goes there within ten minutes; no other can come back.',
    }),
  },
  { description: 'Where the browser goes to say who it is.' },
)

/** An account at a provider that opens one's own. */
export const Identity = Type.Object(
  {
    object: kind('identity'),
    id: Id,
    provider: providerId,
    label: Nullable(Type.String(), {
      description: 'The name of the provider. Null: it is configured no more, and this opens nothing.',
    }),
    email: Type.String({ description: 'The address that the provider told last.' }),
    created_at: Timestamp,
    last_used_at: Nullable(Type.String(), { description: 'The last sign-in by it; null: none yet.' }),
  },
  { description: 'An account at an identity provider that opens one’s own account here.' },
)

/** GET /account/identities */
export const IdentityList = listOf(Identity, 'Linked accounts of one’s own')

/** DELETE /account/identities/:id */
export const IdentityUnlinked = Type.Object(
  { object: kind('identity'), id: Id, deleted: Deleted },
  { description: 'It opens the account no more; sessions that its provider began have ended, but this one.' },
)

export type SignInProvider = Static<typeof SignInProvider>
export type SignInProviderList = Static<typeof SignInProviderList>
export type ProviderDeparture = Static<typeof ProviderDeparture>
export type Identity = Static<typeof Identity>
export type IdentityList = Static<typeof IdentityList>
export type IdentityUnlinked = Static<typeof IdentityUnlinked>

/** Why the way back from a provider led nowhere: `problem` in the address of the page that the browser is sent to. */
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
