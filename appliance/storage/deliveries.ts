/** Deliveries, which `put` creates, `lease` leases and `settle` ends, and the transcripts of their attempts. */
import { sql, type SqlBool } from 'kysely'
import type { Notify } from '../mail/dsn.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import type { Db } from './schema.ts'
import type { RecipientField } from './values.ts'
import type { Step, Transcript } from '../mail/transcript.ts'

/** The state of one recipient of an email. */
export interface Delivery {
  id: string
  emailId: string
  teamId: string
  recipient: string
  field: RecipientField
  /**
   * The queue of the delivery, or its last queue: the pool of sending IPs, and the mailbox provider, or `?domain`
   * before the first lookup.
   */
  pool: string
  provider: string
  state: DeliveryState
  attempts: number
  createdAt: number
  updatedAt: number
  /**
   * When the next attempt is due; null if the delivery is final. While an attempt runs, the time of the next one in
   * case of a crash.
   */
  dueAt: number | null
  /** When the delivery expires; null if it is final. */
  expiresAt: number | null
  /** The time that the sender chose; null to send immediately. */
  scheduledAt: number | null
  /** Why the delivery is in this state; null before the first attempt. */
  cause: Cause | null
}

/** Returns the base of every query that returns deliveries. Aliases: `d` is `deliveries`, `e` is `emails`. */
export function selectDeliveries(db: Db) {
  return db
    .selectFrom('deliveries as d')
    .leftJoin('emails as e', 'e.id', 'd.email_id')
    .select(['d.id', 'd.email_id', 'd.team_id', 'd.recipient', 'd.field', 'd.pool', 'd.provider', 'd.state'])
    .select(['d.attempts', 'd.cause', 'd.created_at', 'd.updated_at', 'd.due_at', 'd.expires_at'])
    .select('e.scheduled_at')
}

type DeliveryRow = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>[number]

/** Converts a row of `selectDeliveries`. */
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

/**
 * Matches deliveries that are waiting or held. Written as a literal, because the planner uses a partial index only if
 * the condition isn't a bound parameter.
 */
export const isQueued = sql<SqlBool>`deliveries.expires_at is not null`

/** The values of the queue columns of a final delivery. */
export const finalQueueColumns = {
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

/** SQL that sets the values of `finalQueueColumns`, for plain statements. */
export const FINAL_QUEUE_COLUMNS_SQL = Object.keys(finalQueueColumns)
  .map((column) => `${column} = null`)
  .join(', ')

/** Formats NOTIFY for its column: null, `NEVER`, or keywords separated by commas. */
export function formatNotify(notify: Notify | null): string | null {
  return Array.isArray(notify) ? notify.join(',') : notify
}

/** Parses the output of `formatNotify`. */
export function parseNotify(column: string | null): Notify | null {
  if (column === null || column === 'NEVER') return column
  return column.split(',') as Exclude<Notify, 'NEVER'>
}

type StoredStep = Pick<Step, 'name' | 'at' | 'ms'> & Partial<Step>

/**
 * Formats a transcript as JSON. Omits fields that are often null, and the host and IP if they are the same as in the
 * previous step.
 */
export function serializeTranscript(transcript: Transcript): string {
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

/** Parses the output of `serializeTranscript`, or the older format with all fields. */
export function parseTranscript(json: string): Transcript {
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
