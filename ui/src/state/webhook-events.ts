/** Texts for rows of the webhook log. Pure. */
import type { WebhookEventObject, WebhookEventSummary } from '../../../appliance/api/webhook-events.ts'
import { formatDuration } from './time.ts'

const ERASED = '@erased.invalid'

/** Describes the object that an event is about. */
export function describeWebhookSubject({ object, names, subject, erased, removed }: WebhookEventObject): {
  who: string
  what: string
} {
  const [first = '', ...others] = names.map((name) => (name.endsWith(ERASED) ? 'erased address' : name))
  const who = others.length === 0 ? first : `${first} +${others.length}`
  if (object === 'domain' || object === 'suppression' || object === 'alert') return { who, what: '' }
  const words = subject === null || subject === '' ? (erased ? 'erased' : '(no subject)') : subject
  return { who, what: removed ? `email removed · ${words}` : words }
}

/** Returns the path of the event's email; null if it has none or it was deleted. */
export function getEmailPath(about: WebhookEventObject | null): string | null {
  if (about?.object === 'received_email') return `/inbound/${about.id}`
  return about?.object === 'email' && !about.removed ? `/emails/${about.id}` : null
}

/** Describes the newest request: `503, 1.24 s`; empty before the first one. */
export function describeLastRequest({
  last_request: last,
}: Pick<WebhookEventSummary, 'last_request'>): string {
  if (last === null) return ''
  return `${last.http_status_code === 0 ? 'no response' : last.http_status_code}, ${formatDuration(last.duration_ms)}`
}

/** Describes a started replay. A disabled endpoint receives nothing until it is enabled. */
export function describeReplay(events: number, enabled: boolean): string {
  const many = events === 1 ? '1 event' : `${events} events`
  if (events === 0) return 'No events to replay.'
  return enabled ? `Replaying ${many}.` : `${many} pending until the webhook is enabled.`
}
