import type { Notify } from '../mail/dsn.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import type { Delivery } from './emails.ts'
import type { Db } from './schema.ts'
import type { NewDelivery } from './spool/put.ts'

/**
 * Recipients with what the queue knows of them: the start of every query that shows deliveries.
 * Aliases: `r` is `recipients`, `d` is `deliveries` (all null for a delivery in a final state), `e` is `emails`.
 */
export function selectDeliveries(db: Db) {
  return db
    .selectFrom('recipients as r')
    .leftJoin('deliveries as d', 'd.id', 'r.id')
    .leftJoin('emails as e', 'e.id', 'r.email_id')
    .select(['r.id', 'r.email_id', 'r.team_id', 'r.recipient', 'r.field', 'r.state'])
    .select((row) => [
      row.fn.coalesce('d.pool', 'r.pool').as('pool'),
      row.fn.coalesce('d.provider', 'r.provider').as('provider'),
    ])
    .select(['r.attempts', 'r.cause', 'r.created_at', 'r.updated_at'])
    .select(['d.due_at', 'd.expires_at', 'd.held', 'd.attempts as queue_attempts'])
    .select('e.scheduled_at')
}

interface DeliveryRow {
  id: string
  email_id: string
  team_id: string
  recipient: string
  field: NewDelivery['field']
  pool: string
  provider: string
  state: DeliveryState
  attempts: number
  cause: string | null
  created_at: number
  updated_at: number
  due_at: number | null
  expires_at: number | null
  held: number | null
  queue_attempts: number | null
  scheduled_at: number | null
}

/** A row of `selectDeliveries` as the port shows it. */
export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    emailId: row.email_id,
    teamId: row.team_id,
    recipient: row.recipient,
    field: row.field,
    pool: row.pool,
    provider: row.provider,
    state: row.held === 1 ? 'held' : row.state,
    attempts: row.queue_attempts ?? row.attempts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
    scheduledAt: row.scheduled_at,
    cause: row.cause === null ? null : (JSON.parse(row.cause) as Cause),
  }
}

/** NOTIFY as a column: null, `NEVER`, or keywords with commas between. */
export function toNotify(notify: Notify | null): string | null {
  return Array.isArray(notify) ? notify.join(',') : notify
}

/** What `toNotify` wrote. */
export function fromNotify(column: string | null): Notify | null {
  if (column === null || column === 'NEVER') return column
  return column.split(',') as Exclude<Notify, 'NEVER'>
}
