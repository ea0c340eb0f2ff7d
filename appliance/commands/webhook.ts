import { EMAIL_EVENTS } from '../mail/event.ts'
import { computeWebhookHealth } from '../mail/webhook.ts'
import type { Webhook, WebhookRequests } from '../storage/storage.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import { presentPingResult } from '../api/webhook-events.ts'
import { presentWebhook, presentWebhookSummary } from '../api/webhooks.ts'
import { Failure, UsageError, type Context } from './context.ts'
import { formatInstant, formatTable } from './output.ts'

/** Maximum number of requests that `webhook show` lists. */
const SHOWN = 10

function health({ status, disabled, failingSince, succeededAt }: Webhook, requests: WebhookRequests): string {
  if (disabled) return `disabled ${formatInstant(disabled.at)}: ${disabled.reason}`
  const { words } = computeWebhookHealth({
    enabled: status === 'enabled',
    failing: failingSince !== null,
    succeeded: succeededAt !== null,
    ...requests,
  })
  return failingSince === null ? words : `${words}, since ${formatInstant(failingSince)}`
}

/** Summarizes the requests of the last 24 hours. Rounds down, so that 100% means all of them. */
function day({ count, taken, medianMs, p95Ms }: WebhookRequests): string {
  if (count === 0) return 'no requests'
  const share = `${Math.floor((1000 * taken) / count) / 10}% of ${count} succeeded`
  return medianMs === null ? share : `${share}, p50 ${medianMs} ms, p95 ${p95Ms} ms`
}

/** Returns the webhook as in the API. */
const whole = async ({ webhooks, clock }: Context, one: Webhook) =>
  presentWebhook(one, await webhooks.requests(one), clock.now())

/** Runs `webhook list`. */
export async function listWebhooks({ webhooks, output, team }: Context): Promise<void> {
  const found = await webhooks.list({ teamId: (await team()).id })
  const all = await Promise.all(found.map(async (one) => ({ one, requests: await webhooks.requests(one) })))
  output.object(presentList(all.map(({ one, requests }) => presentWebhookSummary(one, requests))))
  if (all.length === 0)
    return output.text('No webhooks. Add one: posthaste webhook add https://example.com/hook')
  output.text(
    ...formatTable(
      ['ID', 'ENDPOINT', 'STATE', 'LAST 24 HOURS'],
      all.map(({ one, requests }) => [one.id, one.endpoint, health(one, requests), day(requests)]),
    ),
  )
}

/** Runs `webhook show`. */
export async function showWebhook({ webhooks, clock, output, team }: Context, id: string): Promise<void> {
  const which = { teamId: (await team()).id, id }
  const one = await webhooks.get(which)
  const requests = await webhooks.requests(which)
  output.object(presentWebhook(one, requests, clock.now()))
  output.text(
    one.endpoint,
    health(one, requests),
    `Secret: ${one.secret}`,
    `Events: ${one.events.join(', ')}`,
    ...(one.broadcasts ? [] : ['Broadcasts: no events of their emails']),
  )
  output.text(`Last 24 hours: ${day(requests)}`)
  const { items } = await webhooks.attempts({ ...which, limit: SHOWN })
  if (items.length === 0) return output.text('No requests yet.')
  const rows = items.map((attempt) => [
    formatInstant(attempt.sentAt),
    String(attempt.status ?? '-'),
    `${attempt.durationMs} ms`,
    attempt.deliveryId,
    attempt.error ?? 'succeeded',
  ])
  output.text('', ...formatTable(['SENT', 'STATUS', 'TOOK', 'EVENT', 'RESULT'], rows))
}

/** The options of `webhook add`. */
export interface AddWebhookOptions {
  events?: string
  withoutBroadcasts?: boolean
}

const typesOf = (events: string): string[] => events.split(',').map((type) => type.trim())

/** Runs `webhook add`. */
export async function addWebhook(
  context: Context,
  endpoint: string,
  { events, withoutBroadcasts = false }: AddWebhookOptions,
): Promise<void> {
  const { webhooks, output, team } = context
  const types = events === undefined ? [...EMAIL_EVENTS] : typesOf(events)
  const asked = { teamId: (await team()).id, endpoint, events: types, broadcasts: !withoutBroadcasts }
  const made = await webhooks.create(asked)
  output.object(await whole(context, made))
  output.text(`Webhook ${made.id}`, `Secret: ${made.secret}`)
}

