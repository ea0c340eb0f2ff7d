/** Manages endpoints and their delivery log for their owners. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { PING_EVENT, WEBHOOK_EVENTS, type WebhookDeliveryState, type WebhookStatus } from '../mail/webhook.ts'
import type {
  NewWebhookDelivery,
  Page,
  PageArgs,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookRequests,
  StorageSubset,
  OutboxEvent,
} from '../storage/storage.ts'
import { presentPing } from '../api/webhook-payloads.ts'
import type { PostClient } from '../wire/post.ts'
import type { Cidr } from '../wire/networks.ts'
import { attemptWebhook } from './attempt.ts'
import { findEndpointProblem } from './endpoint.ts'
import { newDeliveryId, createReplays } from './fan-out.ts'
import { generateSecret } from './signature.ts'

/** Maximum number of endpoints per team. Every event is stored once per subscribed endpoint. */
const MOST = 50
/** How long the old secret still signs after a rotation, in milliseconds. */
const OVERLAP = 24 * 3_600_000
/** The period over which requests are counted, and their maximum number. */
const COUNTED = { ms: 24 * 3_600_000, most: 1000 }
/** Events replayed per transaction. */
const STEP = 500
/** Maximum number of events selected for one replay: the longest page of the log. */
const MOST_PICKED = 100

export interface WebhookChange {
  endpoint?: string | undefined
  events?: string[] | undefined
  /** Whether the webhook receives events about broadcast emails. */
  broadcasts?: boolean | undefined
  status?: WebhookStatus | undefined
}

/** A webhook to create. */
export interface NewWebhook {
  teamId: string
  endpoint: string
  events: string[]
  /** Whether the webhook receives events about broadcast emails. Default: true. */
  broadcasts?: boolean | undefined
  /** Why nothing should be sent to the webhook yet; if absent, the webhook is enabled. */
  disabled?: string
}

type One = { teamId: string; id: string }
type OneDelivery = One & { deliveryId: string }

export interface Webhooks {
  /**
   * Creates an endpoint. Refuses: `invalid_field`, `too_many_webhooks`.
   */
  create(args: NewWebhook): Promise<Webhook>
  /** Refuses for the same reasons as `create`, except `too_many_webhooks`. Changes nothing. */
  check(args: { endpoint: string; events: string[] }): void
  list(args: { teamId: string }): Promise<Webhook[]>
  /** Returns an endpoint. This method and all methods below refuse: `not_found`. */
  get(args: One): Promise<Webhook>
  /** Updates an endpoint. Refuses: `invalid_field`. */
  update(args: One & { change: WebhookChange }): Promise<Webhook>
  /** Generates a new secret; both sign for 24 hours. */
  rotate(args: One): Promise<Webhook>
  remove(args: One): Promise<void>
  deliveries(
    args: One &
      Omit<PageArgs, 'teamId'> & { status?: WebhookDeliveryState | undefined; type?: string | undefined },
  ): Promise<Page<WebhookDelivery>>
  delivery(args: OneDelivery): Promise<WebhookDelivery>
  /** Lists the attempts of one delivery, or of all deliveries to the endpoint. */
  attempts(
    args: One & Omit<PageArgs, 'teamId'> & { deliveryId?: string | undefined },
  ): Promise<Page<WebhookAttempt>>
  /** Returns the results of the last 24 hours' requests, at most the newest 1000. */
  requests(args: One): Promise<WebhookRequests>
  /** Sends a delivery again, under the same id. */
  replay(args: OneDelivery): Promise<void>
  /**
   * Sends several deliveries again under the same IDs: all, or none if one is missing. Returns how many. Refuses:
   * `invalid_field`.
   */
  replaySome(args: One & { deliveryIds: string[] }): Promise<number>
  /**
   * Sends the endpoint's events from `since` to before `until` (Unix milliseconds) again, including those that were
   * never sent to it. `onlyUndelivered` skips those that it accepted. Returns how many.
   */
  replayRange(args: One & { since: number; until: number; onlyUndelivered: boolean }): Promise<number>
  /** Sends a test event now, once, even to a disabled endpoint. */
  ping(args: One): Promise<{ delivery: NewWebhookDelivery; attempt: WebhookAttempt }>
}

