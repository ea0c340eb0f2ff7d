import type { FastifyRequest } from 'fastify'
import { SUPPRESSION_ORIGINS } from '../../mail/suppression.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Suppression } from '../../storage/storage.ts'
import {
  presentSuppression,
  presentSuppressionImport,
  SUPPRESSION_COLUMNS,
  suppressionRecord,
} from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV, download } from '../download.ts'
import { readPage } from '../query.ts'
import * as schema from '../schemas/suppressions.ts'

const MOST_AT_ONCE = 100

const isPreview = ({ body }: FastifyRequest): boolean => (body as { preview?: boolean }).preview === true

/** The addresses that a team does not send to. */
export function suppressionRoutes(app: App, deps: HttpDeps): void {
  const { senders } = deps
  app.post(
    '/suppressions',
    {
      config: { audit: { action: 'suppression.create', noun: 'suppression', personal: true } },
      schema: { body: schema.CreateSuppression, response: { 201: schema.SuppressionRef } },
    },
    async (request, reply) => {
      const { teamId } = callerOf(request)
      const [added] = await senders.suppress({ teamId, emails: [request.body.email], field: 'email' })
      void reply.code(201)
      return reference(added!)
    },
  )

  app.get('/suppressions', { schema: { response: { 200: schema.SuppressionList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const page = await senders.listSuppressions({
      ...{ teamId, ...readPage(request.query), ...readFilter(request.query) },
    })
    return presentList(page.items.map(presentSuppression), page.hasMore)
  })

  csvRoutes(app, deps)

  batchRoutes(app, senders)

  app.get('/suppressions/:id', { schema: { response: { 200: schema.Suppression } } }, async (request) =>
    presentSuppression(
      await senders.getSuppression({ teamId: callerOf(request).teamId, idOrEmail: idOf(request.params) }),
    ),
  )

  app.delete(
    '/suppressions/:id',
    {
      config: { audit: { action: 'suppression.delete', noun: 'suppression', personal: true } },
      schema: { response: { 200: schema.SuppressionDeleted } },
    },
    async (request) =>
      deletion(
        await senders.unsuppress({ teamId: callerOf(request).teamId, idOrEmail: idOf(request.params) }),
      ),
  )
}

/** The list as a file. */
function csvRoutes(app: App, deps: HttpDeps): void {
  const { senders } = deps
  app.get('/suppressions/export', (request, reply) => {
    const { teamId } = callerOf(request)
    const pages = senders.allSuppressions({ teamId, ...readFilter(request.query) })
    const columns = { head: SUPPRESSION_COLUMNS, write: suppressionRecord }
    return download(request, reply, { name: 'suppressions.csv', type: CSV, pages, ...columns }, deps)
  })

  app.post(
    '/suppressions/import',
    {
      config: {
        audit: { action: 'suppression.import', noun: 'suppression', personal: true, looks: isPreview },
      },
      schema: { body: schema.ImportSuppressions, response: { 200: schema.SuppressionImport } },
    },
    async (request) => {
      const { csv, origin = 'manual', preview = false } = request.body
      const { teamId } = callerOf(request)
      return presentSuppressionImport(
        await senders.importSuppressions({ teamId, csv, origin, preview }),
        preview,
      )
    },
  )
}

/** Up to a hundred at once. */
function batchRoutes(app: App, senders: HttpDeps['senders']): void {
  app.post(
    '/suppressions/batch/add',
    {
      config: { audit: { action: 'suppression.create', noun: 'suppression', personal: true } },
      schema: { body: schema.AddSuppressions, response: { 201: schema.SuppressionsAdded } },
    },
    async (request, reply) => {
      const emails = readMany('emails', request.body.emails)
      const added = await senders.suppress({ teamId: callerOf(request).teamId, emails, field: 'emails' })
      void reply.code(201)
      return { object: 'list' as const, data: added.map(reference) }
    },
  )

  app.post(
    '/suppressions/batch/remove',
    {
      config: { audit: { action: 'suppression.delete', noun: 'suppression', personal: true } },
      schema: { body: schema.RemoveSuppressions, response: { 200: schema.SuppressionsRemoved } },
    },
    async (request) => {
      const { emails = null, ids = null } = request.body
      if (emails && ids)
        throw refuse('invalid_field', { field: 'emails', expected: 'either `emails` or `ids`, not both' })
      const idsOrEmails = ids ? readMany('ids', ids) : readMany('emails', emails)
      const removed = await senders.unsuppressAll({ teamId: callerOf(request).teamId, idsOrEmails })
      return { object: 'list' as const, data: removed.map(deletion) }
    },
  )
}

const idOf = (params: unknown): string => (params as { id: string }).id
const reference = ({ id }: Suppression) => ({ object: 'suppression' as const, id })
const deletion = (one: Suppression) => ({ ...reference(one), deleted: true as const })

function readOrigin(value: unknown): Suppression['origin'] | undefined {
  if (value === undefined || value === '') return undefined
  const word = typeof value === 'string' ? value.toLowerCase() : value
  const origin = SUPPRESSION_ORIGINS.find((one) => one === word)
  if (!origin)
    throw refuse('invalid_parameter', {
      parameter: 'origin',
      expected: `one of ${SUPPRESSION_ORIGINS.join(', ')}`,
    })
  return origin
}

/** Longest part of an address that is sought. */
const MAX_SEARCH = 254

function readFilter(query: unknown): { origin?: Suppression['origin']; search?: string } {
  const { origin: given, search } = query as Record<string, unknown>
  const origin = readOrigin(given)
  if (search !== undefined && (typeof search !== 'string' || search.length > MAX_SEARCH))
    throw refuse('invalid_parameter', {
      parameter: 'search',
      expected: `a single string of at most ${MAX_SEARCH} characters`,
    })
  if (search?.includes('\0'))
    throw refuse('invalid_parameter', { parameter: 'search', expected: 'text without NUL characters' })
  return { ...(origin && { origin }), ...(search && { search }) }
}

function readMany(field: string, values: string[] | null): string[] {
  if (!values) throw refuse('missing_field', { field })
  if (values.length < 1 || values.length > MOST_AT_ONCE)
    throw refuse('invalid_field', { field, expected: `1 to ${MOST_AT_ONCE} at a time` })
  return values
}
