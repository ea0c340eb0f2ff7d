/**
 * How stored objects look outside: the API and the command line print the same thing because both call these.
 * Pure. Shapes: http/schemas, which are the wire format's one description.
 */
import type * as domains from '../http/schemas/domains.ts'
import type * as emails from '../http/schemas/emails.ts'
import type * as timeline from '../http/schemas/timeline.ts'
import type { ExpectedRecord } from '../senders/records.ts'
import type {
  ApiKey,
  Attempt,
  Delivery,
  Domain,
  Email,
  EmailEvent,
  EmailHistory,
  EmailSummary,
} from '../storage/storage.ts'

/**
 * An instant in the text form of the REST interface (reference: wire format §1.3): a space, trailing zeros of the
 * fraction dropped, `+00`.
 * @param ms Unix milliseconds
 */
export function timestamp(ms: number): string {
  const [date, time] = new Date(ms).toISOString().slice(0, -1).split('T') as [string, string]
  return `${date} ${time.replace(/\.?0+$/, '')}+00`
}

/** The same where there may be none. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** A list in its envelope; `hasMore` is false for lists that always come whole. */
export function presentList<T>(data: T[], hasMore = false): { object: 'list'; has_more: boolean; data: T[] } {
  return { object: 'list', has_more: hasMore, data }
}

/** An element of GET /domains. */
export function presentDomainSummary(domain: Domain): domains.DomainSummary {
  return {
    id: domain.id,
    name: domain.name,
    status: domain.status,
    created_at: timestamp(domain.createdAt),
    region: domain.region,
    open_tracking: false,
    click_tracking: false,
    capabilities: { sending: 'enabled', receiving: 'disabled' },
  }
}

/** GET /domains/:id. `records` come from `senders.expectedRecords(domain)`; what was found there comes with the domain. */
export function presentDomain(domain: Domain, records: readonly ExpectedRecord[]): domains.Domain {
  return {
    object: 'domain',
    ...presentDomainSummary(domain),
    records: records.map((record) => {
      const check = domain.checks.find(({ key }) => key === record.key)
      return {
        record: record.record,
        name: record.name,
        type: record.type,
        ttl: 'Auto',
        status: check?.status ?? 'not_started',
        value: record.value,
        ...(record.priority === null ? {} : { priority: record.priority }),
        fqdn: record.fqdn,
        found: check?.found ?? [],
        note: check?.note ?? null,
      }
    }),
    checked_at: timestampOrNull(domain.checkedAt),
  }
}

/** An API key as lists show it: never its token. */
export interface PresentedApiKey {
  id: string
  name: string
  created_at: string
  last_used_at: string | null
  permission: ApiKey['permission']
  domain_id: string | null
}

/** An element of GET /api-keys. Permission and domain are ours beside the hosted service's four fields. */
export function presentApiKey(key: ApiKey): PresentedApiKey {
  return {
    id: key.id,
    name: key.name,
    created_at: timestamp(key.createdAt),
    last_used_at: timestampOrNull(key.lastUsedAt),
    permission: key.permission,
    domain_id: key.domainId,
  }
}

const listOrNull = (addresses: string[]): string[] | null => (addresses.length > 0 ? addresses : null)

/** An element of GET /emails. */
export function presentEmailSummary(email: EmailSummary): emails.EmailSummary {
  return {
    id: email.id,
    message_id: email.messageId,
    to: email.to,
    from: email.from,
    created_at: timestamp(email.createdAt),
    subject: email.subject,
    bcc: listOrNull(email.bcc),
    cc: listOrNull(email.cc),
    reply_to: listOrNull(email.replyTo),
    last_event: email.lastEvent,
    scheduled_at: timestampOrNull(email.scheduledAt),
  }
}

/** GET /emails/:id */
export function presentEmail(email: Email): emails.Email {
  return {
    object: 'email',
    ...presentEmailSummary(email),
    html: email.html,
    text: email.text,
    tags: email.tags,
  }
}

/** One recipient of an email and where its delivery stands. */
export function presentDelivery(delivery: Delivery): timeline.Delivery {
  return {
    id: delivery.id,
    email_id: delivery.emailId,
    recipient: delivery.recipient,
    field: delivery.field,
    lane: delivery.lane,
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: timestamp(delivery.createdAt),
    updated_at: timestamp(delivery.updatedAt),
    next_attempt_at: timestampOrNull(delivery.dueAt),
    expires_at: timestampOrNull(delivery.expiresAt),
    cause: delivery.cause,
  }
}

function presentAttempt(attempt: Attempt): timeline.Attempt {
  return {
    id: attempt.id,
    delivery_ids: attempt.deliveryIds,
    started_at: timestamp(attempt.startedAt),
    ended_at: timestamp(attempt.endedAt),
    host: attempt.transcript.host,
    ip: attempt.transcript.ip,
    tls: attempt.transcript.tls,
    steps: attempt.transcript.steps,
  }
}

function presentEvent(event: EmailEvent): timeline.EmailEvent {
  return {
    id: event.id,
    type: event.type,
    created_at: timestamp(event.createdAt),
    delivery_id: event.deliveryId,
    recipient: event.data.recipient ?? null,
    cause: event.data.cause ?? null,
  }
}

/** GET /emails/:id/timeline */
export function presentTimeline(emailId: string, history: EmailHistory): timeline.Timeline {
  return {
    object: 'timeline',
    email_id: emailId,
    deliveries: history.deliveries.map(presentDelivery),
    attempts: history.attempts.map(presentAttempt),
    events: history.events.map(presentEvent),
  }
}
