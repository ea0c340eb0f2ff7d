import * as api from '../../api/tls.ts'
import { serve } from '../serve.ts'
import { dayOf } from '../../mail/tls-report.ts'
import { presentList } from '../../api/shared.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'

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
