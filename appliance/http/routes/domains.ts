import { presentDkimKey, rotateDkimKeys } from '../../api/dkim-keys.ts'
import * as api from '../../api/domains.ts'
import { serve } from '../serve.ts'
import type { Domain, DomainSettings } from '../../storage/storage.ts'
import { paginateList, presentDeleted, presentList, presentRef } from '../../api/shared.ts'
import { getCaller, getObjectRef } from '../access.ts'
import { readDkimKeys, readDomain } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as propagationApi from '../../api/propagation.ts'

/** Routes for sending domains, their DNS records and DKIM keys. */
export function domainRoutes(app: App, deps: HttpDeps): void {
  const { senders, sources } = deps
  // In parallel, because a storage call is mostly round-trip time.
  const present = async (domain: Domain) =>
    api.presentDomain(
      domain,
      ...(await Promise.all([senders.expectedRecords(domain), senders.dkimKeys(domain), sources.waysOut()])),
      senders.delegationZone(),
    )
  serve(app, api.createDomain, { audit: 'domain.create' }, async (request) => {
    const { name, region, custom_return_path: returnPath, ...rest } = request.body
    const { teamId } = getCaller(request)
    const domain = await senders.addDomain({
      teamId,
      name,
      region: unlessEmpty(region?.toLowerCase()),
      returnPath: unlessEmpty(returnPath),
      settings: settingsOf(rest),
    })
    return present(domain)
  })

  serve(app, api.listDomains, {}, async (request) => {
    const { teamId } = getCaller(request)
    const [all, ways] = await Promise.all([senders.listDomains({ teamId }), sources.waysOut()])
    const page = paginateList(all, request.query)
    const domains = page.items.map((domain) => api.presentListedDomain(domain, ways))
    return presentList(domains, page.hasMore)
  })

  serve(app, api.getDomain, {}, async (request) => {
    const domain = await senders.getDomain(getObjectRef(request))
    return present(domain)
  })

  changingRoutes(app, deps)
  actionRoutes(app, deps)
}

function changingRoutes(app: App, { senders }: HttpDeps): void {
  const read = readDomain({ senders })
  serve(app, api.updateDomain, { audit: { action: 'domain.update', read } }, async (request) => {
    const args = getObjectRef(request)
    await senders.updateDomain({ ...args, settings: settingsOf(request.body) })
    return presentRef('domain', args.id)
  })

  serve(app, api.deleteDomain, { audit: { action: 'domain.delete', read } }, async (request) => {
    const args = getObjectRef(request)
    await senders.removeDomain(args)
    return presentDeleted('domain', args.id)
  })
}

/** Routes for verification and new DKIM keys. */
function actionRoutes(app: App, { senders }: HttpDeps): void {
  const verified = { audit: { action: 'domain.verify', read: readDomain({ senders }) } } as const
  serve(app, api.verifyDomain, verified, async (request) => {
    const args = getObjectRef(request)
    await senders.requestVerification(args)
    return presentRef('domain', args.id)
  })

  const rotated = { audit: { action: 'domain.rotate_dkim', read: readDkimKeys({ senders }) } } as const
  serve(app, rotateDkimKeys, rotated, async (request) => {
    const args = getObjectRef(request)
    const domain = await senders.getDomain(args)
    const keys = await senders.rotateKeys(args)
    return {
      object: 'dkim_rotation' as const,
      domain_id: args.id,
      dkim_keys: keys.map((key) => presentDkimKey(domain, key)),
    }
  })
}

/** Maps null and an empty string to undefined, because clients that write every field send these for none. */
const unlessEmpty = (text: string | null | undefined) => (text === null || text === '' ? undefined : text)

/** Returns the settings in a body. Null means no change, but removes the tracking subdomain. */
function settingsOf(body: api.UpdateDomain): Partial<DomainSettings> {
  const enabled = (ability: 'enabled' | 'disabled' | null | undefined) =>
    ability ? ability === 'enabled' : undefined
  const given = {
    tls: body.tls ?? undefined,
    sending: enabled(body.capabilities?.sending),
    receiving: enabled(body.capabilities?.receiving),
    openTracking: body.open_tracking ?? undefined,
    clickTracking: body.click_tracking ?? undefined,
    delegation: body.delegation ?? undefined,
    // Clients that write every field send an empty string for none.
    trackingSubdomain: body.tracking_subdomain === '' ? null : body.tracking_subdomain,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Route GET /domains/:id/propagation: what every authoritative server of the domain's zone answers now. */
export function propagationRoutes(app: App, { senders, propagation }: HttpDeps): void {
  serve(app, propagationApi.getDomainPropagation, {}, async (request) => {
    const args = getObjectRef(request)
    const domain = await senders.getDomain(args)
    return propagationApi.presentPropagation(domain.id, await propagation.look(domain))
  })
}
