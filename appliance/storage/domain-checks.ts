/** The verification of sending domains: results of DNS checks, and the times of the next checks. */
import { sql } from 'kysely'
import type { EventDomain } from '../mail/event.ts'
import type { DkimKeyChange } from './dkim-keys.ts'
import {
  type Domain,
  type VerificationSchedule,
  toVerificationColumns,
  NAME_HOLDING_STATUSES,
  type RecordCheck,
  recordDomainEvent,
  toDomain,
} from './domains.ts'
import type { Db } from './schema.ts'
import type { DomainStatus } from './values.ts'

/** Results of a check of a domain's DNS records. */
export interface DomainCheck {
  teamId: string
  id: string
  status: DomainStatus
  checks: RecordCheck[]
  /** The new verification schedule; undefined leaves it unchanged. */
  watch?: VerificationSchedule | undefined
  keys?: DkimKeyChange[] | undefined
  /** The data of the event `domain.updated`; undefined if nothing changed that matters to an app. */
  told?: EventDomain | undefined
  /**
   * Values that the domain must still have; otherwise, nothing is written. Something else may have changed it during
   * the check.
   */
  seen?: Pick<Domain, 'status' | 'nextCheckAt'> | undefined
}

const since = (status: string, now: number) =>
  sql<number>`case when status = ${status} then status_since else ${now} end`

/** Whether another team has verified the name of this domain, so that this team can't verify it. */
async function isDomainHeld(db: Db, { id }: { id: string }): Promise<boolean> {
  const holder = await db
    .selectFrom('domains as d')
    .innerJoin('domains as other', 'other.name', 'd.name')
    .select('other.id')
    .where('d.id', '=', id)
    .where('other.id', '!=', id)
    .where('other.status', 'in', NAME_HOLDING_STATUSES)
    .executeTakeFirst()
  return holder !== undefined
}

/**
 * Stores the results of a check and returns whether they were stored. Doesn't store a status that allows sending while
 * another team has verified the name.
 */
async function saveDomainCheck(
  db: Db,
  { teamId, id, status, checks, watch, keys = [], told, seen }: DomainCheck,
  now: number,
): Promise<boolean> {
  if (NAME_HOLDING_STATUSES.some((one) => one === status) && (await isDomainHeld(db, { id }))) return false
  let update = db
    .updateTable('domains')
    .set({
      status_since: since(status, now),
      status,
      checks: JSON.stringify(checks),
      checked_at: now,
      ...(watch ? toVerificationColumns(watch) : {}),
    })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
  if (seen) {
    update = update.where('status', '=', seen.status)
    update =
      seen.nextCheckAt === null
        ? update.where('next_check_at', 'is', null)
        : update.where('next_check_at', '=', seen.nextCheckAt)
  }
  const saved = await update.executeTakeFirstOrThrow()
  if (saved.numUpdatedRows === 0n) return false
  await recordDomainEvent(db, teamId, 'domain.updated', told, now)
  for (const key of keys)
    await db
      .updateTable('dkim_keys')
      .set({
        state: key.state,
        state_since: now,
        retire_at: key.retireAt,
        // Erase the private key of a retired key: it no longer signs anything, so keeping it would only be a risk.
        ...(key.state === 'retired' ? { private_key: new Uint8Array() } : {}),
      })
      .where('id', '=', key.id)
      .where('domain_id', '=', id)
      .execute()
  return true
}

/**
 * Starts or postpones a verification. Returns false and writes nothing if the status is no longer `seen`, because a
 * check has changed it.
 */
async function scheduleDomainCheck(
  db: Db,
  {
    teamId,
    id,
    status,
    seen,
    watch,
    told,
  }: {
    teamId: string
    id: string
    status: DomainStatus
    seen: DomainStatus
    watch: VerificationSchedule
    told?: EventDomain | undefined
  },
  now: number,
): Promise<boolean> {
  const scheduled = await db
    .updateTable('domains')
    .set({ status_since: since(status, now), status, ...toVerificationColumns(watch) })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('status', '=', seen)
    .executeTakeFirstOrThrow()
  if (scheduled.numUpdatedRows === 0n) return false
  await recordDomainEvent(db, teamId, 'domain.updated', told, now)
  return true
}

/**
 * Makes the next check due at `at`, by default now, unless no verification was ever requested. Changes nothing else.
 */
async function hastenDomainCheck(
  db: Db,
  { teamId, id, at }: { teamId: string; id: string; at?: number | undefined },
  now: number,
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ next_check_at: at ?? now })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('status', '!=', 'not_started')
    .execute()
}

/** Lists domains of all teams whose next check is due, most overdue first. */
async function dueDomains(db: Db, args: { limit: number }, now: number): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('next_check_at', '<=', now)
    .orderBy('next_check_at')
    .limit(args.limit)
    .execute()
  return rows.map(toDomain)
}

/** Returns when the next check of any domain is due; undefined if no check is scheduled. */
async function nextDomainCheck(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('domains')
    .select('next_check_at')
    .where('next_check_at', 'is not', null)
    .orderBy('next_check_at')
    .limit(1)
    .executeTakeFirst()
  return row?.next_check_at ?? undefined
}

export const methods = {
  reads: { isDomainHeld, dueDomains, nextDomainCheck },
  writes: { saveDomainCheck, scheduleDomainCheck, hastenDomainCheck },
}
