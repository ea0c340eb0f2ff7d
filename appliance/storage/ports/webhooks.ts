/** Webhooks: endpoints of a team that are told what happens, what each is to be told, and every attempt to do so. */
import type { EventData } from '../../mail/event.ts'
import type { WebhookDeliveryState, WebhookStatus } from '../../mail/webhook.ts'
import type { NewEmail } from './emails.ts'
import type { Page, PageArgs } from './page.ts'

export interface Webhook {
  id: string
  teamId: string
  /** The URL. */
  endpoint: string
  /** The event types that it is told of. */
  events: string[]
  status: WebhookStatus
  /** `whsec_` and the key in base64. */
  secret: string
  /** The secret before it, which signs too until then. */
  oldSecret: { secret: string; until: number } | null
  createdAt: number
  /** The last success, to the minute; null when there was none. */
  succeededAt: number | null
  /** The first failure since the last success. */
  failingSince: number | null
  /** When and why it was disabled: by itself, when every attempt failed for days. Null while it is enabled. */
  disabled: { at: number; reason: string } | null
}

/** A webhook without its secrets. */
export type WebhookListener = Omit<Webhook, 'secret' | 'oldSecret'>

/** An event as webhooks need it, with what they tell of its email. */
export interface OutboxEvent {
  seq: number
  id: string
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
  data: EventData
  email:
    | (Pick<NewEmail, 'via' | 'from' | 'to' | 'subject' | 'messageId' | 'tags' | 'headers'> & {
        createdAt: number
      })
    | null
}

/** A delivery that the suppression list prevented. */
export interface NotMade {
  teamId: string
  emailId: string
  deliveryId: string
  /** Where it would have gone, in A-labels. */
  recipient: string
}

/** Something that an endpoint is to be told. */
export interface NewWebhookDelivery {
  /** `msg_…`; sorts by time. The same in every attempt. */
  id: string
  webhookId: string
  teamId: string
  /** Null for a ping. */
  eventId: string | null
  emailId: string | null
  type: string
  /** The body, byte for byte. */
  payload: string
  /** When the event happened. */
  createdAt: number
}

export interface WebhookDelivery extends NewWebhookDelivery {
  status: WebhookDeliveryState
  /** Since it was made or replayed. */
  attempts: number
  /** When it is tried next; null when it is final. */
  dueAt: number | null
  /** Whether the email that it is about is still there; false where it is about none. */
  emailKept: boolean
  /** The newest request, also of before a replay; null when there was none. */
  last: Pick<WebhookAttempt, 'sentAt' | 'durationMs' | 'status' | 'error'> | null
}

/** A delivery to be attempted now, with what the request needs. */
export interface LeasedWebhookDelivery {
  id: string
  webhookId: string
  teamId: string
  emailId: string | null
  type: string
  payload: string
  /** The number of this attempt, from 1; `settle` demands it. */
  attempt: number
  endpoint: string
  secret: string
  oldSecret: { secret: string; until: number } | null
}

/** One request to an endpoint and its answer. */
export interface WebhookAttempt {
  id: string
  deliveryId: string
  webhookId: string
  teamId: string
  sentAt: number
  durationMs: number
  /** Status of the answer; null when there was none. */
  status: number | null
  /** Why it failed, as a sentence; null for a success. */
  error: string | null
  /** The address that was spoken to; null when none was reached. */
  ip: string | null
  requestHeaders: Record<string, string>
  responseHeaders: Record<string, string>
  /** The beginning of the answer's body. */
  response: string
}

/** How the requests to an endpoint went. */
export interface WebhookRequests {
  /** How many there were, at most as many as were asked for. */
  count: number
  /** Those that the endpoint took: answered with a 2xx. */
  taken: number
  /** How long the answers took, whatever they said: what half and 95 of 100 stayed within (nearest rank). Null without an answer. */
  medianMs: number | null
  p95Ms: number | null
}

export interface WebhookLeaseArgs {
  /** Deliveries in all, and to one endpoint; to one that fails, fewer. */
  limit: number
  each: number
  failing: number
  /** Failures in a row from which on an endpoint counts as failing. */
  failures: number
  /** Requests under way, by endpoint. */
  inFlight: Record<string, number>
  /** When an attempt that is never settled is made again, by its number from 1: milliseconds from now. The last counts for all after it. */
  pauses: number[]
}

export interface WebhookSettleArgs {
  /** What was leased. */
  attemptNumber: number
  attempt: WebhookAttempt
  /** `dueAt` null and a failure: it is given up. */
  outcome: { success: true } | { success: false; dueAt: number | null }
  /** An endpoint that has only failed since before this instant, at least `leastFailures` times, is disabled with this reason. */
  disable: { failingBefore: number; leastFailures: number; reason: string }
}

