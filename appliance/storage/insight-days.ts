/** Number of sent emails of a domain that failed each check, by day. Counted in the background from the events. */
import { sql } from 'kysely'
import { type EventCursor, isAfter } from './event-cursor.ts'
import { isAfterCursor, getReaderCursor, toCursor, eventOrder, moveCursor, isUpToCursor } from './events.ts'
import type { Db } from './schema.ts'

/** A sent email that hasn't been checked yet. */
export interface UncheckedEmail {
  id: string
  teamId: string
  domainId: string
  /** When the first attempt of the email began (Unix milliseconds). */
  sentAt: number
}

/** A number to add to a day. `check` is empty for the number of checked emails. */
export interface InsightCount {
  teamId: string
  domainId: string
  /** `YYYY-MM-DD` in UTC. */
  day: string
  check: string
  n: number
}

/** Number of events that one step reads. Most of them aren't about emails that were just sent. */
const EVENTS = 250

/**
 * Reads the next events and returns those emails among them that apps sent. Skips broadcasts, which are reviewed before
 * sending, and the server's own mail.
 */
async function readUnchecked(db: Db): Promise<{
  from: EventCursor
  to: EventCursor
  emails: UncheckedEmail[]
  /** Whether there are more events. */
  more: boolean
}> {
  const from = await getReaderCursor(db, 'insights')
  const events = await db
    .selectFrom('events')
    .select(['seq'])
    .where(isAfterCursor('events', from))
    .orderBy(eventOrder('events'))
    .limit(EVENTS + 1)
    .execute()
  if (events.length === 0) return { from, to: from, emails: [], more: false }
  const to = toCursor(events.slice(0, EVENTS).at(-1)!)
  const rows = await db
    .selectFrom('events as v')
    .innerJoin('emails as e', 'e.id', 'v.email_id')
    .select(['e.id', 'e.team_id', 'e.domain_id', 'v.created_at'])
    .where(isAfterCursor('v', from))
    .where(isUpToCursor('v', to))
    .where('v.type', '=', 'email.sent')
    .where('e.via', 'in', ['rest', 'smtp', 'dashboard'])
    .where('e.broadcast_id', 'is', null)
    .orderBy(eventOrder('v'))
    .execute()
  const emails = rows.map(({ id, team_id, domain_id, created_at }) => ({
    id,
    teamId: team_id,
    domainId: domain_id,
    sentAt: created_at,
  }))
  return { from, to, emails, more: isAfter(toCursor(events.at(-1)!), to) }
}

/** Adds numbers and moves the cursor. Returns false and adds nothing if another process has already moved it. */
async function addInsightDays(
  db: Db,
  { from, to, counts }: { from: EventCursor; to: EventCursor; counts: readonly InsightCount[] },
): Promise<boolean> {
  if (!(await moveCursor(db, { reader: 'insights', from, to }))) return false
  for (const { teamId, domainId, day, check, n } of counts)
    await db
      .insertInto('insight_days')
      .values({ team_id: teamId, domain_id: domainId, day, check_id: check, n })
      .onConflict((conflict) =>
        conflict
          .columns(['team_id', 'domain_id', 'day', 'check_id'])
          .doUpdateSet({ n: sql<number>`insight_days.n + excluded.n` }),
      )
      .execute()
  return true
}

/** Lists the numbers of a domain from `since` on (`YYYY-MM-DD`), by day and check. */
async function listInsightDays(
  db: Db,
  { teamId, domainId, since }: { teamId: string; domainId: string; since: string },
): Promise<{ day: string; check: string; n: number }[]> {
  const rows = await db
    .selectFrom('insight_days')
    .select(['day', 'check_id', 'n'])
    .where('team_id', '=', teamId)
    .where('domain_id', '=', domainId)
    .where('day', '>=', since)
    .orderBy('day')
    .orderBy('check_id')
    .execute()
  return rows.map(({ day, check_id: check, n }) => ({ day, check, n: Number(n) }))
}

/** Removes days before `before` (`YYYY-MM-DD`). Returns the number of rows. */
async function purgeInsightDays(db: Db, { before }: { before: string }): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('insight_days')
    .where('day', '<', before)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export const methods = {
  reads: { readUnchecked, listInsightDays },
  writes: { addInsightDays, purgeInsightDays },
}
