/** API calls for identity providers: signing in and linked accounts. */
import type {
  IdentityList,
  IdentityUnlinked,
  ProviderRedirect,
  SignInProviderList,
} from '../../../appliance/api/identities.ts'
import { change, read } from './client.ts'

const id = encodeURIComponent

/** Lists the identity providers for the sign-in page. */
export const listProviders = (signal?: AbortSignal) => read<SignInProviderList>('/session/providers', signal)

/** Returns the provider's URL to sign in. `next`: the page to return to. */
export const startSignIn = (provider: string, next: string | null) =>
  change<ProviderRedirect>('POST', `/session/oidc/${id(provider)}`, next === null ? {} : { next })

/** Lists the person's linked accounts. */
export const listIdentities = (signal?: AbortSignal) => read<IdentityList>('/account/identities', signal)

/** Returns the provider's URL to link an account. */
export const startIdentityLink = (provider: string) =>
  change<ProviderRedirect>('POST', '/account/identities', { provider })

/** Removes a linked account, which then can't be used to sign in anymore. */
export const unlinkIdentity = (identity: string) =>
  change<IdentityUnlinked>('DELETE', `/account/identities/${id(identity)}`)
