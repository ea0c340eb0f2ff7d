import * as api from '../../api/tls.ts'
import { serve } from '../serve.ts'
import { formatUtcDay } from '../../mail/tls-report.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../access.ts'
import { refuse } from '../../mail/refusals.ts'
import { POLICY_PATH } from '../../senders/senders.ts'
import * as certificatesApi from '../../api/certificates.ts'

const DAYS = 7
const MOST_ROWS = 1000

/**
 * Routes for TLS to recipient domains. They reveal the domains that all teams send to, so only operators may see them.
 */
export function tlsRoutes(app: App, deps: HttpDeps): void {
  const { tlsPolicies, storage, clock } = deps
  const operator = requireOperator(deps)

  serve(app, api.getTlsPolicy, { preValidation: operator }, async (request) => {
    return api.presentTlsPolicy(await tlsPolicies.view(request.params.domain))
  })

  serve(app, api.listTlsResults, { preValidation: operator }, async (request) => {
    const { domain } = request.query
    await tlsPolicies.flush()
    const now = clock.now()
    const since = formatUtcDay(now - (DAYS - 1) * 86_400_000)
    const results = await storage.listTlsResults({ since, domain, limit: MOST_ROWS }, now)
    return presentList(results.map(api.presentTlsResult))
  })
}

/** The path of http-01 responses (RFC 8555 §8.3). */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/'

/**
 * Adds the route of http-01 responses.
 * @param answer returns the response to a token; undefined for an unknown one
 */
export function acmeRoutes(app: App, answer: (token: string) => Promise<string | undefined>): void {
  app.get(
    `${CHALLENGE_PATH}:token`,
    { config: { access: 'public', unmetered: true }, logLevel: 'warn' },
    async (request, reply) => {
      const found = await answer((request.params as { token: string }).token)
      if (found === undefined) throw refuse('unknown_endpoint')
      return reply.type('application/octet-stream').send(found)
    },
  )
}

/**
 * The route of MTA-STS policies (RFC 8461 §3.3).
 * @param fileOf returns the policy of a host; null for a host without one
 */
export function policyRoutes(app: App, fileOf: (host: string) => string | null): void {
  app.get(
    POLICY_PATH,
    { config: { access: 'public', unmetered: true }, logLevel: 'warn' },
    async (request, reply) => {
      const found = fileOf(request.hostname)
      if (found === null) throw refuse('unknown_endpoint')
      return reply.type('text/plain; charset=utf-8').send(found)
    },
  )
}

/** Routes for the listeners' certificates, for operators. */
export function certificateRoutes(app: App, deps: HttpDeps): void {
  serve(app, certificatesApi.listCertificates, { preValidation: requireOperator(deps) }, async () =>
    presentList(((await deps.tls?.list()) ?? []).map(certificatesApi.presentCertificate)),
  )
}
