import { EMAIL_EVENTS } from '../mail/event.ts'
import type { Webhook } from '../storage/storage.ts'
import {
  presentList,
  presentPinged,
  presentWebhook,
  presentWebhookSummary,
} from '../wireformat/wireformat.ts'
import { Failure, type Context } from './context.ts'
import { instant, table } from './output.ts'

/** Requests that `webhook show` lists. */
const SHOWN = 10

const health = ({ status, disabled, failingSince, succeededAt }: Webhook): string => {
  if (disabled) return `disabled ${instant(disabled.at)}: ${disabled.reason}`
  if (failingSince !== null) return `${status}, fails since ${instant(failingSince)}`
  return succeededAt === null ? `${status}, never tried` : `${status}, works`
}

/** `webhook list` */
export async function listWebhooks({ webhooks, output, team }: Context): Promise<void> {
  const all = await webhooks.list({ teamId: (await team()).id })
  output.object(presentList(all.map(presentWebhookSummary)))
  if (all.length === 0) return output.text('There are no webhooks.')
  output.text(
    ...table(
      ['ID', 'ENDPOINT', 'STATE'],
      all.map((one) => [one.id, one.endpoint, health(one)]),
    ),
  )
}

/** `webhook show` */
export async function showWebhook({ webhooks, clock, output, team }: Context, id: string): Promise<void> {
  const which = { teamId: (await team()).id, id }
  const one = await webhooks.get(which)
  output.object(presentWebhook(one, clock.now()))
  output.text(one.endpoint, health(one), `Secret: ${one.secret}`, `Events: ${one.events.join(', ')}`)
  const { items } = await webhooks.attempts({ ...which, limit: SHOWN })
  if (items.length === 0) return output.text('Nothing was sent to it yet.')
  const rows = items.map((attempt) => [
    instant(attempt.sentAt),
    String(attempt.status ?? '-'),
    `${attempt.durationMs} ms`,
    attempt.deliveryId,
    attempt.error ?? 'taken',
  ])
  output.text('', ...table(['SENT', 'STATUS', 'TOOK', 'EVENT', 'RESULT'], rows))
}

/** `webhook add` */
export async function addWebhook(
  { webhooks, clock, output, team }: Context,
  endpoint: string,
  { events }: { events?: string },
): Promise<void> {
  const types = events === undefined ? [...EMAIL_EVENTS] : events.split(',').map((type) => type.trim())
  const made = await webhooks.create({ teamId: (await team()).id, endpoint, events: types })
  output.object(presentWebhook(made, clock.now()))
  output.text(`Webhook ${made.id}`, `Secret: ${made.secret}`)
}

const change =
  (status: 'enabled' | 'disabled', text: string) =>
  async ({ webhooks, clock, output, team }: Context, id: string): Promise<void> => {
    const changed = await webhooks.update({ teamId: (await team()).id, id, change: { status } })
    output.object(presentWebhook(changed, clock.now()))
    output.text(`${changed.endpoint} ${text}`)
  }

/** `webhook enable` */
export const enableWebhook = change(
  'enabled',
  'is enabled. What it missed can be sent: posthaste webhook replay',
)
/** `webhook disable` */
export const disableWebhook = change('disabled', 'is disabled. What waits for it stays.')

/** `webhook rotate` */
export async function rotateWebhook({ webhooks, clock, output, team }: Context, id: string): Promise<void> {
  const changed = await webhooks.rotate({ teamId: (await team()).id, id })
  output.object(presentWebhook(changed, clock.now()))
  output.text(`Secret: ${changed.secret}`, 'The old one signs too for 24 hours.')
}

/** `webhook ping` */
export async function pingWebhook({ webhooks, output, team }: Context, id: string): Promise<void> {
  const pinged = await webhooks.ping({ teamId: (await team()).id, id })
  const { error, status, durationMs } = pinged.attempt
  output.object(presentPinged(pinged))
  if (error !== null) throw new Failure(error)
  output.text(`The endpoint answered with status ${status} after ${durationMs} ms.`)
}

function read(name: string, text: string): number {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new Failure(`--${name} takes an instant such as 2026-11-20T08:00:00Z.`)
  return at
}

/** What `webhook replay` takes: ISO 8601, and whether what the endpoint took is sent, too. */
export interface ReplayOptions {
  since: string
  until?: string
  all?: boolean
}

/** `webhook replay` */
export async function replayWebhook(
  { webhooks, clock, output, team }: Context,
  id: string,
  options: ReplayOptions,
): Promise<void> {
  const since = read('since', options.since)
  const until = options.until === undefined ? clock.now() + 1 : read('until', options.until)
  if (until <= since) throw new Failure('--until must be after --since.')
  const onlyUndelivered = options.all !== true
  const events = await webhooks.replayRange({ teamId: (await team()).id, id, since, until, onlyUndelivered })
  output.object({ object: 'webhook', id, events })
  output.text(events === 1 ? '1 event is sent.' : `${events} events are sent.`)
}

/** `webhook remove` */
export async function removeWebhook({ webhooks, output, team }: Context, id: string): Promise<void> {
  await webhooks.remove({ teamId: (await team()).id, id })
  output.object({ object: 'webhook', id, deleted: true })
  output.text('Removed. Nothing more is sent to it.')
}
