import { getSourceReputation, presentSourceReputation } from '../../api/reputation.ts'
import * as api from '../../api/sources.ts'
import { serve } from '../serve.ts'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { readAssignment, readSource } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { requireOperator } from '../access.ts'

/** Routes for sending IPs. They belong to the server, so only operators see and change them. */
export function sourceRoutes(app: App, deps: HttpDeps): void {
  const { sources, reputation, shaping } = deps
  const operator = requireOperator(deps)
  const read = readSource({ sources })

  serve(app, api.listSources, { preValidation: operator }, async () =>
    presentList((await sources.list()).map(api.presentSource)),
  )

  serve(
    app,
    api.createSource,
    {
      right: 'operate',
      audit: { action: 'source.create', noun: 'source', appliance: true },
      preValidation: operator,
    },
    async (request, reply) => {
      const { ip, pool, hostname, warm_up: warmUp } = request.body
      const added = await sources.add({ ip, pool, hostname, warmUp })
      void reply.code(201)
      return api.presentSource(added)
    },
  )

  serve(app, api.getSourceAddress, { preValidation: operator }, async (request) =>
    api.presentSource(await sources.get(request.params.ip)),
  )

  serve(app, getSourceReputation, { preValidation: operator }, async (request) => {
    const source = await sources.get(request.params.ip)
    const names = new Map((await shaping.providers()).map(({ id, name }) => [id, name]))
    return presentSourceReputation(await reputation.source(source, request.query.days), names)
  })

  serve(
    app,
    api.updateSource,
    {
      right: 'operate',
      audit: { action: 'source.update', noun: 'source', read, appliance: true },
      preValidation: operator,
    },
    async (request) => {
      const { pool, hostname, state, warm_up: warmUp } = request.body
      const suspended = state === undefined ? undefined : state === 'suspended'
      return api.presentSource(await sources.change(request.params.ip, { pool, hostname, suspended, warmUp }))
    },
  )

  serve(
    app,
    api.deleteSource,
    {
      right: 'operate',
      audit: { action: 'source.delete', noun: 'source', read, appliance: true },
      preValidation: operator,
    },
    async (request) => {
      const { ip } = await sources.remove(request.params.ip)
      return { object: 'source' as const, ip, deleted: true as const }
    },
  )

  assignmentRoutes(app, deps)
}

const removal = { action: 'pool_assignment.delete', noun: 'pool_assignment', appliance: true } as const

/** Routes for pool assignments, which determine the pool that mail is sent from. */
function assignmentRoutes(app: App, deps: HttpDeps): void {
  const { sources } = deps
  const operator = requireOperator(deps)

  serve(app, api.listPoolAssignments, { preValidation: operator }, async () =>
    presentList((await sources.assignments()).map(api.presentAssignment)),
  )

  serve(
    app,
    api.createPoolAssignment,
    {
      right: 'operate',
      audit: { action: 'pool_assignment.create', noun: 'pool_assignment', appliance: true },
      preValidation: operator,
    },
    async (request, reply) => {
      const { team_id, domain_id, stream, pool } = request.body
      const [teamId, domainId] = [readOwner('team_id', team_id), readOwner('domain_id', domain_id)]
      const assignment = await sources.assign({ teamId, domainId, stream, pool })
      void reply.code(201)
      return api.presentAssignment(assignment)
    },
  )

  serve(
    app,
    api.deletePoolAssignment,
    { right: 'operate', audit: { ...removal, read: readAssignment({ sources }) }, preValidation: operator },
    async (request) => {
      const id = request.params.id
      await sources.unassign(id)
      return presentDeleted('pool_assignment', id)
    },
  )
}

function readOwner(field: string, id: string | null | undefined): string | null {
  if (id === undefined || id === null) return null
  if (!isId(id)) throw refuse('invalid_field', { field, expected: 'it must be a UUID' })
  return id.toLowerCase()
}
