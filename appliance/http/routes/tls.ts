import * as api from '../../api/tls.ts'
import { serve } from '../serve.ts'
import { dayOf } from '../../mail/tls-report.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../access.ts'
import { refuse } from '../../mail/refusals.ts'
import * as certificatesApi from '../../api/certificates.ts'

const DAYS = 7
const MOST_ROWS = 1000

/** TLS towards recipient domains. Whom the machine sends to is everybody's: only those who run it see it. */
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
    const since = dayOf(now - (DAYS - 1) * 86_400_000)
    const results = await storage.listTlsResults({ since, domain, limit: MOST_ROWS }, now)
    return presentList(results.map(api.presentTlsResult))
  })
}

/** Where the answers stand. */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/'

/** @param answer to a token; undefined for one that we did not get from an authority */
export function acmeRoutes(app: App, answer: (token: string) => string | undefined): void {
  app.get(
    `${CHALLENGE_PATH}:token`,
    { config: { access: 'public', unmetered: true }, logLevel: 'warn' },
    async (request, reply) => {
      const found = answer((request.params as { token: string }).token)
      if (found === undefined) throw refuse('unknown_endpoint')
      return reply.type('application/octet-stream').send(found)
    },
  )
}

/** The certificates of the listeners: those who run the server see when they end. */
export function certificateRoutes(app: App, deps: HttpDeps): void {
  serve(app, certificatesApi.listCertificates, { preValidation: requireOperator(deps) }, async () =>
    presentList(((await deps.tls?.list()) ?? []).map(certificatesApi.presentCertificate)),
  )
}
