import { parseDomain } from '../../mail/domain.ts'
import { refuse } from '../../mail/refusals.ts'
import { dayOf } from '../../mail/tls-report.ts'
import { presentTlsPolicy, presentTlsResult } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import * as schema from '../schemas/tls.ts'

const DAYS = 7
const MOST_ROWS = 1000
const EXPECTED = 'a domain name such as example.com'

/** TLS towards recipient domains. Whom the machine sends to is everybody's: only those who run it see it. */
export function tlsRoutes(app: App, deps: HttpDeps): void {
  const { tlsPolicies, storage, clock } = deps
  const operator = requireOperator(deps)

  app.get(
    '/tls/policies/:domain',
    { preHandler: operator, schema: { response: { 200: schema.TlsPolicy } } },
    async (request) => {
      const domain = parseDomain((request.params as { domain: string }).domain)
      if (domain === undefined) throw refuse('invalid_parameter', { parameter: 'domain', expected: EXPECTED })
      return presentTlsPolicy(await tlsPolicies.view(domain))
    },
  )

  app.get(
    '/tls/results',
    { preHandler: operator, schema: { response: { 200: schema.TlsResultList } } },
    async (request) => {
      const { domain: given } = request.query as Record<string, unknown>
      const domain = typeof given === 'string' && given !== '' ? parseDomain(given) : undefined
      if (given !== undefined && given !== '' && domain === undefined)
        throw refuse('invalid_parameter', { parameter: 'domain', expected: EXPECTED })
      await tlsPolicies.flush()
      const now = clock.now()
      const since = dayOf(now - (DAYS - 1) * 86_400_000)
      const results = await storage.listTlsResults({ since, domain, limit: MOST_ROWS }, now)
      return presentList(results.map(presentTlsResult))
    },
  )
}
