/** Identity providers: signing in by them, and one's own accounts there. */
import type {
  IdentityList,
  IdentityUnlinked,
  ProviderDeparture,
  SignInProviderList,
} from '../../../appliance/api/identities.ts'
import { change, read } from './client.ts'

const id = encodeURIComponent

/** What the sign-in page offers beside a password. */
export const listProviders = (signal?: AbortSignal) => read<SignInProviderList>('/session/providers', signal)

/** Where the browser goes to sign in by a provider. `next`: the page to come back to. */
export const startSignIn = (provider: string, next: string | null) =>
  change<ProviderDeparture>('POST', `/session/oidc/${id(provider)}`, next === null ? {} : { next })

/** One's own linked accounts. */
export const listIdentities = (signal?: AbortSignal) => read<IdentityList>('/account/identities', signal)

/** Where the browser goes to link an account at a provider. */
export const startLink = (provider: string) =>
  change<ProviderDeparture>('POST', '/account/identities', { provider })

/** Takes a way in away. */
export const unlinkIdentity = (identity: string) =>
  change<IdentityUnlinked>('DELETE', `/account/identities/${id(identity)}`)
