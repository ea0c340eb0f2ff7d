/** Counts of an audience, stored in addition to the rows. Each transaction adds its changes. */
import type { AudienceCountsTable } from './tables.ts'
import type { Db } from '../schema.ts'

/** A change of a count: the noun, its segment, topic or day (or empty), and the difference. */
export type Delta = readonly [noun: AudienceCountsTable['noun'], subject: string, n: number]

const DAY = 86_400_000
/** Returns the day of a time in UTC, as `2026-01-31`. */
export const toUtcDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Returns the changes of the counts for `n` contacts that were created at `at`. */
export const createdContactDeltas = (at: number, n: number): Delta[] => [
  ['contacts', '', n],
  ['created_on', toUtcDay(at), n],
]

/** Returns the changes of the counts for `n` contacts that opted out of everything at `at`. */
export const optOutDeltas = (at: number, n: number): Delta[] => [
  ['unsubscribed', '', n],
  ['unsubscribed_on', toUtcDay(at), n],
]

/** Adds changes to the counts of a team, in one statement. */
export async function addCounts(db: Db, teamId: string, deltas: readonly Delta[]): Promise<void> {
  const sums = Map.groupBy(deltas, ([noun, subject]) => JSON.stringify([noun, subject]))
  const rows = [...sums.values()].flatMap((same) => {
    const [noun, subject] = same[0]!
    const n = same.reduce((sum, [, , one]) => sum + one, 0)
    return n === 0 ? [] : [{ team_id: teamId, noun, subject, n }]
  })
  if (rows.length === 0) return
  await db
    .insertInto('audience_counts')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['team_id', 'noun', 'subject'])
        .doUpdateSet((row) => ({ n: row('audience_counts.n', '+', row.ref('excluded.n')) })),
    )
    .execute()
}

/** Deletes the counts of a segment or topic. */
export async function deleteCounts(db: Db, teamId: string, subject: string): Promise<void> {
  await db
    .deleteFrom('audience_counts')
    .where('team_id', '=', teamId)
    .where('noun', 'in', ['segment', 'opt_in', 'opt_out'])
    .where('subject', '=', subject)
    .execute()
}

/**
 * Returns the counts of some nouns, by noun and subject. Missing counts are 0.
 * @param from excludes smaller subjects
 */
export async function getCounts(
  db: Db,
  teamId: string,
  nouns: AudienceCountsTable['noun'][],
  from = '',
): Promise<(noun: AudienceCountsTable['noun'], subject?: string) => number> {
  const rows = await db
    .selectFrom('audience_counts')
    .select(['noun', 'subject', 'n'])
    .where('team_id', '=', teamId)
    .where('noun', 'in', nouns)
    .where('subject', '>=', from)
    .execute()
  const found = new Map(rows.map((row) => [`${row.noun} ${row.subject}`, row.n]))
  return (noun, subject = '') => found.get(`${noun} ${subject}`) ?? 0
}

export interface ContactCounts {
  contacts: number
  unsubscribed: number
}

/** Returns the number of contacts of a team. */
async function countContacts(db: Db, { teamId }: { teamId: string }): Promise<ContactCounts> {
  const count = await getCounts(db, teamId, ['contacts', 'unsubscribed'])
  return { contacts: count('contacts'), unsubscribed: count('unsubscribed') }
}

/** The growth of an audience on one day, in UTC. Counts contacts that still exist. */
export interface AudienceDay {
  /** The UTC day, such as `2026-01-31`. */
  date: string
  /** Number of contacts that were created. */
  created: number
  /** Number of contacts that opted out of everything and are still opted out. */
  unsubscribed: number
}

/** Returns the last `days` days of a team. Today is the last one. */
async function audienceDays(
  db: Db,
  { teamId, days }: { teamId: string; days: number },
  now: number,
): Promise<AudienceDay[]> {
  const count = await getCounts(
    db,
    teamId,
    ['created_on', 'unsubscribed_on'],
    toUtcDay(now - (days - 1) * DAY),
  )
  return Array.from({ length: days }, (_, at) => {
    const date = toUtcDay(now - (days - 1 - at) * DAY)
    return { date, created: count('created_on', date), unsubscribed: count('unsubscribed_on', date) }
  })
}

export const methods = {
  reads: { countContacts, audienceDays },
}
