import { may } from '../../mail/roles.ts'
import { refuse } from '../../mail/refusals.ts'
import { WEBHOOK_DELIVERY_STATES, type WebhookDeliveryState } from '../../mail/webhook.ts'
import {
  presentList,
  presentPinged,
  presentWebhook,
  presentWebhookAttempt,
  presentWebhookDelivery,
  presentWebhookDeliverySummary,
  presentWebhookSummary,
} from '../../wireformat/wireformat.ts'
import type { Caller } from '../../senders/caller.ts'
import { callerOf } from '../access.ts'
import { readWebhook } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { pageOf, readId, readLimit, readPage } from '../query.ts'
import * as schema from '../schemas/webhooks.ts'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'

/** The endpoints of a team, and the log of what they were sent. */
export function webhookRoutes(app: App, deps: HttpDeps): void {
  readingRoutes(app, deps)
  settingRoutes(app, deps)
  eventRoutes(app, deps)
  actionRoutes(app, deps)
}

const which = (request: FastifyRequest) => ({
  teamId: callerOf(request).teamId,
  id: readId(request.params),
})

/** Who holds the secret can tell the app anything: who may change no webhook is not shown it. */
const mayKnowSecret = ({ role }: Caller): boolean => role === undefined || may(role, 'configure')

function readingRoutes(app: App, { webhooks, clock }: HttpDeps): void {
  app.get('/webhooks', { schema: { response: { 200: schema.WebhookList } } }, async (request) => {
    const all = await webhooks.list({ teamId: callerOf(request).teamId })
    const { items, hasMore } = pageOf(all, request.query)
    const withRequests = items.map(async (one) => presentWebhookSummary(one, await webhooks.requests(one)))
    return presentList(await Promise.all(withRequests), hasMore)
  })
  app.get('/webhooks/:id', { schema: { response: { 200: schema.Webhook } } }, async (request) => {
    const found = await webhooks.get(which(request))
    const webhook = presentWebhook(found, await webhooks.requests(found), clock.now())
    return mayKnowSecret(callerOf(request)) ? webhook : { ...webhook, signing_secret: '' }
  })
}

function settingRoutes(app: App, { webhooks }: HttpDeps): void {
  const read = readWebhook({ webhooks })
  app.post(
    '/webhooks',
    {
      config: { audit: { action: 'webhook.create', noun: 'webhook' } },
      schema: { body: schema.CreateWebhook, response: { 201: schema.WebhookCreated } },
    },
    async (request, reply) => {
      const { endpoint, events } = request.body
      const { id, secret } = await webhooks.create({ teamId: callerOf(request).teamId, endpoint, events })
      void reply.code(201)
      return { object: 'webhook' as const, id, signing_secret: secret }
    },
  )
  app.patch(
    '/webhooks/:id',
    {
      config: { audit: { action: 'webhook.update', noun: 'webhook', read } },
      schema: { body: schema.UpdateWebhook, response: { 200: schema.WebhookRef } },
    },
    async (request) => {
      const { endpoint, events, status } = request.body
      // Typed clients write what stays as null.
      const change = {
        ...{ endpoint: endpoint ?? undefined, events: events ?? undefined, status: status ?? undefined },
      }
      const { id } = await webhooks.update({ ...which(request), change })
      return { object: 'webhook' as const, id }
    },
  )
  app.delete(
    '/webhooks/:id',
    {
      config: { audit: { action: 'webhook.delete', noun: 'webhook', read } },
      schema: { response: { 200: schema.WebhookDeleted } },
    },
    async (request) => {
      const { teamId, id } = which(request)
      await webhooks.remove({ teamId, id })
      return { object: 'webhook' as const, id, deleted: true as const }
    },
  )
  app.post(
    '/webhooks/:id/signing-secret/rotate',
    {
      config: { audit: { action: 'webhook.rotate_secret', noun: 'webhook', before: read } },
      schema: { response: { 200: schema.WebhookCreated } },
    },
    async (request) => {
      const { id, secret } = await webhooks.rotate(which(request))
      return { object: 'webhook' as const, id, signing_secret: secret }
    },
  )
}

