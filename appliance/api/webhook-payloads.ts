/** The payloads sent to endpoints (reference: wire format §5.1, §5.3). */
import { type Alert, ALERT_FIXES, alertTitle } from '../mail/alert.ts'
import type { EventContact, EventTopic } from '../mail/audience.ts'
import type { EventData } from '../mail/event.ts'
import type { EventReceivedEmail } from '../mail/inbound.ts'
import { PING_EVENT } from '../mail/webhook.ts'
import type { OutboxEvent } from '../storage/storage.ts'
import { isoTimestamp } from './timestamp.ts'

/** A webhook payload. It has exactly these three properties, because one of the clients rejects others. */
export interface WebhookPayload {
  type: string
  /** ISO 8601 with milliseconds and Z. */
  created_at: string
  data: Record<string, unknown>
}

/** Formats the payload of an event. */
export function presentWebhookEvent({
  teamId,
  type,
  createdAt,
  emailId,
  email,
  data,
}: OutboxEvent): WebhookPayload {
  const about = email && emailId !== null ? presentEmail(emailId, email, data) : presentOther(teamId, data)
  return { type, created_at: isoTimestamp(createdAt), data: { ...about, ...presentDetail(data) } }
}

/** Formats the payload of a ping. */
export function presentPing(webhookId: string, now: number): WebhookPayload {
  return { type: PING_EVENT, created_at: isoTimestamp(now), data: { webhook_id: webhookId } }
}

/** Formats the data of events that aren't about emails, with the properties of the hosted service's types. */
function presentOther(teamId: string, data: EventData): Record<string, unknown> {
  const { domain, suppression, contact, topic, choices, received, alert } = data
  const ability = (enabled: boolean) => (enabled ? 'enabled' : 'disabled')
  if (domain) {
    const { id, name, status, createdAt, region, sending, receiving, records } = domain
    return {
      id,
      name,
      status,
      created_at: isoTimestamp(createdAt),
      region,
      capabilities: { sending: ability(sending), receiving: ability(receiving) },
      records: records.map(({ priority, ...record }) => ({
        ...record,
        ttl: 'Auto',
        ...(priority !== null && { priority }),
      })),
    }
  }
  if (received) return presentReceived(received)
  if (alert) return presentAlertEvent(alert)
  if (contact) return presentContact(teamId, contact)
  if (topic) return presentTopic(topic)
  if (choices) return { email: choices.email, topics: choices.topics }
  if (!suppression) return {}
  const { id, email, origin, sourceId, createdAt } = suppression
  return { id, email, origin, source_id: sourceId, created_at: isoTimestamp(createdAt) }
}

/** Formats an alert in the state it had when the event occurred. */
function presentAlertEvent(alert: Alert): Record<string, unknown> {
  const { id, kind, scope, subject, note, value, limit, openedAt, closedAt } = alert
  return {
    id,
    kind,
    scope,
    subject,
    title: alertTitle(alert),
    note,
    fix: ALERT_FIXES[kind],
    value,
    limit,
    opened_at: isoTimestamp(openedAt),
    closed_at: closedAt === null ? null : isoTimestamp(closedAt),
  }
}

/** Omits the email's content, like the hosted service; clients fetch it by id. */
function presentReceived(received: EventReceivedEmail): Record<string, unknown> {
  const { emailId, createdAt, from, to, cc, bcc, receivedFor, messageId, subject, attachments } = received
  return {
    email_id: emailId,
    created_at: isoTimestamp(createdAt),
    from,
    to,
    cc,
    bcc,
    received_for: receivedFor,
    message_id: messageId,
    subject,
    attachments: attachments.map(({ id, filename, contentType, disposition, contentId }) => ({
      id,
      filename,
      content_type: contentType,
      content_disposition: disposition,
      content_id: contentId,
    })),
  }
}

/** One of the clients requires an audience id: the first segment, or the team, which stands for all contacts. */
function presentContact(teamId: string, contact: EventContact): Record<string, unknown> {
  const { id, email, firstName, lastName, unsubscribed, segmentIds, createdAt, updatedAt } = contact
  return {
    id,
    audience_id: segmentIds[0] ?? teamId,
    segment_ids: segmentIds,
    created_at: isoTimestamp(createdAt),
    updated_at: isoTimestamp(updatedAt),
    email,
    ...(firstName !== null && { first_name: firstName }),
    ...(lastName !== null && { last_name: lastName }),
    unsubscribed,
  }
}

function presentTopic(topic: EventTopic): Record<string, unknown> {
  const { id, name, description, defaultSubscription, deleted, createdAt, updatedAt } = topic
  return {
    id,
    name,
    description,
    default_subscription: defaultSubscription,
    deleted,
    created_at: isoTimestamp(createdAt),
    updated_at: isoTimestamp(updatedAt),
  }
}

/** Formats the common properties of events about an email. Absent properties are omitted, never null. */
function presentEmail(
  emailId: string,
  email: NonNullable<OutboxEvent['email']>,
  { recipient }: EventData,
): Record<string, unknown> {
  const { createdAt, from, to, subject, messageId, templateId, broadcastId, tags, headers } = email
  return {
    email_id: emailId,
    message_id: messageId,
    created_at: isoTimestamp(createdAt),
    from,
    // The affected recipients: one recipient, or all in the header field.
    to: recipient === undefined ? to : [recipient],
    subject,
    ...(broadcastId !== null && { broadcast_id: broadcastId }),
    ...(templateId !== null && { template_id: templateId }),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags.map(({ name, value }) => [name, value])) }),
    ...(headers.length > 0 && { headers: headers.map(({ name, value }) => ({ name, value })) }),
  }
}

/** Formats the property named after the event type, such as `bounce`, which some types have. */
function presentDetail(data: EventData): Record<string, unknown> {
  const { bounce, failed, suppressed, open, click } = data
  return {
    ...(bounce && {
      bounce: {
        message: bounce.message,
        subType: bounce.subType,
        type: bounce.type,
        diagnosticCode: bounce.diagnosticCode,
      },
    }),
    ...(failed && { failed: { reason: failed.reason } }),
    ...(suppressed && {
      suppressed: {
        message: suppressed.message,
        type: suppressed.type,
        // Typed clients require a reason and know only two. If a person added the address, `type` says so.
        reason: suppressed.reason ?? 'previous_complaint',
        // No server was contacted this time.
        diagnosticCode: [],
      },
    }),
    ...(open && { open }),
    ...(click && { click }),
  }
}
