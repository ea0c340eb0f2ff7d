/** What became of each recipient, and where it waits: the rows that `put` makes, `lease` takes and `settle` ends, and the transcripts of their attempts. */
import { sql, type SqlBool } from 'kysely'
import type { Notify } from '../mail/dsn.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import type { Db } from './schema.ts'
import type { RecipientField } from './values.ts'
import type { Step, Transcript } from '../mail/transcript.ts'

/** The fate of one recipient so far. */
export interface Delivery {
  id: string
  emailId: string
  teamId: string
  recipient: string
  field: RecipientField
  /** Where it waits, or waited last: the pool of source addresses, and the mailbox provider or `?domain` before one was looked up. */
  pool: string
  provider: string
  state: DeliveryState
  attempts: number
  createdAt: number
  updatedAt: number
  /** When it will be tried next; null when it is final. While an attempt runs, the time at which it would be tried again after a crash. */
  dueAt: number | null
  /** When it will be given up; null when it is final. */
  expiresAt: number | null
  /** The time that its sender chose; null: at once. */
  scheduledAt: number | null
  /** Why it is in this state; null before the first attempt. */
  cause: Cause | null
}

/**
 * Deliveries as they are shown: the start of every query that shows them.
 * Aliases: `d` is `deliveries`, `e` is `emails`.
 */
export function selectDeliveries(db: Db) {
  return db
    .selectFrom('deliveries as d')
    .leftJoin('emails as e', 'e.id', 'd.email_id')
    .select(['d.id', 'd.email_id', 'd.team_id', 'd.recipient', 'd.field', 'd.pool', 'd.provider', 'd.state'])
    .select(['d.attempts', 'd.cause', 'd.created_at', 'd.updated_at', 'd.due_at', 'd.expires_at'])
    .select('e.scheduled_at')
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>[number]

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
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
    scheduledAt: row.scheduled_at,
    cause: row.cause === null ? null : (JSON.parse(row.cause) as Cause),
  }
}

/** Waits, or is held. Written out, not bound: the planner uses a partial index only for a condition that it can read. */
export const queued = sql<SqlBool>`deliveries.expires_at is not null`

/** The columns of the queue, as they are once a delivery is final. */
export const ended = {
  queue: null,
  stream: null,
  domain: null,
  due_at: null,
  expires_at: null,
  lease_owner: null,
  lease_until: null,
  touched_by: null,
  pool_before: null,
}

/** The same for plain statements. */
export const ENDED = Object.keys(ended)
  .map((column) => `${column} = null`)
  .join(', ')

/** NOTIFY as a column: null, `NEVER`, or keywords with commas between. */
export function toNotify(notify: Notify | null): string | null {
  return Array.isArray(notify) ? notify.join(',') : notify
}

/** What `toNotify` wrote. */
export function fromNotify(column: string | null): Notify | null {
  if (column === null || column === 'NEVER') return column
  return column.split(',') as Exclude<Notify, 'NEVER'>
}

type StoredStep = Pick<Step, 'name' | 'at' | 'ms'> & Partial<Step>

/** The transcript as JSON. A null is left out where there often is one, host and IP where they are as in the step before. */
export function writeTranscript(transcript: Transcript): string {
  let [lastHost, lastIp] = [null, null] as [string | null, string | null]
  const steps = transcript.steps.map(({ name, host, ip, sent, reply, note, at, ms }) => {
    const stored = {
      name,
      host: host === lastHost ? undefined : host,
      ip: ip === lastIp ? undefined : ip,
      sent: sent ?? undefined,
      reply: reply ?? undefined,
      note: note ?? undefined,
      at,
      ms,
    }
    ;[lastHost, lastIp] = [host, ip]
    return stored
  })
  return JSON.stringify({ ...transcript, steps })
}

/** A transcript that `writeTranscript` made, or one from before it, which has all fields. */
export function readTranscript(json: string): Transcript {
  const { steps, ...rest } = JSON.parse(json) as Omit<Transcript, 'steps'> & { steps: StoredStep[] }
  let [lastHost, lastIp] = [null, null] as [string | null, string | null]
  const whole = steps.map(
    ({ name, host = lastHost, ip = lastIp, sent = null, reply = null, note = null, at, ms }): Step => {
      ;[lastHost, lastIp] = [host, ip]
      return { name, host, ip, sent, reply, note, at, ms }
    },
  )
  return { steps: whole, ...rest }
}
