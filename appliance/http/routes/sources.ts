import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentAssignment, presentSource } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { readAssignment, readSource } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../operator.ts'
import { readId } from '../query.ts'
import * as schema from '../schemas/sources.ts'

const ipOf = (params: unknown): string => (params as { ip: string }).ip

/** The addresses that mail leaves from. They are the appliance's: only those who run it see and change them. */
export function sourceRoutes(app: App, deps: HttpDeps): void {
  const { sources } = deps
  const operator = requireOperator(deps)
  const read = readSource({ sources })

  app.get('/sources', { preHandler: operator, schema: { response: { 200: schema.SourceList } } }, async () =>
    presentList((await sources.list()).map(presentSource)),
  )

  app.post(
    '/sources',
    {
      config: { right: 'operate', audit: { action: 'source.create', noun: 'source', appliance: true } },
      preHandler: operator,
      schema: { body: schema.CreateSource, response: { 201: schema.Source } },
    },
    async (request, reply) => {
      const { ip, pool, hostname, warm_up: warmUp } = request.body
      const added = await sources.add({ ip, pool, hostname, warmUp })
      void reply.code(201)
      return presentSource(added)
    },
  )

  app.get(
    '/sources/:ip',
    { preHandler: operator, schema: { response: { 200: schema.Source } } },
    async (request) => presentSource(await sources.get(ipOf(request.params))),
  )

  app.patch(
    '/sources/:ip',
    {
      config: { right: 'operate', audit: { action: 'source.update', noun: 'source', read, appliance: true } },
      preHandler: operator,
      schema: { body: schema.UpdateSource, response: { 200: schema.Source } },
    },
    async (request) => {
      const { pool, hostname, state, warm_up: warmUp } = request.body
      const suspended = state === undefined ? undefined : state === 'suspended'
      return presentSource(await sources.change(ipOf(request.params), { pool, hostname, suspended, warmUp }))
    },
  )

  app.delete(
    '/sources/:ip',
    {
      config: { right: 'operate', audit: { action: 'source.delete', noun: 'source', read, appliance: true } },
      preHandler: operator,
      schema: { response: { 200: schema.SourceDeleted } },
    },
    async (request) => {
      const { ip } = await sources.remove(ipOf(request.params))
      return { object: 'source' as const, ip, deleted: true as const }
    },
  )

  assignmentRoutes(app, deps)
}

const removal = { action: 'pool_assignment.delete', noun: 'pool_assignment', appliance: true } as const

/** Which mail goes through which pool. */
function assignmentRoutes(app: App, deps: HttpDeps): void {
  const { sources } = deps
  const operator = requireOperator(deps)

  app.get(
    '/sources/assignments',
    { preHandler: operator, schema: { response: { 200: schema.PoolAssignmentList } } },
    async () => presentList((await sources.assignments()).map(presentAssignment)),
  )

  app.post(
    '/sources/assignments',
    {
      config: {
        right: 'operate',
        audit: { action: 'pool_assignment.create', noun: 'pool_assignment', appliance: true },
      },
      preHandler: operator,
      schema: { body: schema.CreatePoolAssignment, response: { 201: schema.PoolAssignment } },
    },
    async (request, reply) => {
      const { team_id, domain_id, stream, pool } = request.body
      const [teamId, domainId] = [readOwner('team_id', team_id), readOwner('domain_id', domain_id)]
      const assignment = await sources.assign({ teamId, domainId, stream, pool })
      void reply.code(201)
      return presentAssignment(assignment)
    },
  )

  app.delete(
    '/sources/assignments/:id',
    {
      config: {
        right: 'operate',
        audit: { ...removal, read: readAssignment({ sources }) },
      },
      preHandler: operator,
      schema: { response: { 200: schema.PoolAssignmentDeleted } },
    },
    async (request) => {
      const id = readId(request.params)
      await sources.unassign(id)
      return { object: 'pool_assignment' as const, id, deleted: true as const }
    },
  )
}

function readOwner(field: string, id: string | null | undefined): string | null {
  if (id === undefined || id === null) return null
  if (!isId(id)) throw refuse('invalid_field', { field, expected: 'it must be a UUID' })
  return id.toLowerCase()
}
