/** Queues the recipients of a broadcast, and holds back the mail of a paused or canceled one. */
import { listHeldProviders, type ProviderHolds } from '../../mail/automatic-pause.ts'
import type { SkipReason } from '../../mail/broadcast.ts'
import { computeNextTime } from '../../mail/broadcast-rate.ts'
import { canceledResult } from '../broadcasts/recipients.ts'
import { createTopicOptOutChecker } from '../audience/topic-opt-outs.ts'
import { FINAL_QUEUE_COLUMNS_SQL } from '../deliveries.ts'
import type { Connection } from '../connection.ts'
import { createSuppressionMarker, createEmailInserter, type StoredEmail } from './put.ts'

/** An email of a broadcast. `body` contains what is needed to compose the message later. */
export type BroadcastEmail = StoredEmail & { broadcast: { id: string; contactId: string } }

export interface EnqueueArgs {
  id: string
  emails: BroadcastEmail[]
  /** Recipients whose contacts were deleted. */
  deleted: string[]
  /** Recipients whose provider has become known. */
  moved: { contactId: string; provider: string }[]
  /** Recipients that were drawn for an A/B test, but get the winner. */
  untested?: string[] | undefined
}

/** The result of a step. If the broadcast was paused or has ended, the step returns undefined and changes nothing. */
export interface EnqueueResult {
  enqueued: number
  skipped: number
}

/** The columns of a broadcast that queuing reads. */
interface Going {
  seq: number
  topic_id: string | null
  skipped: string
  hourly_rate: number | null
  next_at: number | null
}

/**
 * Queues waiting recipients, each with a separate email, and skips those who have opted out. A recipient is never queued
 * twice, because emails, recipients, counts and the pace are written in one transaction. Performance-critical: uses plain
 * statements, prepared once.
 */
function createEnqueue(db: Connection): (args: EnqueueArgs, now: number) => EnqueueResult | undefined {
  const find = db.prepare<[string], Going>(
    `select seq, topic_id, skipped, hourly_rate, next_at from broadcasts
     where id = ? and status = 'queued' and paused_at is null`,
  )
  const take = db.prepare<[string | null, SkipReason | null, number, string]>(
    `update broadcast_recipients set bucket = null, email_id = ?, skipped = ?
     where broadcast = ? and contact_id = ? and bucket is not null`,
  )
  const move = db.prepare<[string, number, string]>(
    'update broadcast_recipients set bucket = ? where broadcast = ? and contact_id = ? and bucket is not null',
  )
  const untest = db.prepare<[number, string]>(
    'update broadcast_recipients set variant = null where broadcast = ? and contact_id = ? and bucket is not null',
  )
  const count = db.prepare(
    'update broadcasts set enqueued = enqueued + ?, skipped = ?, next_at = ? where id = ?',
  )
  const findOptOuts = createTopicOptOutChecker(db)
  const heedSuppressions = createSuppressionMarker(db)
  const insert = createEmailInserter(db)

  return ({ id, emails, deleted, moved, untested = [] }, now) => {
    const broadcast = find.get(id)
    if (!broadcast) return undefined
    const { seq } = broadcast
    for (const { contactId, provider } of moved) move.run(provider, seq, contactId)
    for (const contactId of untested) untest.run(seq, contactId)
    const skips = JSON.parse(broadcast.skipped) as Partial<Record<SkipReason, number>>
    let skipped = 0
    const skip = (contactId: string, reason: SkipReason): void => {
      if (take.run(null, reason, seq, contactId).changes === 0) return
      skips[reason] = (skips[reason] ?? 0) + 1
      skipped += 1
    }
    for (const contactId of deleted) skip(contactId, 'deleted')
    const optOuts = findOptOuts(
      emails.map(({ teamId, deliveries, broadcast: { contactId } }) => ({
        teamId,
        topicId: broadcast.topic_id,
        address: deliveries[0]!.recipient,
        contactId,
      })),
    )
    const going = emails.filter(({ id: emailId, broadcast: { contactId } }, at) => {
      const out = optOuts[at]
      // A contact whose address changed isn't skipped. It is requested again with the new address.
      if (out && out.reason !== 'deleted') skip(contactId, out.reason)
      return !out && take.run(emailId, null, seq, contactId).changes === 1
    })
    heedSuppressions(going)
    insert(going, now)
    const pace = { hourlyRate: broadcast.hourly_rate, nextAt: broadcast.next_at }
    count.run(going.length, JSON.stringify(skips), computeNextTime(pace, going.length, now), id)
    return { enqueued: going.length, skipped }
  }
}

/** A delivery that is about to be leased. */
interface Gated {
  row: number
  email_id: string
  provider: string
  broadcast_id: string | null
}

/**
 * The columns that `createBroadcastHold` reads of a broadcast that is paused or canceled, or held for some providers.
 */
interface Stopped {
  id: string
  canceled: 0 | 1
  paused: 0 | 1
  /** JSON: ProviderHolds; null if there is none. */
  holds: string | null
}

/**
 * Part of `lease`: holds back mail of a broadcast that isn't running. Mail of a paused broadcast, and mail to a provider
 * for which it is held, is parked outside the queues until `releaseParked`; mail of a canceled broadcast ends.
 */
export function createBroadcastHold(
  db: Connection,
): <R extends Gated>(rows: readonly R[], now: number) => readonly R[] {
  const find = db.prepare<[string], Stopped>(
    `select id, status = 'canceled' as canceled, paused_at is not null as paused, holds from broadcasts
     where id in (select value from json_each(?)) and (paused_at is not null or status = 'canceled' or holds is not null)`,
  )
  const park = db.prepare(`update deliveries set state = 'held', touched_by = ? where rowid = ?`)
  const end = db.prepare(
    `update deliveries set state = ?, cause = ?, updated_at = ?, ${FINAL_QUEUE_COLUMNS_SQL} where rowid = ?`,
  )
  const updateEmail = db.prepare(`update emails set last_event = 'canceled' where id = ?`)
  return (rows, now) => {
    const ids = new Set(rows.flatMap(({ broadcast_id: id }) => id ?? []))
    if (ids.size === 0) return rows
    const stopped = new Map(
      find.all(JSON.stringify([...ids])).map((one) => [one.id, { ...one, held: heldBy(one) }]),
    )
    if (stopped.size === 0) return rows
    return rows.filter(({ row, email_id: emailId, provider, broadcast_id: id }) => {
      const broadcast = id === null ? undefined : stopped.get(id)
      if (!broadcast) return true
      if (broadcast.canceled) {
        end.run(canceledResult.state, canceledResult.cause, now, row)
        updateEmail.run(emailId)
      } else if (broadcast.paused || broadcast.held.has(provider)) park.run(id, row)
      else return true
      return false
    })
  }
}

const heldBy = ({ holds }: Stopped): Set<string> =>
  new Set(holds === null ? [] : listHeldProviders(JSON.parse(holds) as ProviderHolds))

export const methods = {
  prepared: { enqueueBroadcast: createEnqueue },
}