export interface WebhooksDeps {
  storage: StorageSubset<'webhooks' | 'webhookDeliveries' | 'webhookQueue' | 'outbox'>
  poster: PostClient
  clock: Clock
  agent: string
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces; endpoints there must be in an allowed network. */
  ownAddresses: () => readonly string[]
  /** Called when deliveries are due. */
  wake: () => void
}

/** Creates the methods. */
export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { storage, clock, wake } = deps
  const found = async (args: One): Promise<Webhook> =>
    (await storage.getWebhook(args, clock.now())) ?? notFound()
  const again = async ({ teamId, id }: One, ids: string[]): Promise<string[]> => {
    await found({ teamId, id })
    const missing = await storage.replayWebhookDeliveries({ teamId, webhookId: id, ids }, clock.now())
    wake()
    return missing
  }
  return {
    ...settings(deps, found),
    ...log(deps, found),
    async replay({ deliveryId, ...one }) {
      if ((await again(one, [deliveryId])).length > 0)
        throw refuse('not_found', { resource: 'Webhook event' })
    },
    async replaySome({ deliveryIds, ...one }) {
      const picked = readPicked(deliveryIds)
      const [missing] = await again(one, picked)
      if (missing !== undefined) throw refusePicked(`${quoted(missing)} is not an event of this webhook`)
      return picked.length
    },
    async replayRange({ teamId, id, since, until, onlyUndelivered }) {
      const webhook = await found({ teamId, id })
      let count = 0
      let after: Pick<OutboxEvent, 'createdAt' | 'cursor'> | null = null
      for (;;) {
        const range = { teamId, since, until, after, limit: STEP }
        const events = await storage.listTeamEvents(range, clock.now())
        const deliveries = createReplays(events, webhook, clock.now())
        if (deliveries.length > 0)
          count += await storage.replayWebhookEvents({ deliveries, onlyUndelivered }, clock.now())
        wake()
        const last = events.at(-1)
        if (!last || events.length < STEP) return count
        after = { createdAt: last.createdAt, cursor: last.cursor }
      }
    },
    async ping(args) {
      const { id: webhookId, teamId, endpoint, secret, oldSecret } = await found(args)
      const now = clock.now()
      const payload = JSON.stringify(presentPing(webhookId, now))
      const about = { webhookId, teamId, eventId: null, emailId: null, createdAt: now }
      const delivery = { id: newDeliveryId(now), type: PING_EVENT, payload, ...about }
      const attempt = await attemptWebhook({ ...delivery, endpoint, secret, oldSecret }, deps)
      await storage.keepWebhookPing({ delivery, attempt }, clock.now())
      return { delivery, attempt }
    },
  }
}

type Settings = Pick<Webhooks, 'create' | 'check' | 'list' | 'get' | 'update' | 'rotate' | 'remove'>
type Log = Pick<Webhooks, 'deliveries' | 'delivery' | 'attempts' | 'requests'>
type Found = (args: One) => Promise<Webhook>

function notFound(): never {
  throw refuse('not_found', { resource: 'Webhook' })
}

