import { sql, type Insertable, type Kysely, type Selectable, type Updateable } from 'kysely'
import type { ToldDomain } from '../../mail/event.ts'
import type { DomainsTable, Tables } from '../schema.ts'
import type { Domain, DomainSettings, DomainWatch, RecordCheck, SenderStorage } from '../storage.ts'
import { insertKeys } from './dkim-keys.ts'
import { recordOthers } from './events.ts'

type Db = Kysely<Tables>
type Args<M extends keyof SenderStorage> = Parameters<SenderStorage[M]>[0]

const toDomain = (row: Selectable<DomainsTable>): Domain => {
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
    verifyUntil: row.verify_until,
    suspect:
      row.suspect === null || row.suspect_since === null
        ? null
        : { status: row.suspect, since: row.suspect_since },
    nextCheckAt: row.next_check_at,
    // Checks of the first version have no times of their own.
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
  // Kysely leaves out what is undefined.
  return {
    tls: settings.tls,
    sending: flag(settings.sending),
    receiving: flag(settings.receiving),
    open_tracking: flag(settings.openTracking),
    click_tracking: flag(settings.clickTracking),
    tracking_subdomain: settings.trackingSubdomain,
  }
}

const fromWatch = ({ verifyUntil, suspect, nextCheckAt }: DomainWatch) => ({
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
  ...fromWatch(domain),
})

/** The event goes with what it tells of. */
async function tell(
  db: Db,
  teamId: string,
  type: 'domain.created' | 'domain.updated' | 'domain.deleted',
  domain: ToldDomain | undefined,
  now: number,
): Promise<void> {
  if (domain) await recordOthers(db, [{ teamId, type, data: { domain } }], now)
}

/** Statuses with which a team holds a name: the migration's index `domains_holder` allows one such domain for each name. */
const HOLDING = ['verified', 'partially_failed'] as const

/** See `Storage.createDomain`. The unique name within the team decides between two callers. */
export async function createDomain(
  db: Db,
  { domain, keys, told }: Args<'createDomain'>,
  now: number,
): Promise<'created' | 'taken'> {
  const inserted = await db
    .insertInto('domains')
    .values(fromDomain(domain))
    .onConflict((conflict) => conflict.columns(['name', 'team_id']).doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) return 'taken'
  await insertKeys(db, keys)
  await tell(db, domain.teamId, 'domain.created', told, now)
  return 'created'
}

/** See `Storage.listDomains`. Newest first. */
export async function listDomains(db: Db, args: { teamId: string }): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toDomain)
}

/** See `Storage.trackingDomains`. */
export async function trackingDomains(db: Db): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('tracking_subdomain', 'is not', null)
    .orderBy('name')
    .execute()
  return rows.map(toDomain)
}

/** See `Storage.getDomain`. */
export async function getDomain(db: Db, args: { teamId: string; id: string }): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

/** See `Storage.findDomain`. */
export async function findDomain(
  db: Db,
  args: { teamId: string; name: string },
): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('name', '=', args.name)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

/** See `Storage.updateDomain`. */
export async function updateDomain(
  db: Db,
  { teamId, id, settings, told }: Args<'updateDomain'>,
  now: number,
): Promise<boolean> {
  if (Object.values(settings).every((value) => value === undefined))
    return (await getDomain(db, { teamId, id })) !== undefined
  const updated = await db
    .updateTable('domains')
    .set(fromSettings(settings))
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  if (updated.numUpdatedRows === 0n) return false
  await tell(db, teamId, 'domain.updated', told, now)
  return true
}

/** See `Storage.deleteDomain`. Its DKIM keys go with it, and the API keys that were restricted to it. */
export async function deleteDomain(db: Db, args: Args<'deleteDomain'>, now: number): Promise<boolean> {
  const deleted = await db
    .deleteFrom('domains')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  if (deleted.numDeletedRows === 0n) return false
  await tell(db, args.teamId, 'domain.deleted', args.told, now)
  return true
}

const since = (status: string, now: number) =>
  sql<number>`case when status = ${status} then status_since else ${now} end`

/** See `Storage.isDomainHeld`. */
export async function isDomainHeld(db: Db, { id }: Args<'isDomainHeld'>): Promise<boolean> {
  const holder = await db
    .selectFrom('domains as d')
    .innerJoin('domains as other', 'other.name', 'd.name')
    .select('other.id')
    .where('d.id', '=', id)
    .where('other.id', '!=', id)
    .where('other.status', 'in', HOLDING)
    .executeTakeFirst()
  return holder !== undefined
}

/** See `Storage.saveDomainCheck`. */
export async function saveDomainCheck(
  db: Db,
  { teamId, id, status, checks, watch, keys = [], told, seen }: Args<'saveDomainCheck'>,
  now: number,
): Promise<boolean> {
  if (HOLDING.some((one) => one === status) && (await isDomainHeld(db, { id }))) return false
  let update = db
    .updateTable('domains')
    .set({
      status_since: since(status, now),
      status,
      checks: JSON.stringify(checks),
      checked_at: now,
      ...(watch ? fromWatch(watch) : {}),
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
  await tell(db, teamId, 'domain.updated', told, now)
  for (const key of keys)
    await db
      .updateTable('dkim_keys')
      .set({
        state: key.state,
        state_since: now,
        retire_at: key.retireAt,
        // A key that signs no more is worth stealing only.
        ...(key.state === 'retired' ? { private_key: new Uint8Array() } : {}),
      })
      .where('id', '=', key.id)
      .where('domain_id', '=', id)
      .execute()
  return true
}

/** See `Storage.scheduleDomainCheck`. */
export async function scheduleDomainCheck(
  db: Db,
  { teamId, id, status, watch, told }: Args<'scheduleDomainCheck'>,
  now: number,
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ status_since: since(status, now), status, ...fromWatch(watch) })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .execute()
  await tell(db, teamId, 'domain.updated', told, now)
}

/** See `Storage.dueDomains`. */
export async function dueDomains(db: Db, args: { limit: number }, now: number): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('next_check_at', '<=', now)
    .orderBy('next_check_at')
    .limit(args.limit)
    .execute()
  return rows.map(toDomain)
}

/** See `Storage.nextDomainCheck`. */
export async function nextDomainCheck(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('domains')
    .select('next_check_at')
    .where('next_check_at', 'is not', null)
    .orderBy('next_check_at')
    .limit(1)
    .executeTakeFirst()
  return row?.next_check_at ?? undefined
}
