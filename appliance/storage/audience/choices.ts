/** Contacts' topic choices. Each choice is a row. Without a row, the topic's default applies. */
import {
  type ConsentContext,
  mayReplaceChoice,
  type Subscription,
  type TopicChoice,
} from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { recordConsents } from './consents.ts'
import type { Contact } from './contact-rows.ts'
import { addCounts, type Delta } from './counts.ts'

/** A requested choice. */
export interface RequestedChoice {
  id: string
  subscription: Subscription
}

/** Returns the explicit choices by contact, except those for deleted topics. */
export async function getChoices(
  db: Db,
  contactIds: readonly string[],
): Promise<Map<string, Map<string, TopicChoice>>> {
  if (contactIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('contact_topics as c')
    .innerJoin('topics as t', 't.id', 'c.topic_id')
    .select(['c.contact_id', 'c.topic_id', 'c.subscription', 'c.origin', 'c.changed_at'])
    .where('c.contact_id', 'in', contactIds)
    .where('t.deleted_at', 'is', null)
    .execute()
  const byContact = Map.groupBy(rows, (row) => row.contact_id)
  return new Map(
    [...byContact].map(([contactId, chosen]) => [
      contactId,
      new Map(
        chosen.map((row) => [
          row.topic_id,
          {
            topicId: row.topic_id,
            subscription: row.subscription,
            origin: row.origin,
            changedAt: row.changed_at,
          },
        ]),
      ),
    ]),
  )
}

/**
 * Stores the choices that `mayReplaceChoice` allows, with their entries in the consent log and their counts. Returns
 * the choices that changed.
 */
export async function applyChoices(
  db: Db,
  contact: Pick<Contact, 'id' | 'teamId'>,
  asked: readonly RequestedChoice[],
  act: ConsentContext,
  now: number,
): Promise<RequestedChoice[]> {
  if (asked.length === 0) return []
  const current = (await getChoices(db, [contact.id])).get(contact.id) ?? new Map<string, TopicChoice>()
  // If a topic occurs more than once, the last choice applies.
  const last = new Map(asked.map(({ id, subscription }) => [id, subscription]))
  const changed = [...last].flatMap(([id, subscription]) =>
    mayReplaceChoice(current.get(id), subscription, act) ? [{ id, subscription }] : [],
  )
  if (changed.length === 0) return []
  await saveChoices(
    db,
    contact,
    changed.map(({ id, subscription }) => ({
      topicId: id,
      subscription,
      origin: act.origin,
      changedAt: now,
    })),
  )
  const was = (id: string): Subscription | null => current.get(id)?.subscription ?? null
  const log = changed.map(({ id, subscription }) => ({ scope: id, was: was(id), subscription }))
  await recordConsents(db, contact, log, act, now)
  const deltas = log.flatMap(({ scope, was, subscription }): Delta[] => [
    [subscription, scope, 1],
    ...(was === null ? [] : [[was, scope, -1] as const]),
  ])
  await addCounts(db, contact.teamId, deltas)
  return changed
}

/** Overwrites choices without checking the existing ones. */
export async function saveChoices(
  db: Db,
  { id, teamId }: Pick<Contact, 'id' | 'teamId'>,
  choices: readonly TopicChoice[],
): Promise<void> {
  if (choices.length === 0) return
  await db
    .insertInto('contact_topics')
    .values(
      choices.map(({ topicId, subscription, origin, changedAt }) => ({
        topic_id: topicId,
        contact_id: id,
        team_id: teamId,
        subscription,
        origin,
        changed_at: changedAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['topic_id', 'contact_id']).doUpdateSet((row) => ({
        subscription: row.ref('excluded.subscription'),
        origin: row.ref('excluded.origin'),
        changed_at: row.ref('excluded.changed_at'),
      })),
    )
    .execute()
}
