import * as api from '../../api/queue.ts'
import * as changes from '../../api/queue-changes.ts'
import { serve } from '../serve.ts'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../../mail/refusals.ts'
import { matchesEverything, parseQueueFilter } from '../../queue/queue.ts'
import type { Delivery, QueueFilter } from '../../storage/storage.ts'
import { presentDelivery } from '../../api/timeline.ts'
import { presentList } from '../../api/shared.ts'
import { getActor, getCaller, isOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { parseId } from '../../api/parameters.ts'
import { QUEUE_ACTIONS, type QueueAction } from '../../mail/queue.ts'

/** Routes for the queue, operators' actions on it, and their history. */
export function queueRoutes(app: App, deps: HttpDeps): void {
  const scope = createScope(deps)
  const present = async (deliveries: Delivery[]) => {
    const waiting = await deps.shaping.explain(deliveries)
    return deliveries.map((one, at) => presentDelivery(one, waiting[at]))
  }
  readingRoutes(app, deps, { scope, present })
  changingRoutes(app, deps, { scope, present })
}

/** The mail that a request is about. */
interface Scope {
  filter: QueueFilter
  /** The team that acts on its own mail; undefined for operators. */
  tenant: string | undefined
}

interface Parts {
  scope: (request: FastifyRequest, given: object, called?: (name: string) => string) => Promise<Scope>
  present: (deliveries: Delivery[]) => Promise<ReturnType<typeof presentDelivery>[]>
}

const inFilter = (name: string): string => `filter.${name}`

/**
 * Creates the parser of filters. By default, a filter covers the caller's own mail; only operators may access that of
 * other teams.
 */
function createScope(deps: HttpDeps): Parts['scope'] {
  return async (request, given, called) => {
    const { teamId } = getCaller(request)
    const { filter, team = teamId } = parseQueueFilter(given, deps.clock.now(), called)
    const operator = await isOperator(request, deps)
    if (team !== teamId && !operator) throw refuse('queue_not_operator')
    return {
      filter: { ...filter, teamId: team === 'all' ? undefined : team },
      tenant: operator ? undefined : teamId,
    }
  }
}

function readingRoutes(app: App, { queue, shaping }: HttpDeps, { scope, present }: Parts): void {
  serve(app, api.listQueue, {}, async (request) => {
    const { limit, after, before: _before, ...given } = request.query
    const { filter } = await scope(request, given)
    const { items, hasMore } = await queue.list(filter, { limit, after })
    return presentList(await present(items), hasMore)
  })

  serve(app, api.getQueueSummary, {}, async (request) => {
    const { filter } = await scope(request, request.query)
    return api.presentQueueSummary(await queue.summary(filter))
  })

  serve(app, api.listQueueLanes, {}, async (request) => {
    const { filter, tenant } = await scope(request, request.query)
    const operator = tenant === undefined
    const { teamId: _team, ...conditions } = filter
    const rows = await shaping.backlog(await queue.lanes(filter), operator && matchesEverything(conditions))
    return presentList(rows.map((row) => api.presentQueueLane(row, operator)))
  })

  serve(app, changes.listHoldRules, {}, async (request) => {
    const { tenant } = await scope(request, {})
    return presentList((await queue.rules({ teamId: tenant })).map(changes.presentHoldRule))
  })

  serve(app, api.getQueuedDelivery, {}, async (request) => {
    const { id } = request.params
    const { tenant } = await scope(request, {})
    const found = await queue.get({ id, teamId: tenant })
    if (!found) throw refuse('not_found', { resource: 'Queued delivery' })
    return (await present([found]))[0]!
  })
}

const CHANGES = {
  hold: changes.holdQueue,
  release: changes.releaseQueue,
  retry: changes.retryQueue,
  reroute: changes.rerouteQueue,
  expire: changes.expireQueue,
  drop: changes.dropQueue,
} satisfies Record<QueueAction, unknown>

function changingRoutes(app: App, { queue }: HttpDeps, { scope, present }: Parts): void {
  serve(app, changes.previewQueueChange, { right: 'view', audit: null }, async (request) => {
    const { action, filter: given = {}, pool, all, new: keep } = request.body
    const whose = await scope(request, given, inFilter)
    const preview = await queue.preview({ action, ...whose, pool, all, keep })
    return changes.presentQueuePreview(action, preview, await present(preview.sample))
  })

  for (const action of QUEUE_ACTIONS)
    serve(app, CHANGES[action], { right: 'operate', audit: null }, async (request) => {
      const { filter: given = {}, pool, all, new: keep, expected_count: expectedCount } = request.body
      const whose = await scope(request, given, inFilter)
      // Pools belong to the server, and their IPs have the reputation of everyone who uses them.
      if (action === 'reroute' && whose.tenant !== undefined) throw refuse('queue_not_operator')
      return changes.presentQueueChange(
        await queue.act({ action, ...whose, pool, all, keep, expectedCount }, getActor(request)),
      )
    })

  serve(app, changes.undoQueueChange, { right: 'operate', audit: null }, async (request) => {
    const auditId = parseId(request.body.audit_id, 'id')
    const { tenant } = await scope(request, {})
    return changes.presentQueueChange(await queue.undo({ auditId, teamId: tenant }, getActor(request)))
  })
}
