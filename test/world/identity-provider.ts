/** A real OpenID Connect provider on loopback (the oidc-provider package). Tests decide who signs in and how. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider, type Configuration } from 'oidc-provider'

/** The user at the provider, and the claims it reports about them. */
export interface Visitor {
  subject: string
  claims: Record<string, unknown>
  /** denies: refuses · page: shows a page with a button, for a browser · agrees: approves at once */
  does: 'agrees' | 'denies' | 'page'
}

export interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The next user to sign in. */
  visitor: Visitor
  /** Answers every request with this status; null works normally. */
  broken: number | null
  /** Handles a request instead of the provider. Returns true if it did. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
  close(): Promise<void>
}

const CLIENT = { id: 'posthaste', secret: 'a-secret-of-the-provider-that-is-long-enough' }

/** @param redirectUris allowed redirect URIs; the list may grow until the first request */
export async function startIdentityProvider(redirectUris: string[]): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const state = {
    visitor: {
      subject: 'ada',
      claims: { email: 'ada@acme.example', email_verified: true },
      does: 'agrees',
    } as Visitor,
    broken: null as number | null,
    instead: null as IdentityProvider['instead'],
  }
  // Created on the first request, because the list may grow until then.
  let made: Provider | undefined
  const provider = () =>
    (made ??= new Provider(
      issuer,
      settings(redirectUris, () => state.visitor),
    ))
  server.on('request', (request, response) => {
    if (state.instead?.(request, response)) return
    if (state.broken !== null) response.writeHead(state.broken).end('broken')
    else if (request.url?.startsWith('/interaction/'))
      void interact(provider(), request, response, state.visitor)
    else void provider().callback()(request, response)
  })
  return Object.assign(state, {
    issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

function settings(redirectUris: string[], visitor: () => Visitor): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [privateKey.export({ format: 'jwk' })] as never },
    cookies: { keys: ['only for tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, subject) => ({
      accountId: subject,
      claims: () => Promise.resolve({ sub: subject, ...visitor().claims }),
    }),
    pkce: { required: () => true },
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      AccessToken: 600,
      IdToken: 600,
      AuthorizationCode: 60,
    },
  }
}

async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  visitor: Visitor,
): Promise<void> {
  if (visitor.does === 'page' && request.method === 'GET') {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(
      `<!doctype html><title>Provider</title><h1>Provider</h1><form method="post"><button>Continue as ${visitor.subject}</button></form>`,
    )
    return
  }
  const { params } = await provider.interactionDetails(request, response)
  if (visitor.does === 'denies') {
    const refusal = { error: 'access_denied', error_description: 'the person said no' }
    await provider.interactionFinished(request, response, refusal)
    return
  }
  const grant = new provider.Grant({ accountId: visitor.subject, clientId: String(params.client_id) })
  grant.addOIDCScope(String(params.scope))
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { login: { accountId: visitor.subject }, consent })
}

/** Follows redirects like a browser, with cookies per origin. Stops at the first URL for which `until` returns true. */
export async function browse(start: string, until: (url: URL) => boolean): Promise<URL> {
  const jar = new Map<string, Map<string, string>>()
  let url = new URL(start)
  for (let step = 0; step < 20; step++) {
    if (until(url)) return url
    const cookies = jar.get(url.origin) ?? new Map<string, string>()
    jar.set(url.origin, cookies)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${url.href} answered ${answer.status}: ${await answer.text()}`)
    url = new URL(location, url)
  }
  throw new Error('too many redirects')
}
