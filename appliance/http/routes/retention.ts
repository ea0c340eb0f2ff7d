import * as erasing from '../../api/erasures.ts'
import { serve } from '../serve.ts'
import { presentPage } from '../../api/shared.ts'
import { getActor, getCaller, isOperator, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as api from '../../api/retention.ts'
import { readBodies } from '../audit-reads.ts'

/** Routes for retention periods, and for whether a domain's message bodies are stored. */
export function retentionRoutes(app: App, deps: HttpDeps): void {
  const { storage, senders, clock, retention } = deps
  const without = (teamId: string) => storage.domainsWithoutBodies({ teamId }, clock.now())

  serve(app, api.getRetention, {}, async (request) => {
    const disk = (await isOperator(request, deps)) ? await retention.disk() : null
    return api.presentRetention(retention.days, disk, await without(getCaller(request).teamId))
  })

  serve(app, api.getDomainBodies, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id, name } = await senders.getDomain({ teamId, id: request.params.id })
    const keep = !(await without(teamId)).includes(name)
    return { object: 'domain_bodies' as const, domain_id: id, keep }
  })

  const changed = { right: 'erase', audit: { action: 'domain.keep_bodies', read: readBodies(deps) } } as const
  serve(app, api.setBodyRetention, changed, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = await senders.getDomain({ teamId, id: request.params.id })
    const { keep } = request.body
    await storage.setKeepBodies({ teamId, domainId: id, keep }, clock.now())
    return { object: 'domain_bodies' as const, domain_id: id, keep }
  })
}

/** Routes to erase a person's data in the caller's own team, by address. */
export function erasureRoutes(app: App, { erasures, clock }: HttpDeps): void {
  serve(app, erasing.createErasure, { right: 'erase', audit: null, secretBody: true }, async (request) => {
    const { teamId } = getCaller(request)
    const { address, dry_run: dryRun = false } = request.body
    if (dryRun) return erasing.presentErasurePreview(await erasures.survey({ teamId, address }), clock.now())
    return erasing.presentErasure(await erasures.begin({ teamId, address, actor: getActor(request) }))
  })

  serve(app, erasing.listErasures, {}, async (request) => {
    const { teamId } = getCaller(request)
    return presentPage(await erasures.list({ ...request.query, teamId }), erasing.presentErasure)
  })

  serve(app, erasing.getErasure, {}, async (request) =>
    erasing.presentErasure(await erasures.get(getObjectRef(request))),
  )
}
