import * as api from '../../api/archive.ts'
import type { ArchiveInput } from '../../archive/archive.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for the settings of the team's public archive. */
export function archiveRoutes(app: App, { archive }: Pick<HttpDeps, 'archive'>): void {
  const read = async (teamId: string) => api.presentArchive(await archive.get({ teamId }))
  serve(app, api.getArchive, {}, (request) => read(getCaller(request).teamId))
  serve(
    app,
    api.updateArchive,
    {
      audit: {
        action: 'archive.update',
        read: (request) => read(getCaller(request).teamId),
      },
    },
    async (request) => {
      const { teamId } = getCaller(request)
      return api.presentArchive(await archive.update({ teamId, input: inputOf(request.body) }))
    },
  )
}

/** Converts a body; absent fields stay unchanged. Typed clients send "" for unset fields. */
const inputOf = (body: api.UpdateArchive): ArchiveInput => ({
  status: body.status,
  slug: body.slug,
  title: body.title,
  description: body.description,
  domain: body.domain === '' ? null : body.domain,
  formId: body.form_id === '' ? null : body.form_id,
  indexed: body.indexed,
})
