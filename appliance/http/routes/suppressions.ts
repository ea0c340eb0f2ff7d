import { SUPPRESSION_ORIGINS } from '../../mail/suppression.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Suppression } from '../../storage/storage.ts'
import { presentList, presentSuppression } from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readPage } from '../query.ts'
import * as schema from '../schemas/suppressions.ts'

const MOST_AT_ONCE = 100

/** The addresses that a team does not send to. */
export function suppressionRoutes(app: App, { senders }: HttpDeps): void {
  app.post(
    '/suppressions',
    { schema: { body: schema.CreateSuppression, response: { 201: schema.SuppressionRef } } },
    async (request, reply) => {
      const { teamId } = callerOf(request)
      const [added] = await senders.suppress({ teamId, emails: [request.body.email], field: 'email' })
      void reply.code(201)
      return reference(added!)
    },
  )

  app.get('/suppressions', { schema: { response: { 200: schema.SuppressionList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const origin = readOrigin((request.query as Record<string, unknown>).origin)
    const page = await senders.listSuppressions({ teamId, ...readPage(request.query), origin })
    return presentList(page.items.map(presentSuppression), page.hasMore)
  })

  app.post(
    '/suppressions/batch/add',
    { schema: { body: schema.AddSuppressions, response: { 201: schema.SuppressionsAdded } } },
    async (request, reply) => {
      const emails = readMany('emails', request.body.emails)
      const added = await senders.suppress({ teamId: callerOf(request).teamId, emails, field: 'emails' })
      void reply.code(201)
      return { object: 'list' as const, data: added.map(reference) }
    },
  )

  app.post(
    '/suppressions/batch/remove',
    { schema: { body: schema.RemoveSuppressions, response: { 200: schema.SuppressionsRemoved } } },
    async (request) => {
      const { emails, ids } = request.body
      if (emails !== undefined && ids !== undefined)
        throw refuse('invalid_field', { field: 'emails', expected: 'either `emails` or `ids`, not both' })
      if (emails === undefined && ids === undefined) throw refuse('missing_field', { field: 'emails' })
      const idsOrEmails = readMany(ids === undefined ? 'emails' : 'ids', ids ?? emails!)
      const removed = await senders.unsuppressAll({ teamId: callerOf(request).teamId, idsOrEmails })
      return { object: 'list' as const, data: removed.map(deletion) }
    },
  )

  app.get('/suppressions/:id', { schema: { response: { 200: schema.Suppression } } }, async (request) =>
    presentSuppression(
      await senders.getSuppression({ teamId: callerOf(request).teamId, idOrEmail: idOf(request.params) }),
    ),
  )

  app.delete(
    '/suppressions/:id',
    { schema: { response: { 200: schema.SuppressionDeleted } } },
    async (request) =>
      deletion(
        await senders.unsuppress({ teamId: callerOf(request).teamId, idOrEmail: idOf(request.params) }),
      ),
  )
}

const idOf = (params: unknown): string => (params as { id: string }).id
const reference = ({ id }: Suppression) => ({ object: 'suppression' as const, id })
const deletion = (one: Suppression) => ({ ...reference(one), deleted: true as const })

function readOrigin(value: unknown): Suppression['origin'] | undefined {
  if (value === undefined || value === '') return undefined
  const origin = SUPPRESSION_ORIGINS.find((one) => one === value)
  if (!origin)
    throw refuse('invalid_parameter', {
      parameter: 'origin',
      expected: `one of ${SUPPRESSION_ORIGINS.join(', ')}`,
    })
  return origin
}

function readMany(field: string, values: string[]): string[] {
  if (values.length < 1 || values.length > MOST_AT_ONCE)
    throw refuse('invalid_field', { field, expected: `from 1 to ${MOST_AT_ONCE} of them at once` })
  return values
}
