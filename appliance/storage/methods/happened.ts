/** Finding emails by what happened to them: the counters of the metrics, asked the other way round. */
import { sql, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely'
import { bouncedAbout, type Counted } from '../../mail/counted.ts'
import type { Tables } from '../schema.ts'
import type { Happened } from '../storage.ts'

/** Of the two kinds of opens and clicks, the one that is counted for itself. */
const BY_ROBOTS = '_by_robots'

/**
 * Whether one event of an email meets all of it. The events of each email that is looked at are read by an index, some
 * microseconds an email.
 */
export function happenedTo(where: ExpressionBuilder<Tables, 'emails'>, of: Happened): Expression<SqlBool> {
  let events = where.selectFrom('events as e').select('e.seq').whereRef('e.email_id', '=', 'emails.id')
  if (of.event !== undefined) events = events.where(isCounted(of.event))
  if (of.since !== undefined) events = events.where('e.created_at', '>=', of.since)
  if (of.until !== undefined) events = events.where('e.created_at', '<', of.until)
  if (of.provider !== undefined) events = events.where('e.provider', '=', of.provider)
  if (of.bounce !== undefined) events = events.where('e.type', '=', 'email.bounced').where(isAbout(of.bounce))
  return where.exists(events)
}

function isCounted(event: Counted): Expression<SqlBool> {
  const robots = event.endsWith(BY_ROBOTS)
  const type = `email.${robots ? event.slice(0, -BY_ROBOTS.length) : event}`
  if (!robots && event !== 'opened' && event !== 'clicked') return sql<SqlBool>`e.type = ${type}`
  return robots
    ? sql<SqlBool>`e.type = ${type} and e.counted = ${event}`
    : sql<SqlBool>`e.type = ${type} and e.counted <> ${event + BY_ROBOTS}`
}

/** The counters of an event are words with spaces between; that of the category stands last. */
const isAbout = (category: NonNullable<Happened['bounce']>): Expression<SqlBool> =>
  category === 'undetermined'
    ? sql<SqlBool>`e.counted not like ${`% ${bouncedAbout('%')}`}`
    : sql<SqlBool>`e.counted like ${`% ${bouncedAbout(category)}`}`
