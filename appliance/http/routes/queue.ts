import type { FastifyRequest } from 'fastify'
import { QUEUE_ACTIONS } from '../../mail/queue-action.ts'
import { refuse } from '../../mail/refusals.ts'
import { isEverything, readQueueFilter } from '../../spool/queue.ts'
import type { Delivery, QueueFilter } from '../../storage/storage.ts'
import {
  presentDelivery,
  presentHoldRule,
  presentQueueChange,
  presentQueueLane,
  presentQueuePreview,
  presentQueueSummary,
} from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { actorOf, callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { isOperator } from '../operator.ts'
import { readId, readPage } from '../query.ts'
import * as schema from '../schemas/queue.ts'
import { Delivery as DeliverySchema } from '../../api/timeline.ts'

/** What waits, and the operator's hand on it; then what was done. */
export function queueRoutes(app: App, deps: HttpDeps): void {
  const scope = createScope(deps)
  const present = async (deliveries: Delivery[]) => {
    const waiting = await deps.shaping.explain(deliveries)
    return deliveries.map((one, at) => presentDelivery(one, waiting[at]))
  }
  readingRoutes(app, deps, { scope, present })
  changingRoutes(app, deps, { scope, present })
}

/** Whose mail a request is about. */
interface Scope {
  filter: QueueFilter
  /** The team that acts upon its own mail; undefined: the operator. */
  tenant: string | undefined
}

interface Parts {
  scope: (request: FastifyRequest, given: object, called?: (name: string) => string) => Promise<Scope>
  present: (deliveries: Delivery[]) => Promise<ReturnType<typeof presentDelivery>[]>
}

const inFilter = (name: string): string => `filter.${name}`

/** Reads a filter. Without a word of whose mail, it is the caller's own; other teams' mail is the operator's business. */
function createScope(deps: HttpDeps): Parts['scope'] {
  return async (request, given, called) => {
    const { teamId } = callerOf(request)
    const { filter, team = teamId } = readQueueFilter(given, deps.clock.now(), called)
    const operator = await isOperator(request, deps)
    if (team !== teamId && !operator) throw refuse('queue_not_operator')
    return {
      filter: { ...filter, teamId: team === 'all' ? undefined : team },
      tenant: operator ? undefined : teamId,
    }
  }
}

function readingRoutes(app: App, { queue, shaping }: HttpDeps, { scope, present }: Parts): void {
  app.get('/queue', { schema: { response: { 200: schema.QueueList } } }, async (request) => {
    const { limit: _limit, after: _after, before, ...given } = request.query as Record<string, unknown>
    if (before !== undefined)
      throw refuse('invalid_parameter', {
        parameter: 'before',
        expected: 'this list pages only forward, with `after`',
      })
    const { limit, after } = readPage(request.query)
    const { filter } = await scope(request, given)
    const { items, hasMore } = await queue.list(filter, { limit, after })
    return presentList(await present(items), hasMore)
  })

  app.get('/queue/summary', { schema: { response: { 200: schema.QueueSummary } } }, async (request) => {
    const { filter } = await scope(request, request.query as object)
    return presentQueueSummary(await queue.summary(filter))
  })

  app.get('/queue/lanes', { schema: { response: { 200: schema.QueueLaneList } } }, async (request) => {
    const { filter, tenant } = await scope(request, request.query as object)
    const operator = tenant === undefined
    const { teamId: _team, ...conditions } = filter
    const rows = await shaping.backlog(await queue.lanes(filter), operator && isEverything(conditions))
    return presentList(rows.map((row) => presentQueueLane(row, operator)))
  })

  app.get('/queue/holds', { schema: { response: { 200: schema.HoldRuleList } } }, async (request) => {
    const { tenant } = await scope(request, {})
    return presentList((await queue.rules({ teamId: tenant })).map(presentHoldRule))
  })

  app.get('/queue/:id', { schema: { response: { 200: DeliverySchema } } }, async (request) => {
    const id = readId(request.params)
    const { tenant } = await scope(request, {})
    const found = await queue.get({ id, teamId: tenant })
    if (!found) throw refuse('not_found', { resource: 'Queued delivery' })
    return (await present([found]))[0]!
  })
}

function changingRoutes(app: App, { queue }: HttpDeps, { scope, present }: Parts): void {
  app.post(
    '/queue/preview',
    {
      config: { right: 'view', audit: null },
      schema: { body: schema.PreviewQueue, response: { 200: schema.QueuePreview } },
    },
    async (request) => {
      const { action, filter: given = {}, pool, all, new: keep } = request.body
      const whose = await scope(request, given, inFilter)
      const preview = await queue.preview({ action, ...whose, pool, all, keep })
      return presentQueuePreview(action, preview, await present(preview.sample))
    },
  )

  for (const action of QUEUE_ACTIONS)
    app.post(
      `/queue/${action}`,
      {
        config: { right: 'operate', audit: null },
        schema: { body: schema.ChangeQueue, response: { 200: schema.QueueChange } },
      },
      async (request) => {
        const { filter: given = {}, pool, all, new: keep, expected_count: expectedCount } = request.body
        const whose = await scope(request, given, inFilter)
        // Pools are the appliance's: their addresses carry the good name of those they are for.
        if (action === 'reroute' && whose.tenant !== undefined) throw refuse('queue_not_operator')
        return presentQueueChange(
          await queue.act({ action, ...whose, pool, all, keep, expectedCount }, actorOf(request)),
        )
      },
    )

  app.post(
    '/queue/undo',
    {
      config: { right: 'operate', audit: null },
      schema: { body: schema.UndoQueue, response: { 200: schema.QueueChange } },
    },
    async (request) => {
      const auditId = readId({ id: request.body.audit_id })
      const { tenant } = await scope(request, {})
      return presentQueueChange(await queue.undo({ auditId, teamId: tenant }, actorOf(request)))
    },
  )
}
