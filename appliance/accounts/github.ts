/**
 * Signs in with GitHub: OAuth 2.0 (RFC 6749 §4.1) with PKCE. GitHub has no ID tokens for people, so the identity is
 * read from its API. Works for github.com and for GitHub Enterprise Server, whose API is under /api/v3.
 */
import * as client from 'openid-client'
import {
  PROVIDER_TIMEOUT,
  ProviderProblem,
  wrapProviderErrors,
  type Provider,
  type ProviderSettings,
  isAddress,
  isLoopback,
} from './provider.ts'

/** Origin of github.com. */
const GITHUB = 'https://github.com'

export function createGithubProvider(settings: ProviderSettings): Provider {
  const origin = new URL(settings.issuer).origin
  const issuer = `${origin}/login/oauth`
  const api = origin === GITHUB ? 'https://api.github.com' : `${origin}/api/v3`
  const configuration = configure(settings, origin)

  return {
    settings,

    async authorize({ state, verifier }, redirectUri) {
      return client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'user:email',
        state,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        prompt: 'select_account',
      })
    },

    exchange: ({ state, verifier }, returned) =>
      wrapProviderErrors(async () => {
        const checks = { expectedState: state, pkceCodeVerifier: verifier }
        const { access_token: token } = await client.authorizationCodeGrant(configuration, returned, checks)
        const ask = (path: string) => read(configuration, token, new URL(api + path))
        const [user, emails] = await Promise.all([ask('/user'), ask('/user/emails')])
        return {
          issuer,
          subject: subjectOf(user),
          email: primaryOf(emails),
          hostedDomain: null,
          methods: null,
        }
      }),
  }
}

function configure({ clientId, clientSecret }: ProviderSettings, origin: string): client.Configuration {
  const metadata = {
    issuer: `${origin}/login/oauth`,
    authorization_endpoint: `${origin}/login/oauth/authorize`,
    token_endpoint: `${origin}/login/oauth/access_token`,
  }
  const auth = client.ClientSecretPost(clientSecret)
  const configuration = new client.Configuration(metadata, clientId, undefined, auth)
  configuration.timeout = PROVIDER_TIMEOUT
  configuration[client.customFetch] = (url, init) => fetchAsSpecified(url, init, metadata.token_endpoint)
  if (isLoopback(new URL(origin))) client.allowInsecureRequests(configuration)
  return configuration
}

/** Fetches, and corrects the status: GitHub refuses a code with 200, although RFC 6749 §5.2 requires 400. */
async function fetchAsSpecified(
  url: string,
  init: client.CustomFetchOptions,
  tokenEndpoint: string,
): Promise<Response> {
  // The two body types differ only in values that are never used here.
  const answer = await fetch(url, init)
  if (url !== tokenEndpoint || !answer.ok) return answer
  const text = await answer.text()
  const refused = /"error"\s*:/.test(text)
  return new Response(text, { status: refused ? 400 : 200, headers: answer.headers })
}

async function read(configuration: client.Configuration, token: string, url: URL): Promise<unknown> {
  const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'Posthaste' })
  const answer = await client.fetchProtectedResource(configuration, token, url, 'GET', undefined, headers)
  if (answer.ok) return answer.json()
  const fault = answer.status >= 500 || answer.status === 429 ? 'unreachable' : 'misconfigured'
  throw new ProviderProblem(fault, `GET ${url.pathname} returned status ${answer.status}`)
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/**
 * Uses the numeric id as the subject. It stays the same when the account is renamed, while the name can then be taken
 * by someone else.
 */
function subjectOf(user: unknown): string {
  if (isTable(user) && Number.isSafeInteger(user.id)) return String(user.id)
  throw new ProviderProblem('invalid', 'GET /user returned no id')
}

/** Returns the person's primary address if GitHub has verified it. */
function primaryOf(emails: unknown): string {
  const all: unknown[] = Array.isArray(emails) ? emails : []
  const primary = all.filter(isTable).find((one) => one.primary === true && one.verified === true)
  const email = primary?.email
  if (typeof email === 'string' && isAddress(email)) return email.toLowerCase()
  throw new ProviderProblem('unverified', 'the primary address of this account is not verified')
}
