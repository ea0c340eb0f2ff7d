import { hasRight } from '../../mail/roles.ts'
import { refuse } from '../../mail/refusals.ts'
import { paginateList, presentDeleted, presentList, presentRef, presentPage } from '../../api/shared.ts'
import * as api from '../../api/webhooks.ts'
import * as events from '../../api/webhook-events.ts'
import type { Caller } from '../../senders/api-keys.ts'
import { getCaller, getObjectRef } from '../access.ts'
import { readWebhook } from '../audit-reads.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import type { Static } from 'typebox'

/** Routes for a team's endpoints and their delivery log. */
export function webhookRoutes(app: App, deps: HttpDeps): void {
  readingRoutes(app, deps)
  settingRoutes(app, deps)
  actionRoutes(app, deps)
  eventRoutes(app, deps)
}

/**
 * Whether a caller may see the secret, which allows anyone to send events to the app: only callers who may change
 * webhooks.
 */
const mayKnowSecret = ({ role }: Caller): boolean => role === undefined || hasRight(role, 'configure')

function readingRoutes(app: App, { webhooks, clock }: HttpDeps): void {
  serve(app, api.listWebhooks, {}, async (request) => {
    const all = await webhooks.list({ teamId: getCaller(request).teamId })
    const { items, hasMore } = paginateList(all, request.query)
    const withRequests = items.map(async (one) =>
      api.presentWebhookSummary(one, await webhooks.requests(one)),
    )
    return presentList(await Promise.all(withRequests), hasMore)
  })
  serve(app, api.getWebhook, {}, async (request) => {
    const found = await webhooks.get(getObjectRef(request))
    const webhook = api.presentWebhook(found, await webhooks.requests(found), clock.now())
    return mayKnowSecret(getCaller(request)) ? webhook : { ...webhook, signing_secret: '' }
  })
}

function settingRoutes(app: App, { webhooks }: HttpDeps): void {
  const read = readWebhook({ webhooks })
  serve(app, api.createWebhook, { audit: 'webhook.create' }, async (request) => {
    const { endpoint, events, broadcasts } = request.body
    const { teamId } = getCaller(request)
    const asked = { teamId, endpoint, events, broadcasts: broadcasts ?? undefined }
    const { id, secret } = await webhooks.create(asked)
    return { object: 'webhook' as const, id, signing_secret: secret }
  })
  serve(app, api.updateWebhook, { audit: { action: 'webhook.update', read } }, async (request) => {
    const { endpoint, events, broadcasts, status } = request.body
    // Typed clients send null for unchanged fields.
    const change = {
      endpoint: endpoint ?? undefined,
      events: events ?? undefined,
      broadcasts: broadcasts ?? undefined,
      status: status ?? undefined,
    }
    const { id } = await webhooks.update({ ...getObjectRef(request), change })
    return presentRef('webhook', id)
  })
  serve(app, api.deleteWebhook, { audit: { action: 'webhook.delete', read } }, async (request) => {
    const { teamId, id } = getObjectRef(request)
    await webhooks.remove({ teamId, id })
    return presentDeleted('webhook', id)
  })
  const rotates = { audit: { action: 'webhook.rotate_secret', before: read } } as const
  serve(app, api.rotateWebhookSecret, rotates, async (request) => {
    const { id, secret } = await webhooks.rotate(getObjectRef(request))
    return { object: 'webhook' as const, id, signing_secret: secret }
  })
}

function eventRoutes(app: App, { webhooks }: HttpDeps): void {
  serve(app, events.listWebhookEvents, {}, async (request) => {
    const page = await webhooks.deliveries({ ...getObjectRef(request), ...request.query })
    return presentPage(page, events.presentWebhookDeliverySummary)
  })
  serve(app, events.getWebhookEvent, {}, async (request) =>
    events.presentWebhookDelivery(
      await webhooks.delivery({ ...getObjectRef(request), deliveryId: request.params.event_id }),
    ),
  )
  const before = readWebhook({ webhooks })
  const replays = { audit: { action: 'webhook.replay', before } } as const
  serve(app, events.replayWebhookEvent, replays, async (request) => {
    const { event_id: deliveryId } = request.params
    await webhooks.replay({ ...getObjectRef(request), deliveryId })
    return presentRef('webhook_event', deliveryId)
  })
  serve(app, events.listWebhookEventAttempts, {}, async (request) => {
    const { event_id: deliveryId } = request.params
    await webhooks.delivery({ ...getObjectRef(request), deliveryId })
    const page = await webhooks.attempts({ ...getObjectRef(request), ...request.query, deliveryId })
    return presentPage(page, events.presentWebhookAttempt)
  })
  serve(app, events.listWebhookAttempts, {}, async (request) => {
    const page = await webhooks.attempts({ ...getObjectRef(request), ...request.query })
    return presentPage(page, events.presentWebhookAttempt)
  })
}

function actionRoutes(app: App, { webhooks, clock }: HttpDeps): void {
  serve(app, events.pingWebhook, { audit: null }, async (request) =>
    events.presentPingResult(await webhooks.ping(getObjectRef(request))),
  )
  const before = readWebhook({ webhooks })
  const replays = { audit: { action: 'webhook.replay', before } } as const
  serve(app, events.replayWebhook, replays, async (request) => {
    const { event_ids: deliveryIds, ...range } = request.body
    const one = getObjectRef(request)
    if (deliveryIds !== undefined && Object.values(range).some((given) => given !== undefined))
      throw refuse('invalid_field', {
        field: 'event_ids',
        expected: 'either these, or `since`, `until` and `only`, not both',
      })
    const sent = await (deliveryIds === undefined
      ? webhooks.replayRange({ ...one, ...readRange(range, clock.now()) })
      : webhooks.replaySome({ ...one, deliveryIds }))
    return { object: 'webhook' as const, id: one.id, events: sent }
  })
}

/** Parses a range, whose default end is now. */
function readRange({ since: from, until: to, only }: Static<typeof events.ReplayWebhook>, now: number) {
  if (from === undefined) throw refuse('missing_field', { field: 'since` or `event_ids' })
  const since = readInstant('since', from)
  const until = to === undefined ? now + 1 : readInstant('until', to)
  if (until <= since) throw refuse('invalid_field', { field: 'until', expected: 'a time after `since`' })
  return { since, until, onlyUndelivered: only !== 'all' }
}

/** Parses ISO 8601 with a zone, or the format of our responses. */
function readInstant(field: string, text: string): number {
  const iso = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$/.test(text)
  const instant = iso ? Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')) : Number.NaN
  if (Number.isNaN(instant))
    throw refuse('invalid_field', { field, expected: 'a time such as 2026-11-20T08:00:00Z' })
  return instant
}
