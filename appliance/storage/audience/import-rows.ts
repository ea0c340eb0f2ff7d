/**
 * Writes the rows of an import. One transaction writes up to a thousand rows and the position in the file where the
 * next one continues, so the progress is exact even after a crash. Statements are prepared, because the budget per row
 * is 25 microseconds.
 */
import {
  mayChoose,
  type OptOut,
  optOutAfter,
  type PropertyValue,
  type Subscription,
} from '../../mail/audience.ts'
import { addressHash } from '../../mail/erasure.ts'
import { newId } from '../../mail/ids.ts'
import { suppressionKey } from '../../mail/suppression.ts'
import type { Connection } from '../connection.ts'
import type { Db } from '../schema.ts'
import { contactsByKey, hashOf } from './contact-rows.ts'
import { contactsCreated, contactsOptedOut, type Delta } from './counts.ts'
import type { ImportPlan, ImportReject } from './imports.ts'

/** A readable row of a file. Undefined fields stay unchanged. */
export interface ImportRow {
  /** The domain in A-labels. */
  email: string
  firstName?: string | undefined
  lastName?: string | undefined
  /** By label. */
  properties?: Record<string, PropertyValue> | undefined
  /** Opts out of everything. */
  unsubscribed?: true | undefined
  /** The address was already in an earlier row of the file. */
  again?: true | undefined
}

/** Consecutive rows of the file. */
export interface ImportBatch {
  id: string
  teamId: string
  /** Position of their beginning and end in the file (bytes), and the number of the next line. */
  from: number
  to: number
  line: number
  /** Number of rows, including failed ones. */
  total: number
  rows: ImportRow[]
  failed: ImportReject[]
}

/** The result of a batch. `elsewhere`: it was written before, or the import has ended. */
export type ImportBatchResult = 'written' | 'elsewhere'

/** Limit on the rejected rows that are stored for one import. */
const MOST_REJECTS = 10_000

interface ImportState {
  status: string
  created_at: number
  processed: number
  settings: string
  on_conflict: string
  rejects: number
}

interface Found {
  id: string
  first_name: string | null
  last_name: string | null
  properties: string
  unsubscribed_at: number | null
  unsubscribed_by: OptOut['origin'] | null
  created_from: string | null
}