export interface WebhookStorage {
  /** False, and nothing stored, when the team has `most` of them. */
  createWebhook(args: { webhook: Webhook; most: number }, now: number): Promise<boolean>
  /** All of a team, newest first. */
  listWebhooks(args: { teamId: string }, now: number): Promise<Webhook[]>
  getWebhook(args: { teamId: string; id: string }, now: number): Promise<Webhook | undefined>
  /** Enabling forgets failures of before. Undefined when there is none. */
  updateWebhook(
    args: {
      teamId: string
      id: string
      change: {
        endpoint?: string | undefined
        events?: string[] | undefined
        status?: WebhookStatus | undefined
      }
      /** Why it is disabled, where it is. */
      reason: string
    },
    now: number,
  ): Promise<Webhook | undefined>
  /** The secret of now becomes the old one. Undefined when there is none. */
  rotateWebhookSecret(
    args: { teamId: string; id: string; secret: string; oldUntil: number },
    now: number,
  ): Promise<Webhook | undefined>
  /** Nothing more is sent to it. False when there was none. */
  deleteWebhook(args: { teamId: string; id: string }, now: number): Promise<boolean>

  /**
   * Events after the cursor `webhooks`, oldest first, and the enabled webhooks of all teams; none of both where nobody listens. `to` is the
   * last event that was looked at. `suppressed`: the deliveries among them that were never made, whoever listens.
   */
  readOutbox(
    args: { limit: number },
    now: number,
  ): Promise<{
    from: number
    to: number
    events: OutboxEvent[]
    webhooks: WebhookListener[]
    suppressed: NotMade[]
  }>
  /** Stores what is to be told and moves the cursor, in one. False, and nothing stored, when the cursor is not at `from` any more. */
  fanOutWebhooks(
    args: { from: number; to: number; deliveries: NewWebhookDelivery[] },
    now: number,
  ): Promise<boolean>
  /**
   * Takes due deliveries of enabled webhooks, those of each endpoint in the order of their times. Their next time is written before
   * anybody dials, so that a crash neither loses one nor hammers an endpoint.
   */
  leaseWebhookDeliveries(args: WebhookLeaseArgs, now: number): Promise<LeasedWebhookDelivery[]>
  /** Writes down an attempt and what it means. `disabled`: the endpoint was disabled just now. */
  settleWebhookAttempt(args: WebhookSettleArgs, now: number): Promise<{ disabled: boolean }>
  /** Stores a delivery that is over, with its attempt: a ping. */
  keepWebhookPing(args: { delivery: NewWebhookDelivery; attempt: WebhookAttempt }, now: number): Promise<void>

  /** Newest first. */
  listWebhookDeliveries(
    args: PageArgs & {
      webhookId: string
      status?: WebhookDeliveryState | undefined
      type?: string | undefined
    },
    now: number,
  ): Promise<Page<WebhookDelivery>>
  getWebhookDelivery(
    args: { teamId: string; webhookId: string; id: string },
    now: number,
  ): Promise<WebhookDelivery | undefined>
  /** Newest first; of one delivery, or of all to the endpoint. */
  listWebhookAttempts(
    args: PageArgs & { webhookId: string; deliveryId?: string | undefined },
    now: number,
  ): Promise<Page<WebhookAttempt>>
  /** How the requests since `since` went, of the newest `most` of them. */
  countWebhookRequests(
    args: { teamId: string; webhookId: string; since: number; most: number },
    now: number,
  ): Promise<WebhookRequests>
  /** Stored deliveries are due again, with all attempts before them. Returns those that are not there: while there is one, nothing is changed. */
  replayWebhookDeliveries(
    args: { teamId: string; webhookId: string; ids: string[] },
    now: number,
  ): Promise<string[]>
  /** Events of a team from `since` to before `until`, after the position, oldest first. */
  listTeamEvents(
    args: {
      teamId: string
      since: number
      until: number
      after: { createdAt: number; seq: number } | null
      limit: number
    },
    now: number,
  ): Promise<OutboxEvent[]>
  /** Deliveries of events that the endpoint was told of are due again; the others are stored. Those that are under way or wait stay as they are. Returns how many are due by it. */
  replayWebhookEvents(
    args: { deliveries: NewWebhookDelivery[]; onlyUndelivered: boolean },
    now: number,
  ): Promise<number>
  /** Removes deliveries that were settled before `before`, or waited that long for an endpoint that is gone or disabled; returns how many. */
  purgeWebhookDeliveries(args: { before: number; most: number }, now: number): Promise<number>
}
