/** Sending domains: their settings, what was seen of their records, and how their verification goes on. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { ToldDomain } from '../mail/event.ts'
import { type DkimKey, type DkimKeyChange, insertKeys } from './dkim-keys.ts'
import { recordOthers } from './events.ts'
import type { Db, DomainsTable } from './schema.ts'

export type DomainStatus =
  'not_started' | 'pending' | 'verified' | 'failed' | 'partially_verified' | 'partially_failed'

export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

/** What the last verification saw of one DNS record; the records themselves are computed (senders/records.ts). */
export interface RecordCheck {
  /** `DKIM <selector>`, `SPF MX`, `SPF`, `DMARC`, `Tracking <name>`, `MTA-STS`, `TLS-RPT`, `BIMI`. */
  key: string
  status: RecordStatus
  /** The values that were published instead or as well, as text. */
  found: string[]
  /** A sentence that says what is wrong and what to do; null when nothing is. */
  note: string | null
  /** When it was looked up, and since when `status` has been what it is (Unix milliseconds). */
  checkedAt: number
  since: number
}

/** What can be changed of a domain. Receiving is stored and shown, and does nothing yet. */
export interface DomainSettings {
  /** `enforced`: mail goes out encrypted or waits. */
  tls: 'opportunistic' | 'enforced'
  sending: boolean
  receiving: boolean
  openTracking: boolean
  clickTracking: boolean
  /** A label or labels below the domain. */
  trackingSubdomain: string | null
}

/** When a domain is verified automatically. Times in Unix milliseconds. */
export interface DomainWatch {
  /** When an unfinished verification is abandoned; null if none is running. */
  verifyUntil: number | null
  /** A worse status that was seen since then, and does not count until it is confirmed. */
  suspect: { status: DomainStatus; since: number } | null
  /** When the records are looked at next; null: never by itself. */
  nextCheckAt: number | null
}

export interface Domain extends DomainSettings, DomainWatch {
  id: string
  teamId: string
  /** A-labels, lower case. */
  name: string
  status: DomainStatus
  /** Since when `status` has been what it is. */
  statusSince: number
  region: string
  /** The label under which the return path lives: `send` makes `send.example.com`. */
  returnPath: string
  checks: RecordCheck[]
  createdAt: number
  checkedAt: number | null
}

/** What a look at the records has brought. */
export interface DomainCheck {
  teamId: string
  id: string
  status: DomainStatus
  checks: RecordCheck[]
  /** Left as it is when not given. */
  watch?: DomainWatch | undefined
  keys?: DkimKeyChange[] | undefined
  /** What `domain.updated` tells; undefined where nothing changed that an app would want to know. */
  told?: ToldDomain | undefined
  /** Nothing is written when the domain is no longer like this: something else happened during the look. */
  seen?: Pick<Domain, 'status' | 'nextCheckAt'> | undefined
}

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
  if (domain) recordOthers(db, [{ teamId, type, data: { domain } }], now)
}

/** Statuses with which a team holds a name: the migration's index `domains_holder` allows one such domain for each name. */
const HOLDING = ['verified', 'partially_failed'] as const

/**
 * A name belongs to one team of the appliance only: `taken` when it has an owner. `told` is what the event says that this method and
 * the next ones record with what they change; without it there is none.
 * The unique name within the team decides between two callers.
 */
async function createDomain(
  db: Db,
  { domain, keys, told }: { domain: Domain; keys: DkimKey[]; told?: ToldDomain | undefined },
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

/** Newest first. */
async function listDomains(db: Db, args: { teamId: string }): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toDomain)
}

/** Domains of all teams that have a tracking subdomain, by name. */
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
 * Changes what is given; false when there is no such domain, or when it would be left without a capability: another process may have
 * switched off the other one.
 */
async function updateDomain(
  db: Db,
  {
    teamId,
    id,
    settings,
    told,
  }: { teamId: string; id: string; settings: Partial<DomainSettings>; told?: ToldDomain | undefined },
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
  await tell(db, teamId, 'domain.updated', told, now)
  return true
}

/** Its DKIM keys go with it, and the API keys that were restricted to it. */
async function deleteDomain(
  db: Db,
  args: { teamId: string; id: string; told?: ToldDomain | undefined },
  now: number,
): Promise<boolean> {
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

/** Whether another team has verified the name of this domain, which is then not to be verified for this one. */
async function isDomainHeld(db: Db, { id }: { id: string }): Promise<boolean> {
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

/** Tells whether it was written: a status that may send is not while another team holds the name. */
async function saveDomainCheck(
  db: Db,
  { teamId, id, status, checks, watch, keys = [], told, seen }: DomainCheck,
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

/**
 * Begins a verification, or puts one off. False, and nothing is written, when the status is no longer `seen`: a look has changed it, which
 * this must not take back.
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
    watch: DomainWatch
    told?: ToldDomain | undefined
  },
  now: number,
): Promise<boolean> {
  const scheduled = await db
    .updateTable('domains')
    .set({ status_since: since(status, now), status, ...fromWatch(watch) })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('status', '=', seen)
    .executeTakeFirstOrThrow()
  if (scheduled.numUpdatedRows === 0n) return false
  await tell(db, teamId, 'domain.updated', told, now)
  return true
}

/** The next look is due at once, unless nobody has asked for any yet. Nothing else of the domain changes. */
async function hastenDomainCheck(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
  now: number,
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ next_check_at: now })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('status', '!=', 'not_started')
    .execute()
}

/** Domains of all teams whose next look is due, longest due first. */
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

/** When the next look at any domain is due; undefined when none is. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listDomains, trackingDomains, isDomainHeld, getDomain, findDomain, dueDomains, nextDomainCheck },
  writes: {
    createDomain,
    updateDomain,
    deleteDomain,
    saveDomainCheck,
    scheduleDomainCheck,
    hastenDomainCheck,
  },
}