const prepareAll = (db: Connection) => ({
  state: db.prepare<[string], ImportState>(
    'select status, created_at, processed, settings, on_conflict, rejects from contact_imports where id = ?',
  ),
  advance: db.prepare(
    `update contact_imports set processed = @to, line = @line, total = total + @total, created = created + @created,
       updated = updated + @updated, skipped = skipped + @skipped, failed = failed + @failed,
       duplicates = duplicates + @duplicates, kept = kept + @kept, rejects = rejects + @rejects where id = @id`,
  ),
  reject: db.prepare(
    `insert into contact_import_rejects (import_id, team_id, line, reason, cells) values (?, ?, ?, ?, ?)
       on conflict (import_id, line) do nothing`,
  ),
  find: db.prepare<[string, string], Found>(
    `select id, first_name, last_name, properties, unsubscribed_at, unsubscribed_by, created_from
       from contacts where team_id = ? and address_key = ?`,
  ),
  insert: db.prepare(
    `insert into contacts (id, team_id, email, address_key, first_name, last_name, properties, unsubscribed_at, unsubscribed_by,
       created_by, created_from, created_at, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'import', ?, ?, ?)`,
  ),
  update: db.prepare(
    `update contacts set first_name = ?, last_name = ?, properties = ?, unsubscribed_at = ?, unsubscribed_by = ?, updated_at = ?
       where team_id = ? and id = ?`,
  ),
  join: db.prepare(
    `insert into contact_segments (segment_id, contact_id, team_id, added_at) values (?, ?, ?, ?)
       on conflict (segment_id, contact_id) do nothing`,
  ),
  choice: db.prepare<[string, string], { subscription: Subscription }>(
    'select subscription from contact_topics where topic_id = ? and contact_id = ?',
  ),
  choose: db.prepare(
    `insert into contact_topics (topic_id, contact_id, team_id, subscription, origin, changed_at) values (?, ?, ?, ?, ?, ?)
       on conflict (topic_id, contact_id) do update set subscription = excluded.subscription, origin = excluded.origin,
       changed_at = excluded.changed_at`,
  ),
  consent: db.prepare(
    `insert into consents (id, team_id, contact_id, scope, was, subscription, origin, via, source, at)
       values (?, ?, ?, ?, ?, ?, 'import', 'import', ?, ?)`,
  ),
  count: db.prepare(
    `insert into audience_counts (team_id, noun, subject, n) values (?, ?, ?, ?)
       on conflict (team_id, noun, subject) do update set n = audience_counts.n + excluded.n`,
  ),
  segment: db.prepare(
    'select 1 from segments where id = ? and team_id = ? and deleted_at is null and filter is null',
  ),
  topic: db.prepare('select 1 from topics where id = ? and team_id = ? and deleted_at is null'),
  keepsAny: db.prepare('select 1 from opt_outs where team_id = ? limit 1'),
  kept: db.prepare<[string, string], { scope: string; origin: OptOut['origin']; at: number }>(
    'select scope, origin, at from opt_outs where team_id = ? and address_hash = ?',
  ),
  dropKept: db.prepare('delete from opt_outs where team_id = ? and address_hash = ?'),
  erased: db.prepare<[string, number], { hash: string }>(
    'select hash from erasures where team_id = ? and created_at >= ?',
  ),
  key: db.prepare<[], { value: Uint8Array }>("select value from secrets where name = 'erasures'"),
})

/** Creates the method that writes a batch; see `ImportBatch`. */
const writeImportRows = (db: Connection): ((batch: ImportBatch, now: number) => ImportBatchResult) => {
  const statements = prepareAll(db)
  return (batch, now) => {
    const state = statements.state.get(batch.id)
    if (state?.status !== 'in_progress' || state.processed !== batch.from) return 'elsewhere'
    new Writing(statements, batch, state, now).write()
    return 'written'
  }
}

/** Writes one batch. */
class Writing {
  readonly #do: ReturnType<typeof prepareAll>
  readonly #batch: ImportBatch
  readonly #state: ImportState
  readonly #now: number
  readonly #plan: ImportPlan
  /** Key for hashing addresses; null if the team has no kept opt-outs, because hashing costs time. */
  readonly #key: Uint8Array | null
  /** Hashes of addresses that were erased after the file was uploaded. */
  readonly #erased: Set<string>
  readonly #deltas = new Map<string, { delta: Delta; n: number }>()
  readonly #counts = { created: 0, updated: 0, skipped: 0, kept: 0 }

  constructor(
    statements: ReturnType<typeof prepareAll>,
    batch: ImportBatch,
    state: ImportState,
    now: number,
  ) {
    this.#do = statements
    this.#batch = batch
    this.#state = state
    this.#now = now
    const plan = JSON.parse(state.settings) as ImportPlan
    // A segment or topic may have been deleted meanwhile, or the segment may have rules now.
    const segmentIds = plan.segmentIds.filter((id) => statements.segment.get(id, batch.teamId))
    const topics = plan.topics.filter(({ id }) => statements.topic.get(id, batch.teamId))
    this.#plan = { ...plan, segmentIds, topics }
    const erased = statements.erased.all(batch.teamId, state.created_at)
    this.#erased = new Set(erased.map(({ hash }) => hash))
    const hashes = this.#erased.size > 0 || statements.keepsAny.get(batch.teamId)
    this.#key = hashes ? statements.key.get()!.value : null
  }

