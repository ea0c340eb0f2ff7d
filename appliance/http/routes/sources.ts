import { getSourceReputation, presentSourceReputation } from '../../api/reputation.ts'
import * as api from '../../api/sources.ts'
import { serve } from '../serve.ts'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { readAssignment, readPool, readSource } from '../audit-reads.ts'
import { createOperatorOptions } from '../audited.ts'
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

  serve(app, api.createSource, createOperatorOptions(deps, 'source.create'), async (request) => {
    const { ip, pool, hostname, warm_up: warmUp } = request.body
    const added = await sources.add({ ip, pool, hostname, warmUp })
    return api.presentSource(added)
  })

  serve(app, api.getSourceAddress, { preValidation: operator }, async (request) =>
    api.presentSource(await sources.get(request.params.ip)),
  )

  serve(app, getSourceReputation, { preValidation: operator }, async (request) => {
    const source = await sources.get(request.params.ip)
    const names = new Map((await shaping.providers()).map(({ id, name }) => [id, name]))
    return presentSourceReputation(await reputation.source(source, request.query.days), names)
  })

  serve(app, api.updateSource, createOperatorOptions(deps, 'source.update', read), async (request) => {
    const { pool, hostname, state, warm_up: warmUp } = request.body
    const suspended = state === undefined ? undefined : state === 'suspended'
    return api.presentSource(await sources.change(request.params.ip, { pool, hostname, suspended, warmUp }))
  })

  serve(app, api.deleteSource, createOperatorOptions(deps, 'source.delete', read), async (request) => {
    const { ip } = await sources.remove(request.params.ip)
    return { object: 'source' as const, ip, deleted: true as const }
  })

  poolRoutes(app, deps)
  assignmentRoutes(app, deps)
}

/** Routes for pools and the regions that they are in. */
function poolRoutes(app: App, deps: HttpDeps): void {
  const { sources } = deps
  const operator = requireOperator(deps)

  serve(app, api.listPools, { preValidation: operator }, async () =>
    presentList((await sources.pools()).map(api.presentPool)),
  )

  const updated = createOperatorOptions(deps, 'pool.update', readPool({ sources }))
  serve(app, api.updatePool, updated, async (request) =>
    api.presentPool(await sources.setPoolRegion(request.params.pool, request.body.region)),
  )
}

/** Routes for pool assignments, which determine the pool that mail is sent from. */
function assignmentRoutes(app: App, deps: HttpDeps): void {
  const { sources } = deps
  const operator = requireOperator(deps)

  serve(app, api.listPoolAssignments, { preValidation: operator }, async () =>
    presentList((await sources.assignments()).map(api.presentAssignment)),
  )

  const created = createOperatorOptions(deps, 'pool_assignment.create')
  serve(app, api.createPoolAssignment, created, async (request) => {
    const { team_id, domain_id, stream, pool } = request.body
    const [teamId, domainId] = [readOwner('team_id', team_id), readOwner('domain_id', domain_id)]
    const assignment = await sources.assign({ teamId, domainId, stream, pool })
    return api.presentAssignment(assignment)
  })

  const deleted = createOperatorOptions(deps, 'pool_assignment.delete', readAssignment({ sources }))
  serve(app, api.deletePoolAssignment, deleted, async (request) => {
    const id = request.params.id
    await sources.unassign(id)
    return presentDeleted('pool_assignment', id)
  })
}

function readOwner(field: string, id: string | null | undefined): string | null {
  if (id === undefined || id === null) return null
  if (!isId(id)) throw refuse('invalid_field', { field, expected: 'it must be a UUID' })
  return id.toLowerCase()
}