function settings(deps: WebhooksDeps, found: Found): Settings {
  const { storage, clock, wake } = deps
  return {
    async create({ teamId, endpoint, events, broadcasts = true, disabled }) {
      const now = clock.now()
      const webhook: Webhook = {
        id: newId(now),
        teamId,
        endpoint: readEndpoint(endpoint, deps),
        events: readEvents(events),
        broadcasts,
        secret: generateSecret(),
        oldSecret: null,
        createdAt: now,
        succeededAt: null,
        failingSince: null,
        ...(disabled === undefined
          ? { status: 'enabled', disabled: null }
          : { status: 'disabled', disabled: { at: now, reason: disabled } }),
      }
      if (!(await storage.createWebhook({ webhook, most: MOST }, now)))
        throw refuse('too_many_webhooks', { limit: MOST })
      return webhook
    },
    check({ endpoint, events }) {
      readEndpoint(endpoint, deps)
      readEvents(events)
    },
    list: (args) => storage.listWebhooks(args, clock.now()),
    get: found,
    async update({ teamId, id, change: { endpoint, events, broadcasts, status } }) {
      const change = {
        ...(endpoint === undefined ? {} : { endpoint: readEndpoint(endpoint, deps) }),
        ...(events === undefined ? {} : { events: readEvents(events) }),
        ...(broadcasts === undefined ? {} : { broadcasts }),
        ...(status === undefined ? {} : { status }),
      }
      const reason = 'A user disabled it.'
      const changed = await storage.updateWebhook({ teamId, id, change, reason }, clock.now())
      wake()
      return changed ?? notFound()
    },
    async rotate({ teamId, id }) {
      const now = clock.now()
      const change = { teamId, id, secret: generateSecret(), oldUntil: now + OVERLAP }
      return (await storage.rotateWebhookSecret(change, now)) ?? notFound()
    },
    async remove(args) {
      if (!(await storage.deleteWebhook(args, clock.now()))) notFound()
    },
  }
}

function log({ storage, clock }: WebhooksDeps, found: Found): Log {
  return {
    async deliveries({ id, ...args }) {
      await found({ teamId: args.teamId, id })
      return storage.listWebhookDeliveries({ ...args, webhookId: id }, clock.now())
    },
    async delivery({ teamId, id, deliveryId }) {
      await found({ teamId, id })
      const which = { teamId, webhookId: id, id: deliveryId }
      const one = await storage.getWebhookDelivery(which, clock.now())
      if (!one) throw refuse('not_found', { resource: 'Webhook event' })
      return one
    },
    async attempts({ id, ...args }) {
      await found({ teamId: args.teamId, id })
      return storage.listWebhookAttempts({ ...args, webhookId: id }, clock.now())
    },
    requests({ teamId, id: webhookId }) {
      const since = clock.now() - COUNTED.ms
      return storage.countWebhookRequests({ teamId, webhookId, since, most: COUNTED.most }, clock.now())
    },
  }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 60))

const refusePicked = (expected: string) => refuse('invalid_field', { field: 'event_ids', expected })

function readPicked(ids: string[]): string[] {
  const picked = [...new Set(ids)]
  if (picked.length === 0 || picked.length > MOST_PICKED)
    throw refusePicked(`1 to ${MOST_PICKED} event IDs; got ${picked.length}`)
  return picked
}

/** Trims white space, which pasting often adds. */
function readEndpoint(
  text: string,
  { allowNetworks, ownAddresses }: Pick<WebhooksDeps, 'allowNetworks' | 'ownAddresses'>,
): string {
  const endpoint = text.trim()
  const expected = findEndpointProblem(endpoint, allowNetworks, ownAddresses())
  if (expected !== undefined) throw refuse('invalid_field', { field: 'endpoint', expected })
  return endpoint
}

function readEvents(types: string[]): string[] {
  const known: readonly string[] = WEBHOOK_EVENTS
  const events = types.map((type) => type.toLowerCase())
  const unknown = types.find((_, at) => !known.includes(events[at]!))
  if (unknown !== undefined)
    throw refuse('invalid_field', {
      field: 'events',
      expected: `${quoted(unknown)} is not an event type. Use one of ${known.join(', ')}`,
    })
  if (types.length === 0)
    throw refuse('invalid_field', { field: 'events', expected: 'at least one event type' })
  return [...new Set(events)]
}
