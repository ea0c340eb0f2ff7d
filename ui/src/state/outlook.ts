/** Describes what happens next to a delivery, or why nothing does. Pure. */
import type { Delivery } from '../../../appliance/api/timeline.ts'
import { formatDuration, parseInstant, formatSpan } from './time.ts'

export interface DeliveryOutlook {
  final: boolean
  title: string
  detail: string
  /** Times of the next attempt and of expiry, in Unix milliseconds; null if there is none. */
  next: number | null
  givenUp: number | null
}

type Ending = [title: string, detail: string]

/** Reasons for bounces without a remote reply, by Posthaste's enhanced status code (RFC 3463). */
const NOBODY_ASKED: Record<string, string> = {
  '5.1.2': 'The recipient’s domain does not exist, so no mail server was contacted.',
  '5.1.3': 'The recipient’s address cannot be used in SMTP, so the message was not sent.',
  '5.1.10': 'This domain does not accept mail (null MX, RFC 7505), so no mail server was contacted.',
  '5.3.4': 'The message is larger than the recipient’s mail server accepts.',
  '5.4.6': 'Mail for this domain would loop back to this server, so it was not sent.',
}

function bounced({ cause }: Delivery): Ending {
  const host = cause?.host ?? 'The recipient’s mail server'
  if (cause?.reply) return ['Final status: bounced', `${host} rejected it permanently.`]
  const known = NOBODY_ASKED[cause?.status ?? '']
  if (known !== undefined) return ['Final status: undeliverable', known]
  if (cause?.category === 'dns')
    return ['Final status: undeliverable', 'The domain has no usable mail server, so none was contacted.']
  if (cause?.category === 'tls')
    return ['Final status: not sent', `${host} does not offer the TLS protection that the sender requires.`]
  return ['Final status: undeliverable', `${host} does not support a feature that this message requires.`]
}

/** Descriptions of the last problem of an expired delivery, by category. */
const LAST_PROBLEM: Partial<Record<string, string>> = {
  dns: 'The domain’s DNS records could not be looked up in time.',
  network: 'The recipient’s mail servers could not be reached in time.',
  tls: 'No TLS connection that meets the policy could be established in time.',
  'mailbox-full': 'The recipient’s mailbox stayed full.',
}

function expired({ cause }: Delivery): Ending {
  if (cause?.by === 'operator')
    return ['Final status: expired', 'An operator stopped further attempts. It was not delivered.']
  const problem = LAST_PROBLEM[cause?.category ?? ''] ?? 'No mail server accepted it in time.'
  return ['Final status: expired', `${problem} No more attempts will be made.`]
}

function failed({ cause }: Delivery): Ending {
  if (cause?.by === 'operator')
    return ['Final status: dropped', 'An operator removed it from the queue. It was not delivered.']
  if (cause?.by === 'erasure')
    return ['Final status: erased', 'The recipient’s data was erased, so it was not sent.']
  if (cause?.status === '5.4.4')
    return [
      'Final status: failed',
      'This server’s settings do not allow connections to the domain’s mail servers.',
    ]
  return ['Final status: failed', 'This server could not send it. Fix the problem above, then send it again.']
}

function ending(delivery: Delivery): Ending {
  switch (delivery.status) {
    case 'complained':
      return ['Final status: complained', 'It was delivered, and the recipient reported it as spam.']
    case 'bounced':
      return bounced(delivery)
    case 'expired':
      return expired(delivery)
    case 'failed':
      return failed(delivery)
    case 'suppressed':
      return ['Final status: suppressed', 'The address is on the suppression list, so no attempt was made.']
    case 'canceled':
      return ['Final status: canceled', 'The sender canceled it before the first attempt.']
    default:
      return ['Final status: delivered', 'The recipient’s mail server has accepted the message.']
  }
}

/** Returns the `DeliveryOutlook` of a delivery. */
export function describeOutlook(delivery: Delivery, now: number): DeliveryOutlook {
  const { state } = delivery
  if (state === 'held') {
    const detail = 'An operator is holding this delivery. It stays in the queue until it is released.'
    return { final: false, title: 'Held', detail, next: null, givenUp: null }
  }
  if (state !== 'waiting') {
    const [title, detail] = ending(delivery)
    return { final: true, title, detail, next: null, givenUp: null }
  }
  const next = delivery.next_attempt_at === null ? null : parseInstant(delivery.next_attempt_at)
  const givenUp = delivery.expires_at === null ? null : parseInstant(delivery.expires_at)
  const which = delivery.attempts === 0 ? 'First' : 'Next'
  const when = next === null || next <= now + 1000 ? 'is due now' : `in ${formatSpan(next - now)}`
  return { final: false, title: `${which} attempt ${when}`, detail: explainWait(delivery), next, givenUp }
}

/**
 * Explains the state of a delivery, with the reply code at the end of the first sentence: `Gmail asked us to slow down
 * (421 4.7.28).`
 */
export function addReplyCode({
  note,
  reply,
}: Pick<NonNullable<Delivery['cause']>, 'note' | 'reply'>): string {
  if (reply === null || note.includes(String(reply.code))) return note
  const code = [reply.code, reply.enhanced].filter((part) => part !== null).join(' ')
  return note.replace(/\.(?=\s|$)|$/, (end) => ` (${code})${end}`)
}

/**
 * Explains why a delivery is queued; empty if the time of the next attempt says enough. Omits the number and time of
 * the next attempt, which are shown separately, and doesn't repeat the last attempt's reason if the text already
 * contains it.
 */
export function explainWait(delivery: Delivery): string {
  const cause = delivery.state === 'held' ? null : delivery.cause
  const why = delivery.waiting?.why ?? ''
  if (cause === null) return why === '' ? '' : sentence(why)
  const because = sentence(addReplyCode(cause))
  // The reason in `why` has no full stop.
  return why === '' || why.endsWith(`: ${cause.note.replace(/\.$/, '')}`)
    ? because
    : `${because} ${sentence(why)}`
}

/** Adds a capital letter and a full stop. A host name at the start isn't capitalized. */
function sentence(text: string): string {
  const [first = ''] = text.split(' ', 1)
  const begun = first.includes('.') ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return begun.endsWith('.') ? begun : `${begun}.`
}

/** Summarizes a delivery in a few words for the heading of its timeline. */
export function summarizeDelivery(delivery: Delivery, now: number): string {
  const attempts = delivery.attempts === 1 ? '1 attempt' : `${delivery.attempts} attempts`
  const took = parseInstant(delivery.updated_at) - parseInstant(delivery.created_at)
  if (delivery.state === 'delivered') return `after ${formatDuration(took)}, ${attempts}`
  const { title, final } = describeOutlook(delivery, now)
  if (final)
    return delivery.attempts === 0 ? 'no attempt was made' : `after ${formatDuration(took)}, ${attempts}`
  return delivery.attempts === 0 ? title : `${title}, ${attempts} so far`
}
