/** Checks whether mail about a topic may go to an address, in the transaction that accepts or leases it. */
import {
  deletedContactCause,
  effectiveSubscription,
  createOptOutCause,
  type Subscription,
} from '../../mail/audience.ts'
import { hashAddress } from '../../mail/erasure.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Connection } from '../connection.ts'

/** A recipient of an email about a topic, or of a broadcast. */
interface TopicMail {
  teamId: string
  /** The topic; null for a broadcast to everyone who hasn't opted out of everything. */
  topicId: string | null
  /** The domain in A-labels. */
  address: string
  /** ID of the contact; set for a broadcast, which is sent only to existing contacts. */
  contactId?: string | null | undefined
}

/** The reason why a recipient gets nothing. */
interface OptedOut {
  reason: 'unsubscribed' | 'topic' | 'deleted'
  cause: Cause
}

/** `name` and `preset` are null if the topic was deleted; `contact` is null if the address has no contact. */
interface Row {
  at: number
  name: string | null
  preset: Subscription | null
  contact: string | null
  unsubscribed: number | null
  choice: Subscription | null
}

/**
 * Checks recipients against the topics of their mail, by the rules of `topicRecipients`. Returns the reason why each
 * gets nothing, in the order given; undefined if the mail is sent. For a deleted topic, only opt-outs of everything
 * count. The number of statements doesn't depend on the number of recipients.
 */
export function createTopicOptOutChecker(
  db: Connection,
): (asked: readonly TopicMail[]) => (OptedOut | undefined)[] {
  const find = db.prepare<[string], Row>(
    `select cast(asked.value ->> 0 as integer) as at, t.name, t.default_subscription as preset, c.id as contact, c.unsubscribed_at as unsubscribed,
       x.subscription as choice
     from json_each(?) as asked
     left join topics t on t.id = asked.value ->> 2 and t.team_id = asked.value ->> 1 and t.deleted_at is null
     left join contacts c on c.team_id = asked.value ->> 1 and c.address_key = asked.value ->> 3
     left join contact_topics x on x.topic_id = t.id and x.contact_id = c.id`,
  )
  const findKept = createKept(db)
  return (asked) => {
    if (asked.length === 0) return []
    const rows = find.all(
      JSON.stringify(
        asked.map(({ teamId, topicId, address }, at) => [at, teamId, topicId, toSuppressionKey(address)]),
      ),
    )
    const byPlace = new Map(rows.map((row) => [row.at, row]))
    const kept = findKept(asked, (at) => byPlace.get(at)?.contact === null)
    const ofTopic = (name: string, chosen: boolean): OptedOut => ({
      reason: 'topic',
      cause: createOptOutCause({ name, chosen }),
    })
    return asked.map(({ topicId, contactId }, at) => {
      const row = byPlace.get(at)!
      const scopes = kept.get(at)
      if (row.unsubscribed !== null || scopes?.has(''))
        return { reason: 'unsubscribed', cause: createOptOutCause(null) }
      if (typeof contactId === 'string' && row.contact !== contactId)
        return { reason: 'deleted', cause: deletedContactCause }
      if (row.name === null || row.preset === null) return undefined
      if (topicId !== null && scopes?.has(topicId)) return ofTopic(row.name, true)
      const choice = row.choice === null ? undefined : { subscription: row.choice }
      if (effectiveSubscription(choice, { defaultSubscription: row.preset }) === 'opt_in') return undefined
      return ofTopic(row.name, row.choice !== null)
    })
  }
}

/**
 * Creates a function that looks up kept opt-outs by the hashes of addresses without a contact. It returns the scopes by
 * index.
 */
function createKept(
  db: Connection,
): (asked: readonly TopicMail[], isStranger: (at: number) => boolean) => Map<number, Set<string>> {
  // Checks which teams have kept opt-outs. Most have none, and computing a hash takes 25 microseconds.
  const keeping = db
    .prepare<[string], string>(
      'select value from json_each(?) where exists (select 1 from opt_outs where team_id = value)',
    )
    .pluck()
  const find = db.prepare<[string], { at: number; scope: string }>(
    `select cast(asked.value ->> 0 as integer) as at, o.scope from json_each(?) as asked
     cross join opt_outs o where o.team_id = asked.value ->> 1 and o.address_hash = asked.value ->> 2`,
  )
  // The key was created by a migration and never changes.
  const key = db.prepare<[], Buffer>("select value from secrets where name = 'erasures'").pluck().get()!
  return (asked, isStranger) => {
    const teams = new Set(keeping.all(JSON.stringify([...new Set(asked.map(({ teamId }) => teamId))])))
    const hashed = asked.flatMap(({ teamId, address }, at) =>
      teams.has(teamId) && isStranger(at) ? [[at, teamId, hashAddress(key, teamId, address)]] : [],
    )
    const found = new Map<number, Set<string>>()
    if (hashed.length === 0) return found
    for (const { at, scope } of find.all(JSON.stringify(hashed)))
      found.set(at, (found.get(at) ?? new Set()).add(scope))
    return found
  }
}
