import { WEBHOOK_EVENTS } from '../mail/webhook.ts'
import type { Webhook } from '../storage/storage.ts'
import { stringOrNull } from './objects.ts'
import { tryAdd, countSkipped, type MoveDeps, type MoveCount } from './report.ts'

/** Reason why an imported webhook is disabled. A later import with `--enable` recognizes such webhooks by this text. */
const WAITS = 'Imported as disabled. Enable it with posthaste import --enable, or by hand.'

/** A webhook of the hosted service. */
export interface HostedWebhook {
  endpoint: string
  /** Event types that exist here. */
  events: string[]
  /** Event types that don't exist here. */
  unknown: string[]
  enabled: boolean
}

/**
 * Adds the hosted service's webhooks with new secrets, disabled: while both servers send events, an app would receive
 * each event twice. With `enable`, webhooks that are enabled in the hosted service are enabled here.
 */
export async function moveWebhooks(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { hosted, webhooks, teamId } = deps
  const theirs: HostedWebhook[] = []
  for await (const wire of hosted.list('/webhooks')) {
    count.there += 1
    const endpoint = stringOrNull(wire.endpoint)
    const types = (Array.isArray(wire.events) ? (wire.events as unknown[]) : []).flatMap(
      (one) => stringOrNull(one) ?? [],
    )
    if (endpoint === null || types.length === 0)
      countSkipped(count, endpoint ?? 'a webhook', 'the hosted API returned no endpoint or events for it')
    else theirs.push({ endpoint, ...sorted(types), enabled: wire.status !== 'disabled' })
  }
  for (const [hook, here] of matchWebhooks(theirs, await webhooks.list({ teamId }))) {
    if (here) await leave(hook, here, deps, count)
    else await addOne(hook, deps, count)
  }
}

function sorted(types: readonly string[]): Pick<HostedWebhook, 'events' | 'unknown'> {
  const known: readonly string[] = WEBHOOK_EVENTS
  return {
    events: types.filter((type) => known.includes(type)),
    unknown: types.filter((type) => !known.includes(type)),
  }
}

/**
 * Matches webhooks here with those of the hosted service by endpoint, preferably with the same events. An endpoint may
 * have several webhooks, and someone may have changed a webhook here since the last move.
 */
export function matchWebhooks<T extends Pick<Webhook, 'endpoint' | 'events'>>(
  theirs: readonly HostedWebhook[],
  here: readonly T[],
): [HostedWebhook, T | undefined][] {
  const free = [...here]
  const taken = new Map<HostedWebhook, T>()
  const take = (same: (hook: HostedWebhook, one: T) => boolean): void => {
    for (const hook of theirs.filter((one) => !taken.has(one))) {
      const at = free.findIndex((one) => one.endpoint === hook.endpoint && same(hook, one))
      if (at >= 0) taken.set(hook, free.splice(at, 1)[0]!)
    }
  }
  take((hook, one) => sameEvents(hook.events, one.events))
  take(() => true)
  return theirs.map((hook) => [hook, taken.get(hook)])
}

const sameEvents = (some: readonly string[], others: readonly string[]): boolean =>
  some.every((type) => others.includes(type)) && others.every((type) => some.includes(type))

async function leave(hook: HostedWebhook, here: Webhook, deps: MoveDeps, count: MoveCount): Promise<void> {
  const { webhooks, teamId, options, made } = deps
  count.present += 1
  const { id, endpoint } = here
  if (!sameEvents(hook.events, here.events))
    count.notes.push({ what: endpoint, text: 'it already exists here with different events, which are kept' })
  if (!options.enable || options.dryRun || !hook.enabled || here.disabled?.reason !== WAITS) return
  const webhook = await webhooks.update({ teamId, id, change: { status: 'enabled' } })
  count.notes.push({ what: endpoint, text: 'it is now enabled' })
  await made({ kind: 'webhook_enabled', webhook })
}

async function addOne(hook: HostedWebhook, deps: MoveDeps, count: MoveCount): Promise<void> {
  const { webhooks, teamId, options, made } = deps
  const { endpoint, events, unknown } = hook
  await tryAdd(count, endpoint, async () => {
    if (options.dryRun) return webhooks.check({ endpoint, events })
    const disabled = options.enable && hook.enabled ? {} : { disabled: hook.enabled ? WAITS : DISABLED }
    const webhook = await webhooks.create({ teamId, endpoint, events, ...disabled })
    await made({ kind: 'webhook', webhook })
  })
  if (unknown.length > 0 && events.length > 0)
    count.notes.push({
      what: endpoint,
      text: `without events that are not supported here: ${listed(unknown)}`,
    })
}

const DISABLED = 'It was disabled in the hosted service when it was imported.'

const listed = (types: readonly string[]): string =>
  types
    .slice(0, 10)
    .map((type) => type.slice(0, 60))
    .join(', ')
