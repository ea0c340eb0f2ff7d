/** Signs in with OpenID Connect: the authorization code flow (OpenID Connect Core 1.0 §3.1) with PKCE (RFC 7636). */
import * as client from 'openid-client'
import type { Clock } from '../clock/clock.ts'
import {
  PROVIDER_TIMEOUT,
  ProviderProblem,
  wrapProviderErrors,
  type Assertion,
  type Provider,
  type ProviderSettings,
  isAddress,
  isLoopback,
} from './provider.ts'

/** How long a provider's metadata (OpenID Connect Discovery 1.0 §4) is cached, in milliseconds. */
const BELIEVED = 3_600_000

/** Creates a provider that supports discovery: Google, or any other. */
export function createOpenIdProvider(settings: ProviderSettings, clock: Clock): Provider {
  let known: { configuration: client.Configuration; until: number } | undefined

  const configuration = async (): Promise<client.Configuration> => {
    if (known && clock.now() < known.until) return known.configuration
    const found = await wrapProviderErrors(() => discover(settings))
    known = { configuration: found, until: clock.now() + BELIEVED }
    return found
  }

  return {
    settings,

    async authorize({ state, nonce, verifier }, redirectUri) {
      const found = await configuration()
      return client.buildAuthorizationUrl(found, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        // Lets people with several accounts choose; otherwise some providers silently use the last account.
        ...(settings.preset === 'google' ? { prompt: 'select_account' } : {}),
      })
    },

    async exchange({ state, nonce, verifier }, returned) {
      const found = await configuration()
      return wrapProviderErrors(async () => {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
        const tokens = await client.authorizationCodeGrant(found, returned, checks)
        const claims = tokens.claims()
        if (claims === undefined) throw new ProviderProblem('invalid', 'the response has no ID token')
        const about =
          claims.email === undefined
            ? await client.fetchUserInfo(found, tokens.access_token, claims.sub)
            : claims
        return assertionOf(claims, about)
      })
    },
  }
}

async function discover({ issuer, clientId, clientSecret }: ProviderSettings): Promise<client.Configuration> {
  const url = new URL(issuer)
  // The default is client_secret_basic (OpenID Connect Core 1.0 §9).
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const offered = server.token_endpoint_auth_methods_supported ?? []
    const method = offered.includes('client_secret_post')
      ? client.ClientSecretPost(clientSecret)
      : client.ClientSecretBasic(clientSecret)
    method(server, ...rest)
  }
  return client.discovery(url, clientId, undefined, authenticate, {
    timeout: PROVIDER_TIMEOUT,
    execute: [
      // Verify the signature although the token comes directly from the provider (§3.1.3.7), so that a single mistake
      // in TLS isn't enough.
      client.enableNonRepudiationChecks,
      ...(isLoopback(url) ? [client.allowInsecureRequests] : []),
    ],
  })
}

type Claims = Record<string, unknown>

/** Builds the assertion. Only `email_verified: true` means that the person owns the address (§5.1). */
function assertionOf(token: client.IDToken, about: Claims): Assertion {
  const { email, email_verified: verified } = about
  if (typeof email !== 'string' || !isAddress(email))
    throw new ProviderProblem(
      'unverified',
      'it provides no email address; check that the scope email is allowed',
    )
  if (verified !== true)
    throw new ProviderProblem(
      'unverified',
      `it does not confirm that the address is verified: email_verified is ${JSON.stringify(verified) ?? 'missing'}`,
    )
  const { iss, sub, amr, hd } = token
  return {
    issuer: iss,
    subject: sub,
    email: email.toLowerCase(),
    hostedDomain: typeof hd === 'string' ? hd.toLowerCase() : null,
    methods: Array.isArray(amr) ? amr.map(String) : null,
  }
}
