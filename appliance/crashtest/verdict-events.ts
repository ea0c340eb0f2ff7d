/**
 * Evaluates the events that the webhook endpoint received: each at least once, and repeated only under the same ID.
 * Pure.
 */
import type { ReportedEvent, Ledger } from './ledger.ts'

/** The verdict on the emails' events. */
export interface EventsVerdict {
  /** Number of events in the daemon's final report. */
  events: number
  /** Number of different event IDs received, of any kind of event. */
  told: number
  /** Number of repeated requests with the same ID. */
  repeated: number
  /** `email type time` of events never received, and `mark recipient` without a final event. */
  untold: string[]
  /** Events received under several IDs, IDs used for two events, and events that the daemon doesn't know. */
  strange: string[]
}

/** Events that end the delivery to a recipient. */
const ENDS = new Set(['email.delivered', 'email.bounced'])

/**
 * Evaluates the events. Two events of an email may have the same kind and time (two recipients), so events are counted:
 * there must be as many IDs as events.
 */
export function evaluateEvents({
  known,
  told,
  sent,
}: Pick<Ledger, 'known' | 'told' | 'sent'>): EventsVerdict {
  const ids = new Map<string, Set<string>>()
  const keyOfId = new Map<string, string>()
  const ended = new Set<string>()
  const strange: string[] = []
  for (const { id, emailId, type, at, to } of told) {
    const key = `${emailId ?? '-'} ${type} ${new Date(at).toISOString()}`
    const before = keyOfId.get(id) ?? key
    if (before !== key) strange.push(`${id}: told ${before}, then ${key}`)
    keyOfId.set(id, before)
    // `evaluateArrivals` checks the events of received emails.
    if (emailId === null || type === 'email.received') continue
    ids.set(key, (ids.get(key) ?? new Set()).add(id))
    if (ENDS.has(type)) for (const recipient of to) ended.add(recipient)
  }
  const untold: string[] = []
  const counts = countKnown(known ?? [])
  for (const [key, count] of counts) {
    const heard = ids.get(key)?.size ?? 0
    if (heard < count) untold.push(count === 1 ? key : `${key}: ${heard} of ${count}`)
    if (heard > count)
      strange.push(`${key}: ${heard} ids for ${count === 1 ? 'one event' : `${count} events`}`)
  }
  for (const key of ids.keys())
    if (known !== null && !counts.has(key)) strange.push(`${key}: told, and the daemon knows no such event`)
  untold.push(...untoldEnds(sent, ended))
  const repeated = told.length - keyOfId.size
  return { events: known?.length ?? 0, told: keyOfId.size, repeated, untold, strange }
}

function countKnown(known: readonly ReportedEvent[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { emailId, type, at } of known) {
    const key = `${emailId} ${type} ${new Date(at).toISOString()}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** Finds accepted emails without a final event, using the clients' own records. */
function untoldEnds(sent: Ledger['sent'], ended: ReadonlySet<string>): string[] {
  return sent
    .filter(({ ids, tries }) => ids.length > 0 || tries.some(({ accepted }) => accepted))
    .flatMap(({ mark, recipients }) =>
      recipients.filter((one) => !ended.has(one)).map((one) => `${mark} ${one}: no word of its end`),
    )
}
