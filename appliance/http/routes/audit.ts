import * as api from '../../api/audit.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { AuditEntry, AuditFilter } from '../../storage/storage.ts'
import { presentPage } from '../../api/shared.ts'
import { getCaller, isOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload, PAGE_ROWS } from '../download.ts'

/**
 * Routes for the audit log: actions by the team and on its objects; for operators, also actions that concern the whole
 * server.
 */
export function auditRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps
  const config = { right: 'security' } as const
  const scope = async (request: FastifyRequest) => ({
    teamId: getCaller(request).teamId,
    appliance: await isOperator(request, deps),
  })

  serve(app, api.listAudit, config, async (request) => {
    const args = { ...request.query, ...(await scope(request)) }
    return presentPage(await storage.listAudit(args, clock.now()), api.presentAuditEntry)
  })

  serve(app, api.getAuditEntry, config, async (request) => {
    const id = request.params.id
    const entry = await storage.getAudit({ id, ...(await scope(request)) }, clock.now())
    if (!entry) throw refuse('not_found', { resource: 'Audit entry' })
    return api.presentAuditEntry(entry)
  })

  serve(app, api.exportAudit, config, async (request, reply) => {
    const { format, ...conditions } = request.query
    const filter = { ...conditions, ...(await scope(request)) }
    const file = { name: `audit.${format}`, pages: allOf(deps, filter), ...FORMATS[format] }
    return sendDownload(request, reply, file, deps)
  })
}

const FORMATS = {
  csv: { type: CSV_TYPE, head: api.AUDIT_CSV_HEADER, write: api.formatAuditRow },
  json: {
    type: 'application/json; charset=utf-8',
    head: '[\n',
    write: (entry: AuditEntry, at: number) =>
      (at === 0 ? '' : ',\n') + JSON.stringify(api.presentAuditEntry(entry)),
    tail: (count: number) => (count === 0 ? ']\n' : '\n]\n'),
  },
}

/** Yields all matching entries, newest first, as the client reads them. */
async function* allOf(
  { storage, clock }: Pick<HttpDeps, 'storage' | 'clock'>,
  filter: AuditFilter,
): AsyncGenerator<AuditEntry[]> {
  for (let after: string | undefined; ;) {
    const page = await storage.listAudit({ ...filter, limit: PAGE_ROWS, after }, clock.now())
    yield page.items
    if (!page.hasMore) return
    after = page.items.at(-1)?.id
  }
}
