import type { EventData } from '../../mail/event.ts'
import { countersOf, countsUnique, quarterOf } from '../counters.ts'
import type { EventsTable } from '../schema.ts'
import type { Connection } from './connection.ts'

/** Something that happened. `emailId` is null where it is about no email: such events are not counted. */
export interface NewEvent {
  id: string
  teamId: string
  emailId: string | null
  deliveryId: string | null
  type: EventsTable['type']
  createdAt: number
  data: EventData
}

/** What the roll-ups count an event under, where the caller knows it; else it is looked up. */
export interface CountedUnder {
  domainId: string
  /** Empty where the event is about several recipients. */
  provider: string
  /** Recipients that it is about. Default 1. */
  amount?: number
}

/**
 * Writes an event, and what it adds to the metrics, in the transaction of the caller: the one place where plain SQL does
 * it (`methods/events.ts` is its like for Kysely). The event keeps what was counted, so that the metrics can be made anew.
 */
export function createRecordEvent(db: Connection): (event: NewEvent, under?: CountedUnder) => void {
  const insert = db.prepare(
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const add = db.prepare(
    `insert into metrics (team_id, at, domain_id, counter, provider, n) values (?, ?, ?, ?, ?, ?)
     on conflict do update set n = n + excluded.n`,
  )
  const lookUp = db.prepare<[string | null, string], { domainId: string; provider: string }>(
    `select e.domain_id as domainId, coalesce(r.provider, '') as provider
     from emails e left join recipients r on r.id = ? where e.id = ?`,
  )
  const anyBefore = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and type = ? and counted like '%unique%' limit 1`,
  )
  const values = ({ id, teamId, emailId, deliveryId, type, createdAt, data }: NewEvent) => [
    ...[id, teamId, emailId, deliveryId, type, createdAt, JSON.stringify(data)],
  ]

  return (event, under) => {
    const { teamId, emailId, deliveryId, type, createdAt, data } = event
    const found = emailId === null ? undefined : (under ?? lookUp.get(deliveryId, emailId))
    if (emailId === null || !found) {
      insert.run(...values(event), '', 1, '', '')
      return
    }
    const { domainId, provider, amount = 1 }: CountedUnder = found
    const first = countsUnique(type, data) && anyBefore.get(emailId, type) === undefined
    const counters = countersOf(type, data, first)
    insert.run(...values(event), counters.join(' '), amount, domainId, provider)
    for (const counter of counters) add.run(teamId, quarterOf(createdAt), domainId, counter, provider, amount)
  }
}
