/** Judges what the webhook endpoint was told: each event at least once, and again only under the same id. Pure. */
import type { KnownEvent, Ledger } from './ledger.ts'

/** What became of the events of emails. */
export interface EventsVerdict {
  /** Events that the daemon knows in the end. */
  events: number
  /** Ids that the endpoint was told of, of whatever kind of event; each once, however often it came. */
  told: number
  /** Requests beyond the first of an id. */
  repeated: number
  /** `email type instant` of events that the endpoint was never told of, and `mark recipient` whose end it was not told of. */
  untold: string[]
  /** Events that came under more than one id, ids that told two things, and what was told that the daemon knows nothing of. */
  strange: string[]
}

/** Of an email's events, those that end the way to a recipient. */
const ENDS = new Set(['email.delivered', 'email.bounced'])

/**
 * Judges. Two events of one email may be of one kind and one instant (two recipients), so events are counted and not only looked up: as
 * many ids as there are events.
 */
export function judgeEvents({ known, told, sent }: Pick<Ledger, 'known' | 'told' | 'sent'>): EventsVerdict {
  const ids = new Map<string, Set<string>>()
  const keyOfId = new Map<string, string>()
  const ended = new Set<string>()
  const strange: string[] = []
  for (const { id, emailId, type, at, to } of told) {
    const key = `${emailId ?? '-'} ${type} ${new Date(at).toISOString()}`
    const before = keyOfId.get(id) ?? key
    if (before !== key) strange.push(`${id}: told ${before}, then ${key}`)
    keyOfId.set(id, before)
    if (emailId === null) continue
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

function countKnown(known: readonly KnownEvent[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { emailId, type, at } of known) {
    const key = `${emailId} ${type} ${new Date(at).toISOString()}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** By the clients' own records: whoever was promised an email must have an end that the app was told of. */
function untoldEnds(sent: Ledger['sent'], ended: ReadonlySet<string>): string[] {
  return sent
    .filter(({ ids, tries }) => ids.length > 0 || tries.some(({ accepted }) => accepted))
    .flatMap(({ mark, recipients }) =>
      recipients.filter((one) => !ended.has(one)).map((one) => `${mark} ${one}: no word of its end`),
    )
}
