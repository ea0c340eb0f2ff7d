import * as api from '../../api/api-keys.ts'
import { serve } from '../serve.ts'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { paginateList, presentDeleted, presentRef, presentPage } from '../../api/shared.ts'
import { getCaller, requireRight } from '../access.ts'
import { readKey } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'

/** Routes for API keys. A key may delete itself, so that anyone who finds a leaked key can revoke it. */
export function apiKeyRoutes(app: App, { senders }: HttpDeps): void {
  const read = readKey({ senders })
  serve(app, api.createApiKey, { right: 'keys', audit: 'api_key.create' }, async (request) => {
    const { name, domain_id } = request.body
    const permission = request.body.permission?.toLowerCase()
    const domainId = domain_id === undefined || domain_id === '' ? null : domain_id
    if (domainId !== null && !isId(domainId)) throw refuse('invalid_id', { parameter: 'domain_id' })
    // A full-access key has an admin's rights, so only admins may create one. A developer could otherwise use a key to
    // gain these rights.
    if (permission !== 'sending_access') requireRight(request, 'operate')
    const { teamId } = getCaller(request)
    const { key, token } = await senders.createKey({
      teamId,
      name,
      domainId: domainId?.toLowerCase(),
      // Clients that write every field send null or an empty string for unset fields.
      permission: permission === '' ? undefined : permission,
    })
    return { object: 'api_key' as const, id: key.id, token }
  })

  serve(app, api.listApiKeys, {}, async (request) => {
    const page = paginateList(await senders.listKeys({ teamId: getCaller(request).teamId }), request.query)
    return presentPage(page, api.presentApiKey)
  })

  const renamed = { right: 'keys', audit: { action: 'api_key.update', read } } as const
  serve(app, api.renameApiKey, renamed, async (request) => {
    const id = request.params.id
    await senders.renameKey({ teamId: getCaller(request).teamId, id, name: request.body.name })
    return presentRef('api_key', id)
  })

  const deleted = { right: 'keys', audit: { action: 'api_key.delete', read } } as const
  serve(app, api.deleteApiKey, deleted, async (request) => {
    const id = request.params.id
    await senders.revokeKey({ teamId: getCaller(request).teamId, id })
    return presentDeleted('api_key', id)
  })
}
