import * as api from '../../api/broadcast-versions.ts'
import { presentRef, presentPage } from '../../api/shared.ts'
import { getAuthorName, getObjectRef } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import { createBroadcastReader } from './broadcasts.ts'

/** Routes for the versions of drafts of broadcasts. */
export function broadcastVersionRoutes(app: App, deps: HttpDeps): void {
  const { broadcasts } = deps
  serve(app, api.listBroadcastVersions, {}, async (request) => {
    const page = await broadcasts.listBroadcastVersions({ ...getObjectRef(request), ...request.query })
    return presentPage(page, api.presentBroadcastVersionSummary)
  })
  serve(app, api.getBroadcastVersion, {}, async (request) => {
    const { version_id: version } = request.params
    return api.presentBroadcastVersion(
      await broadcasts.getBroadcastVersion({ ...getObjectRef(request), version }),
    )
  })
  const audit = { action: 'broadcast.update', read: createBroadcastReader(deps) } as const
  serve(app, api.restoreBroadcastVersion, { right: 'send', audit }, async (request) => {
    const { version_id: version } = request.params
    const about = { version, author: getAuthorName(request), edits: request.body?.edits }
    await broadcasts.restoreBroadcastVersion({ ...getObjectRef(request), ...about })
    return presentRef('broadcast', request.params.id)
  })
}