function eventRoutes(app: App, { webhooks }: HttpDeps): void {
  app.get(
    '/webhooks/:id/events',
    { schema: { response: { 200: schema.WebhookEventList } } },
    async (request) => {
      const { status, type, ...query } = request.query as Record<string, unknown>
      const wanted = {
        status: readStatus(status),
        type: typeof type === 'string' && type !== '' ? type : undefined,
      }
      const page = await webhooks.deliveries({ ...which(request), ...readMessagePage(query), ...wanted })
      return presentList(page.items.map(presentWebhookDeliverySummary), page.hasMore)
    },
  )
  app.get(
    '/webhooks/:id/events/:event_id',
    { schema: { response: { 200: schema.WebhookEvent } } },
    async (request) =>
      presentWebhookDelivery(
        await webhooks.delivery({ ...which(request), deliveryId: eventOf(request.params) }),
      ),
  )
  app.get(
    '/webhooks/:id/events/:event_id/attempts',
    { schema: { response: { 200: schema.WebhookAttemptList } } },
    async (request) => {
      const deliveryId = eventOf(request.params)
      await webhooks.delivery({ ...which(request), deliveryId })
      const page = await webhooks.attempts({ ...which(request), ...readPage(request.query), deliveryId })
      return presentList(page.items.map(presentWebhookAttempt), page.hasMore)
    },
  )
  app.get(
    '/webhooks/:id/attempts',
    { schema: { response: { 200: schema.WebhookAttemptList } } },
    async (request) => {
      const page = await webhooks.attempts({ ...which(request), ...readPage(request.query) })
      return presentList(page.items.map(presentWebhookAttempt), page.hasMore)
    },
  )
}

function actionRoutes(app: App, { webhooks, clock }: HttpDeps): void {
  const before = readWebhook({ webhooks })
  app.post(
    '/webhooks/:id/events/:event_id/replay',
    {
      config: { audit: { action: 'webhook.replay', noun: 'webhook', before } },
      schema: { response: { 200: schema.WebhookEventRef } },
    },
    async (request) => {
      const deliveryId = eventOf(request.params)
      await webhooks.replay({ ...which(request), deliveryId })
      return { object: 'webhook_event' as const, id: deliveryId }
    },
  )
  app.post(
    '/webhooks/:id/replay',
    {
      config: { audit: { action: 'webhook.replay', noun: 'webhook', before } },
      schema: { body: schema.ReplayWebhook, response: { 200: schema.WebhookReplayed } },
    },
    async (request) => {
      const { event_ids: deliveryIds, ...range } = request.body
      const one = which(request)
      if (deliveryIds !== undefined && Object.values(range).some((given) => given !== undefined))
        throw refuse('invalid_field', {
          field: 'event_ids',
          expected: 'either these, or `since`, `until` and `only`, not both',
        })
      const events = await (deliveryIds === undefined
        ? webhooks.replayRange({ ...one, ...readRange(range, clock.now()) })
        : webhooks.replaySome({ ...one, deliveryIds }))
      return { object: 'webhook' as const, id: one.id, events }
    },
  )
  app.post(
    '/webhooks/:id/ping',
    { config: { audit: null }, schema: { response: { 200: schema.WebhookPinged } } },
    async (request) => presentPinged(await webhooks.ping(which(request))),
  )
}

/** Until now where no end is given. */
function readRange({ since: from, until: to, only }: Static<typeof schema.ReplayWebhook>, now: number) {
  if (from === undefined) throw refuse('missing_field', { field: 'since` or `event_ids' })
  const since = readInstant('since', from)
  const until = to === undefined ? now + 1 : readInstant('until', to)
  if (until <= since) throw refuse('invalid_field', { field: 'until', expected: 'a time after `since`' })
  return { since, until, onlyUndelivered: only !== 'all' }
}

const MESSAGE = /^msg_[0-9a-f]{32}$/

function eventOf(params: unknown): string {
  const { event_id: id } = params as { event_id: string }
  if (!MESSAGE.test(id)) throw refuse('not_found', { resource: 'Webhook event' })
  return id
}

/** Like `readPage`, with cursors that are ids of events. */
function readMessagePage(query: Record<string, unknown>) {
  const [after, before] = ['after', 'before'].map((parameter) => {
    const value = query[parameter]
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string' || !MESSAGE.test(value))
      throw refuse('invalid_parameter', { parameter, expected: 'an event id, msg_…' })
    return value
  })
  if (after !== undefined && before !== undefined)
    throw refuse('invalid_parameter', {
      parameter: 'after',
      expected: 'either `after` or `before`, not both',
    })
  return { limit: readLimit(query.limit), after, before }
}

function readStatus(value: unknown): WebhookDeliveryState | undefined {
  if (value === undefined || value === '') return undefined
  const word = typeof value === 'string' ? value.toLowerCase() : value
  const status = WEBHOOK_DELIVERY_STATES.find((one) => one === word)
  if (!status)
    throw refuse('invalid_parameter', {
      parameter: 'status',
      expected: `one of ${WEBHOOK_DELIVERY_STATES.join(', ')}`,
    })
  return status
}

/** ISO 8601 with a zone, or as our answers write it. */
function readInstant(field: string, text: string): number {
  const iso = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$/.test(text)
  const instant = iso ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')) : Number.NaN
  if (Number.isNaN(instant))
    throw refuse('invalid_field', { field, expected: 'a time such as 2026-11-20T08:00:00Z' })
  return instant
}
