import { presentDomain, presentDomainSummary, presentList } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { pageOf, readId } from '../query.ts'
import * as schema from '../schemas/domains.ts'

/** How long a caller waits for a verification, in milliseconds. It goes on; its result is read with GET. */
const PATIENCE = 5000

/** Sending domains and their DNS records. */
export function domainRoutes(app: App, { senders, clock, log }: HttpDeps): void {
  app.get('/domains', { schema: { response: { 200: schema.DomainList } } }, async (request) => {
    const page = pageOf(await senders.listDomains({ teamId: callerOf(request).teamId }), request.query)
    return presentList(page.items.map(presentDomainSummary), page.hasMore)
  })

  app.get('/domains/:id', { schema: { response: { 200: schema.Domain } } }, async (request) => {
    const domain = await senders.getDomain({ teamId: callerOf(request).teamId, id: readId(request.params) })
    return presentDomain(domain, await senders.expectedRecords(domain))
  })

  app.post('/domains/:id/verify', { schema: { response: { 200: schema.DomainRef } } }, async (request) => {
    const args = { teamId: callerOf(request).teamId, id: readId(request.params) }
    await senders.getDomain(args)
    const check = senders.verifyDomain(args)
    // When nobody waits any more, the log is the only place left to tell.
    check.catch((err: unknown) => log.warn({ err, domain_id: args.id }, 'verification of a domain failed'))
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(PATIENCE, resolve)
      check.then(() => resolve(), reject).finally(cancel)
    })
    return { object: 'domain' as const, id: args.id }
  })
}
