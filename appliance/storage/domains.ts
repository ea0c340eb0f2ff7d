/** Sending domains and their settings. Their verification is in domain-checks.ts. */
import type { Insertable, Selectable, Updateable } from 'kysely'
import type { EventDomain } from '../mail/event.ts'
import { insertKeys, type DkimKey } from './dkim-keys.ts'
import { recordOtherEvents } from './events.ts'
import type { Db, DomainsTable } from './schema.ts'
import type { Delegation, DomainStatus, RecordStatus, TlsRequirement } from './values.ts'

/** The result of the last check of one DNS record. The records themselves are computed (senders/records.ts). */
export interface RecordCheck {
  /**
   * Identifies the record: `DKIM <selector>`, `SPF MX`, `SPF`, `DMARC`, `Receiving MX`, `Tracking <name>`, `MTA-STS`,
   * `TLS-RPT`, `BIMI`.
   */
  key: string
  status: RecordStatus
  /** Values that were found in place of the expected one or in addition, as text. */
  found: string[]
  /** A sentence about the problem and how to fix it; null if there is none. */
  note: string | null
  /** When the record was checked, and since when it has this `status` (Unix milliseconds). */
  checkedAt: number
  since: number
}

/** The settings of a domain. */
export interface DomainSettings {
  /** `enforced`: mail is sent only over TLS, and stays in the queue until TLS works. */
  tls: TlsRequirement
  sending: boolean
  receiving: boolean
  openTracking: boolean
  clickTracking: boolean
  /** One or more labels below the domain; null if there is no tracking subdomain. */
  trackingSubdomain: string | null
  delegation: Delegation
}

/** The schedule of automatic verification. Times are in Unix milliseconds. */
export interface VerificationSchedule {
  /** When an unfinished verification is abandoned; null if none is running. */
  verifyUntil: number | null
  /** A worse status, and since when it was seen. It doesn't apply until it is confirmed. */
  suspect: { status: DomainStatus; since: number } | null
  /** When the next check is due; null if there is no automatic check. */
  nextCheckAt: number | null
}

export interface Domain extends DomainSettings, VerificationSchedule {
  id: string
  teamId: string
  /** The domain name, in A-labels and lower case. */
  name: string
  status: DomainStatus
  /** Time since which the domain has this `status`. */
  statusSince: number
  region: string
  /** The label of the return path: `send` results in `send.example.com`. */
  returnPath: string
  checks: RecordCheck[]
  createdAt: number
  checkedAt: number | null
}

/** Converts a row. */
export const toDomain = (row: Selectable<DomainsTable>): Domain => {
  const seen = row.checked_at ?? row.created_at
  const checks = JSON.parse(row.checks) as (Omit<RecordCheck, 'checkedAt' | 'since'> & Partial<RecordCheck>)[]
  return {
    id: row.id,
    teamId: row.team_id,
    name: row.name,
    status: row.status,
    statusSince: row.status_since ?? seen,
    region: row.region,
    returnPath: row.return_path,
    tls: row.tls,
    sending: row.sending === 1,
    receiving: row.receiving === 1,
    openTracking: row.open_tracking === 1,
    clickTracking: row.click_tracking === 1,
    trackingSubdomain: row.tracking_subdomain,
    delegation: row.delegation,
    verifyUntil: row.verify_until,
    suspect:
      row.suspect === null || row.suspect_since === null
        ? null
        : { status: row.suspect, since: row.suspect_since },
    nextCheckAt: row.next_check_at,
    // Checks stored by the first version have no times.
    checks: checks.map((check) => ({
      ...check,
      checkedAt: check.checkedAt ?? seen,
      since: check.since ?? seen,
    })),
    createdAt: row.created_at,
    checkedAt: row.checked_at,
  }
}

const fromSettings = (settings: Partial<DomainSettings>): Updateable<DomainsTable> => {
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value))
  // Kysely omits columns whose value is undefined.
  return {
    tls: settings.tls,
    sending: flag(settings.sending),
    receiving: flag(settings.receiving),
    open_tracking: flag(settings.openTracking),
    click_tracking: flag(settings.clickTracking),
    tracking_subdomain: settings.trackingSubdomain,
    delegation: settings.delegation,
  }
}

/** Returns the columns of a verification schedule. */
export const toVerificationColumns = ({ verifyUntil, suspect, nextCheckAt }: VerificationSchedule) => ({
  verify_until: verifyUntil,
  suspect: suspect?.status ?? null,
  suspect_since: suspect?.since ?? null,
  next_check_at: nextCheckAt,
})