  write(): void {
    for (const row of this.#batch.rows) this.#row(row)
    const { id, teamId, to, line, total, rows, failed } = this.#batch
    const duplicates = rows.filter(({ again }) => again).length
    const listed = this.#listable(failed).slice(0, Math.max(0, MOST_REJECTS - this.#state.rejects))
    for (const { line: at, reason, cells } of listed)
      this.#do.reject.run(id, teamId, at, reason, JSON.stringify(cells))
    for (const { delta, n } of this.#deltas.values())
      if (n !== 0) this.#do.count.run(teamId, delta[0], delta[1], n)
    const counts = { ...this.#counts, failed: failed.length, rejects: listed.length }
    this.#do.advance.run({ id, to, line, total, duplicates, ...counts })
  }

  #isErased(email: string): boolean {
    return this.#erased.size > 0 && this.#erased.has(addressHash(this.#key!, this.#batch.teamId, email))
  }

  /** Returns rejected rows without those that contain an erased address. */
  #listable(failed: ImportReject[]): ImportReject[] {
    if (this.#erased.size === 0) return failed
    return failed.filter(({ cells }) => {
      const named = cells.flatMap((cell) => cell.match(/[^\s<>,;"]+@[^\s<>,;"]+/g) ?? [])
      return !named.some((address) => this.#isErased(address))
    })
  }

  #row(row: ImportRow): void {
    const key = suppressionKey(row.email)
    if (this.#isErased(row.email)) {
      this.#counts.skipped += 1
      return
    }
    const found = this.#do.find.get(this.#batch.teamId, key)
    if (!found) return this.#create(row, key)
    // A later row of the file may change a contact that this import created: the last row wins.
    if (this.#state.on_conflict === 'skip' && found.created_from !== this.#batch.id) {
      this.#counts.skipped += 1
      return
    }
    this.#change(row, found)
  }

  #create(row: ImportRow, key: string): void {
    const { id: importId, teamId } = this.#batch
    const now = this.#now
    const id = newId(now)
    const kept = this.#keptOf(row.email)
    const before = kept?.find(({ scope }) => scope === '')
    const asked = row.unsubscribed ? { at: now, origin: 'import' as const } : null
    const optOut = before ?? asked
    const { firstName = null, lastName = null, properties = {} } = row
    this.#do.insert.run(
      ...[id, teamId, row.email, key, firstName, lastName, JSON.stringify(properties)],
      ...[optOut?.at ?? null, optOut?.origin ?? null, importId, now, now],
    )
    this.#counts.created += 1
    this.#count(...contactsCreated(now, 1))
    if (optOut) this.#count(...contactsOptedOut(optOut.at, 1))
    if (before) this.#counts.kept += 1
    else if (asked) this.#log(id, '', null, 'opt_out')
    if (kept) this.#take(id, row.email, kept)
    this.#place(id)
  }

  #change(row: ImportRow, found: Found): void {
    const { teamId } = this.#batch
    const before =
      found.unsubscribed_at === null ? null : { at: found.unsubscribed_at, origin: found.unsubscribed_by! }
    const optOut = optOutAfter(before, row.unsubscribed, { origin: 'import', lifts: false }, this.#now)
    const firstName = row.firstName ?? found.first_name
    const lastName = row.lastName ?? found.last_name
    const properties = row.properties
      ? JSON.stringify({ ...(JSON.parse(found.properties) as object), ...row.properties })
      : found.properties
    const differs =
      firstName !== found.first_name ||
      lastName !== found.last_name ||
      properties !== found.properties ||
      optOut?.at !== before?.at
    if (differs)
      this.#do.update.run(
        ...[firstName, lastName, properties, optOut?.at ?? null, optOut?.origin ?? null, this.#now],
        ...[teamId, found.id],
      )
    if (optOut && !before) {
      this.#count(...contactsOptedOut(optOut.at, 1))
      this.#log(found.id, '', 'opt_in', 'opt_out')
    }
    this.#place(found.id)
    if (row.again) this.#counts.skipped += 1
    else this.#counts.updated += 1
    if (before && !row.again) this.#counts.kept += 1
  }

