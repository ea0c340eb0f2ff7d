import * as api from '../../api/suppressions.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { Suppression } from '../../storage/storage.ts'
import { presentList, presentRef, presentPage } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload } from '../download.ts'

const MOST_AT_ONCE = 100

const isPreview = ({ body }: FastifyRequest): boolean => (body as { preview?: boolean }).preview === true

/** Routes for the suppression list. */
export function suppressionRoutes(app: App, deps: HttpDeps): void {
  const { senders } = deps
  const created = { audit: { action: 'suppression.create', personal: true } } as const
  serve(app, api.createSuppression, created, async (request) => {
    const { teamId } = getCaller(request)
    const [added] = await senders.suppress({ teamId, emails: [request.body.email], field: 'email' })
    return reference(added!)
  })

  serve(app, api.listSuppressions, {}, async (request) => {
    const { teamId } = getCaller(request)
    const page = await senders.listSuppressions({
      teamId,
      ...request.query,
    })
    return presentPage(page, api.presentSuppression)
  })

  csvRoutes(app, deps)

  batchRoutes(app, senders)

  serve(app, api.getSuppression, {}, async (request) =>
    api.presentSuppression(
      await senders.getSuppression({ teamId: getCaller(request).teamId, idOrEmail: request.params.id }),
    ),
  )

  serve(
    app,
    api.deleteSuppression,
    { audit: { action: 'suppression.delete', personal: true } },
    async (request) =>
      deletion(await senders.unsuppress({ teamId: getCaller(request).teamId, idOrEmail: request.params.id })),
  )
}

/** Routes to export and import the list as CSV. */
function csvRoutes(app: App, deps: HttpDeps): void {
  const { senders } = deps
  serve(app, api.exportSuppressions, {}, (request, reply) => {
    const pages = senders.allSuppressions({ teamId: getCaller(request).teamId, ...request.query })
    const columns = { head: api.SUPPRESSION_CSV_HEADER, write: api.formatSuppressionRow }
    return sendDownload(request, reply, { name: 'suppressions.csv', type: CSV_TYPE, pages, ...columns }, deps)
  })

  const imported = { audit: { action: 'suppression.import', personal: true, looks: isPreview } } as const
  serve(app, api.importSuppressions, imported, async (request) => {
    const { csv, origin = 'manual', preview = false } = request.body
    const { teamId } = getCaller(request)
    return api.presentSuppressionImport(
      await senders.importSuppressions({ teamId, csv, origin, preview }),
      preview,
    )
  })
}

/** Routes for up to a hundred entries per request. */
function batchRoutes(app: App, senders: HttpDeps['senders']): void {
  serve(
    app,
    api.addSuppressions,
    { audit: { action: 'suppression.create', personal: true } },
    async (request) => {
      const emails = readMany('emails', request.body.emails)
      const added = await senders.suppress({ teamId: getCaller(request).teamId, emails, field: 'emails' })
      return presentList(added.map(reference))
    },
  )

  serve(
    app,
    api.removeSuppressions,
    { audit: { action: 'suppression.delete', personal: true } },
    async (request) => {
      const { emails = null, ids = null } = request.body
      if (emails && ids)
        throw refuse('invalid_field', { field: 'emails', expected: 'either `emails` or `ids`, not both' })
      const idsOrEmails = ids ? readMany('ids', ids) : readMany('emails', emails)
      const removed = await senders.unsuppressAll({ teamId: getCaller(request).teamId, idsOrEmails })
      return presentList(removed.map(deletion))
    },
  )
}

const reference = ({ id }: Suppression) => presentRef('suppression', id)
const deletion = (one: Suppression) => ({ ...reference(one), deleted: true as const })

function readMany(field: string, values: string[] | null): string[] {
  if (!values) throw refuse('missing_field', { field })
  if (values.length < 1 || values.length > MOST_AT_ONCE)
    throw refuse('invalid_field', { field, expected: `1 to ${MOST_AT_ONCE} at a time` })
  return values
}