const fromDomain = (domain: Domain): Insertable<DomainsTable> => ({
  id: domain.id,
  team_id: domain.teamId,
  name: domain.name,
  status: domain.status,
  status_since: domain.statusSince,
  region: domain.region,
  return_path: domain.returnPath,
  checks: JSON.stringify(domain.checks),
  created_at: domain.createdAt,
  checked_at: domain.checkedAt,
  tls: domain.tls,
  sending: Number(domain.sending),
  receiving: Number(domain.receiving),
  open_tracking: Number(domain.openTracking),
  click_tracking: Number(domain.clickTracking),
  tracking_subdomain: domain.trackingSubdomain,
  delegation: domain.delegation,
  ...toVerificationColumns(domain),
})

/**
 * Records an event about a domain in the transaction that changes the domain. Does nothing if `domain` is undefined.
 */
export async function recordDomainEvent(
  db: Db,
  teamId: string,
  type: 'domain.created' | 'domain.updated' | 'domain.deleted',
  domain: EventDomain | undefined,
  now: number,
): Promise<void> {
  if (domain) recordOtherEvents(db, [{ teamId, type, data: { domain } }], now)
}

/**
 * Statuses in which a domain's name belongs to its team. The index `domains_holder` allows only one such domain for
 * each name.
 */
export const NAME_HOLDING_STATUSES = ['verified', 'partially_failed'] as const

/**
 * Creates a domain. Returns `taken` if the team already has a domain with this name; if two callers use the same name,
 * the unique index on name and team decides. Other teams may add the name, too, but it can belong to only one team of
 * the server, which has verified it. `told` is the data of the event that this method and the following ones record; if
 * it is undefined, they record none.
 */
async function createDomain(
  db: Db,
  { domain, keys, told }: { domain: Domain; keys: DkimKey[]; told?: EventDomain | undefined },
  now: number,
): Promise<'created' | 'taken'> {
  const inserted = await db
    .insertInto('domains')
    .values(fromDomain(domain))
    .onConflict((conflict) => conflict.columns(['name', 'team_id']).doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) return 'taken'
  await insertKeys(db, keys)
  await recordDomainEvent(db, domain.teamId, 'domain.created', told, now)
  return 'created'
}

/** Lists domains, newest first. */
async function listDomains(db: Db, args: { teamId: string }): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toDomain)
}

/** Lists domains of all teams that have a tracking subdomain, by name. */
async function trackingDomains(db: Db): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('tracking_subdomain', 'is not', null)
    .orderBy('name')
    .execute()
  return rows.map(toDomain)
}

async function getDomain(db: Db, args: { teamId: string; id: string }): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

async function findDomain(db: Db, args: { teamId: string; name: string }): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('name', '=', args.name)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

/**
 * Changes the given settings. Returns false if the domain doesn't exist, or if it would have no capability left because
 * another process has switched off the other one.
 */
async function updateDomain(
  db: Db,
  {
    teamId,
    id,
    settings,
    told,
  }: { teamId: string; id: string; settings: Partial<DomainSettings>; told?: EventDomain | undefined },
  now: number,
): Promise<boolean> {
  if (Object.values(settings).every((value) => value === undefined))
    return (await getDomain(db, { teamId, id })) !== undefined
  let update = db
    .updateTable('domains')
    .set(fromSettings(settings))
    .where('id', '=', id)
    .where('team_id', '=', teamId)
  if (settings.sending === false && !settings.receiving) update = update.where('receiving', '=', 1)
  if (settings.receiving === false && !settings.sending) update = update.where('sending', '=', 1)
  const updated = await update.executeTakeFirstOrThrow()
  if (updated.numUpdatedRows === 0n) return false
  await recordDomainEvent(db, teamId, 'domain.updated', told, now)
  return true
}

/** Deletes a domain with its DKIM keys and the API keys that were restricted to it. */
async function deleteDomain(
  db: Db,
  args: { teamId: string; id: string; told?: EventDomain | undefined },
  now: number,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('domains')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  if (deleted.numDeletedRows === 0n) return false
  await recordDomainEvent(db, args.teamId, 'domain.deleted', args.told, now)
  return true
}

export const methods = {
  reads: { listDomains, trackingDomains, getDomain, findDomain },
  writes: { createDomain, updateDomain, deleteDomain },
}