/** The options of `webhook set`. */
export interface SetWebhookOptions {
  url?: string
  events?: string
  broadcasts?: 'on' | 'off'
}

/** Runs `webhook set`. */
export async function setWebhook(
  context: Context,
  id: string,
  { url, events, broadcasts }: SetWebhookOptions,
): Promise<void> {
  const { webhooks, output, team } = context
  if (url === undefined && events === undefined && broadcasts === undefined)
    throw new UsageError('Use --url, --events or --broadcasts.')
  const change = {
    endpoint: url,
    events: events === undefined ? undefined : typesOf(events),
    broadcasts: broadcasts === undefined ? undefined : broadcasts === 'on',
  }
  const changed = await webhooks.update({ teamId: (await team()).id, id, change })
  output.object(await whole(context, changed))
  output.text(`${changed.endpoint} was changed.`)
}

const change =
  (status: 'enabled' | 'disabled', text: string) =>
  async (context: Context, id: string): Promise<void> => {
    const { webhooks, output, team } = context
    const changed = await webhooks.update({ teamId: (await team()).id, id, change: { status } })
    output.object(await whole(context, changed))
    output.text(`${changed.endpoint} ${text}`)
  }

/** Runs `webhook enable`. */
export const enableWebhook = change(
  'enabled',
  'is enabled. To send missed events, run: posthaste webhook replay',
)
/** Runs `webhook disable`. */
export const disableWebhook = change('disabled', 'is disabled. Its pending events are kept.')

/** Runs `webhook rotate`. */
export async function rotateWebhook(context: Context, id: string): Promise<void> {
  const { webhooks, output, team } = context
  const changed = await webhooks.rotate({ teamId: (await team()).id, id })
  output.object(await whole(context, changed))
  output.text(`Secret: ${changed.secret}`, 'The old secret stays valid for 24 hours.')
}

/** Runs `webhook ping`. */
export async function pingWebhook({ webhooks, output, team }: Context, id: string): Promise<void> {
  const pinged = await webhooks.ping({ teamId: (await team()).id, id })
  const { error, status, durationMs } = pinged.attempt
  output.object(presentPingResult(pinged))
  if (error !== null) throw new Failure(error)
  output.text(`The webhook returned status ${status} after ${durationMs} ms.`)
}

function read(name: string, text: string): number {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`--${name} must be a time such as 2026-11-20T08:00:00Z.`)
  return at
}

/** The options of `webhook replay`: event ids, or an ISO 8601 range and whether to include succeeded deliveries. */
export interface ReplayOptions {
  eventIds?: string
  since?: string
  until?: string
  all?: boolean
}

/** Reads the range; its default end is now. */
function readRange({ since: from, until: to, all }: ReplayOptions, now: number) {
  if (from === undefined) throw new UsageError('Select events with --since or --event-ids.')
  const since = read('since', from)
  const until = to === undefined ? now + 1 : read('until', to)
  if (until <= since) throw new UsageError('--until must be after --since.')
  return { since, until, onlyUndelivered: all !== true }
}

/** Runs `webhook replay`. */
export async function replayWebhook(
  { webhooks, clock, output, team }: Context,
  id: string,
  { eventIds, ...range }: ReplayOptions,
): Promise<void> {
  const one = { teamId: (await team()).id, id }
  if (eventIds !== undefined && Object.keys(range).some((name) => ['since', 'until', 'all'].includes(name)))
    throw new UsageError('Use either --event-ids or a time range, not both.')
  const events = await (eventIds === undefined
    ? webhooks.replayRange({ ...one, ...readRange(range, clock.now()) })
    : webhooks.replaySome({ ...one, deliveryIds: eventIds.split(',').map((each) => each.trim()) }))
  output.object({ object: 'webhook', id, events })
  output.text(events === 1 ? 'Sending 1 event.' : `Sending ${events} events.`)
}

/** Runs `webhook remove`. */
export async function removeWebhook({ webhooks, output, team }: Context, id: string): Promise<void> {
  await webhooks.remove({ teamId: (await team()).id, id })
  output.object(presentDeleted('webhook', id))
  output.text('Removed. No more events are sent to it.')
}
