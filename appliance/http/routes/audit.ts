import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import type { AuditEntry, AuditFilter } from '../../storage/storage.ts'
import { AUDIT_COLUMNS, auditRecord, presentAuditEntry } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import { readAuditFilter } from '../audit-filter.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV, download, PAGE_ROWS } from '../download.ts'
import { isOperator } from '../operator.ts'
import { readId, readPage } from '../query.ts'
import * as schema from '../schemas/audit.ts'

/** What was done by the team and to what is its; for those who run the appliance, also what was done to the whole of it. */
export function auditRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps
  const config = { right: 'security' } as const
  const scope = async (request: FastifyRequest) => ({
    teamId: callerOf(request).teamId,
    appliance: await isOperator(request, deps),
  })

  app.get('/audit', { config, schema: { response: { 200: schema.AuditList } } }, async (request) => {
    const filter = readAuditFilter(request.query, ['limit', 'after', 'before'])
    const args = { ...filter, ...readPage(request.query), ...(await scope(request)) }
    const page = await storage.listAudit(args, clock.now())
    return presentList(page.items.map(presentAuditEntry), page.hasMore)
  })

  app.get('/audit/:id', { config, schema: { response: { 200: schema.AuditEntry } } }, async (request) => {
    const id = readId(request.params)
    const entry = await storage.getAudit({ id, ...(await scope(request)) }, clock.now())
    if (!entry) throw refuse('not_found', { resource: 'Audit entry' })
    return presentAuditEntry(entry)
  })

  app.get('/audit/export', { config }, async (request, reply) => {
    const format = readFormat(request.query)
    const filter = { ...readAuditFilter(request.query, ['format']), ...(await scope(request)) }
    const file = { name: `audit.${format}`, pages: allOf(deps, filter), ...FORMATS[format] }
    return download(request, reply, file, deps)
  })
}

const FORMATS = {
  csv: { type: CSV, head: AUDIT_COLUMNS, write: auditRecord },
  json: {
    type: 'application/json; charset=utf-8',
    head: '[\n',
    write: (entry: AuditEntry, at: number) =>
      (at === 0 ? '' : ',\n') + JSON.stringify(presentAuditEntry(entry)),
    tail: (count: number) => (count === 0 ? ']\n' : '\n]\n'),
  },
}

function readFormat(query: unknown): keyof typeof FORMATS {
  const { format = 'csv' } = query as { format?: unknown }
  if (format === 'csv' || format === 'json') return format
  throw refuse('invalid_parameter', { parameter: 'format', expected: 'csv or json' })
}

/** All that meets the conditions, newest first, read as the client takes it. */
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