  /** Stores segments and topic choices of a contact. */
  #place(id: string): void {
    const { teamId } = this.#batch
    for (const segmentId of this.#plan.segmentIds)
      if (this.#do.join.run(segmentId, id, teamId, this.#now).changes > 0)
        this.#count(['segment', segmentId, 1])
    for (const { id: topicId, subscription } of this.#plan.topics) {
      const current = this.#do.choice.get(topicId, id)
      if (!mayChoose(current, subscription, { lifts: false })) continue
      this.#do.choose.run(topicId, id, teamId, subscription, 'import', this.#now)
      this.#count([subscription, topicId, 1])
      if (current) this.#count([current.subscription, topicId, -1])
      this.#log(id, topicId, current?.subscription ?? null, subscription)
    }
  }

  #keptOf(email: string): { scope: string; origin: OptOut['origin']; at: number }[] | undefined {
    if (!this.#key) return undefined
    const { teamId } = this.#batch
    const kept = this.#do.kept.all(teamId, addressHash(this.#key, teamId, email))
    return kept.length === 0 ? undefined : kept
  }

  /** Applies the kept opt-outs of its address to a new contact. */
  #take(id: string, email: string, kept: { scope: string; origin: OptOut['origin']; at: number }[]): void {
    const { teamId } = this.#batch
    for (const { scope, origin, at } of kept) {
      if (scope === '' || !this.#do.topic.get(scope, teamId)) continue
      this.#do.choose.run(scope, id, teamId, 'opt_out', origin, at)
      this.#count(['opt_out', scope, 1])
    }
    this.#do.dropKept.run(teamId, addressHash(this.#key!, teamId, email))
  }

  #log(contactId: string, scope: string, was: Subscription | null, subscription: Subscription): void {
    const { teamId, id } = this.#batch
    this.#do.consent.run(newId(this.#now), teamId, contactId, scope, was, subscription, id, this.#now)
  }

  #count(...deltas: Delta[]): void {
    for (const delta of deltas) {
      const key = `${delta[0]} ${delta[1]}`
      const sum = this.#deltas.get(key)
      if (sum) sum.n += delta[2]
      else this.#deltas.set(key, { delta, n: delta[2] })
    }
  }
}

/** The status of an address. */
export interface ImportedAddress {
  contact: boolean
  unsubscribed: boolean
}

/** Returns a team's contacts and kept opt-outs for some addresses, in their order. At most 1,000. */
async function optOutsOf(
  db: Db,
  { teamId, emails }: { teamId: string; emails: string[] },
): Promise<ImportedAddress[]> {
  const contacts = await contactsByKey(db, teamId, emails.map(suppressionKey))
  const rest = emails.filter((email) => !contacts.has(suppressionKey(email)))
  const kept = await keptOf(db, teamId, rest)
  return emails.map((email) => {
    const contact = contacts.get(suppressionKey(email))
    return {
      contact: contact !== undefined,
      unsubscribed: contact ? contact.optOut !== null : kept.has(email),
    }
  })
}

/** Returns the addresses that opted out of everything before their contact was deleted. */
async function keptOf(db: Db, teamId: string, emails: readonly string[]): Promise<Set<string>> {
  const any = await db.selectFrom('opt_outs').select('scope').where('team_id', '=', teamId).limit(1).execute()
  if (any.length === 0 || emails.length === 0) return new Set()
  const byHash = new Map<string, string>()
  for (const email of emails) byHash.set(await hashOf(db, teamId, email), email)
  const rows = await db
    .selectFrom('opt_outs')
    .select('address_hash')
    .where('team_id', '=', teamId)
    .where('scope', '=', '')
    .where('address_hash', 'in', [...byHash.keys()])
    .execute()
  return new Set(rows.map((row) => byHash.get(row.address_hash)!))
}

export const methods = {
  reads: { optOutsOf },
  prepared: { writeImportRows },
}
