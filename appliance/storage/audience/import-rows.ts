/**
 * Writes the rows of an import. One transaction writes up to a thousand rows and the position in the file at which the
 * next one continues, so that the progress is exact even after a crash. The budget per row is 25 microseconds.
 * Therefore, one statement finds the contacts of a batch, new contacts are inserted at the end, many at a time, and
 * counts are added once.
 */
import {
  mayReplaceChoice,
  type OptOut,
  computeOptOut,
  type PropertyValue,
  type Subscription,
} from '../../mail/audience.ts'
import { hashAddress } from '../../mail/erasure.ts'
import { newId } from '../../mail/ids.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { Connection } from '../connection.ts'
import type { Db } from '../schema.ts'
import { findContactsByKey, hashContactAddress } from './contact-rows.ts'
import { createdContactDeltas, optOutDeltas, type Delta } from './counts.ts'
import {
  type ExistingContact,
  type ImportState,
  CONTACTS_PER_INSERT,
  type CreatedContact,
  prepareStatements,
} from './import-statements.ts'
import type { ImportPlan, ImportReject } from './imports.ts'

/** A valid row of a file. Undefined fields are left unchanged. */
export interface ImportRow {
  /** The domain in A-labels. */
  email: string
  firstName?: string | undefined
  lastName?: string | undefined
  /** Property values by label. */
  properties?: Record<string, PropertyValue> | undefined
  /** Whether the row opts the contact out of everything. */
  unsubscribed?: true | undefined
  /** Whether the address was already in an earlier row of the file. */
  again?: true | undefined
}

/** Consecutive rows of the file. */
export interface ImportBatch {
  id: string
  teamId: string
  /** Start and end of the rows in the file, in bytes, and the number of the next line. */
  from: number
  to: number
  line: number
  /** Number of rows, including failed ones. */
  total: number
  rows: ImportRow[]
  failed: ImportReject[]
}

/** The result of a batch. `elsewhere`: the batch was already written, or the import has ended. */
export type ImportBatchResult = 'written' | 'elsewhere'

/** Maximum number of rejected rows that are stored for one import. */
const MOST_REJECTS = 10_000

/** Creates the method that writes a batch; see `ImportBatch`. */
const writeImportRows = (db: Connection): ((batch: ImportBatch, now: number) => ImportBatchResult) => {
  const statements = prepareStatements(db)
  return (batch, now) => {
    const state = statements.state.get(batch.id)
    if (state?.status !== 'in_progress' || state.processed !== batch.from) return 'elsewhere'
    new Writing(statements, batch, state, now).write()
    return 'written'
  }
}

/** Writes one batch. */
class Writing {
  readonly #do: ReturnType<typeof prepareStatements>
  readonly #batch: ImportBatch
  readonly #state: ImportState
  readonly #now: number
  readonly #plan: ImportPlan
  /**
   * Key for hashing addresses. Null, to avoid the cost of hashing, if the team has no kept opt-outs and none of its
   * addresses were erased since the upload.
   */
  readonly #key: Uint8Array | null
  /** Hashes of addresses that were erased after the file was uploaded. */
  readonly #erased: Set<string>
  /** Existing contacts, and those that this batch creates, by address key. */
  readonly #contacts = new Map<string, ExistingContact | CreatedContact>()
  readonly #made: CreatedContact[] = []
  readonly #deltas = new Map<string, { delta: Delta; n: number }>()
  /** Number of opt-outs, by the time of the opt-out. */
  readonly #optedOut = new Map<number, number>()
  readonly #counts = { created: 0, updated: 0, skipped: 0, kept: 0 }

  constructor(
    statements: ReturnType<typeof prepareStatements>,
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
    const keys = this.#batch.rows.map(({ email }) => toSuppressionKey(email))
    for (const found of this.#do.find.all(this.#batch.teamId, JSON.stringify(keys)))
      this.#contacts.set(found.address_key, found)
    this.#batch.rows.forEach((row, at) => this.#row(row, keys[at]!))
    this.#insertMade()
    const { id, teamId, to, line, total, rows, failed } = this.#batch
    const duplicates = rows.filter(({ again }) => again).length
    const listed = this.#listable(failed).slice(0, Math.max(0, MOST_REJECTS - this.#state.rejects))
    for (const { line: at, reason, cells } of listed)
      this.#do.reject.run(id, teamId, at, reason, JSON.stringify(cells))
    this.#count(...createdContactDeltas(this.#now, this.#made.length))
    for (const [at, n] of this.#optedOut) this.#count(...optOutDeltas(at, n))
    for (const { delta, n } of this.#deltas.values())
      if (n !== 0) this.#do.count.run(teamId, delta[0], delta[1], n)
    const counts = { ...this.#counts, failed: failed.length, rejects: listed.length }
    this.#do.advance.run({ id, to, line, total, duplicates, ...counts })
  }

  /** Inserts the new contacts in their final state, including changes by later rows of the batch. */
  #insertMade(): void {
    const { id: importId, teamId } = this.#batch
    const rows = this.#made.map((one) => [
      one.id,
      teamId,
      one.email,
      one.address_key,
      one.first_name,
      one.last_name,
      one.properties,
      one.unsubscribed_at,
      one.unsubscribed_by,
      importId,
      this.#now,
      this.#now,
    ])
    let from = 0
    if (this.#do.insertMany)
      for (; from + CONTACTS_PER_INSERT <= rows.length; from += CONTACTS_PER_INSERT)
        this.#do.insertMany.run(...rows.slice(from, from + CONTACTS_PER_INSERT).flat())
    for (const row of rows.slice(from)) this.#do.insert.run(...row)
  }

  #isErased(email: string): boolean {
    return this.#erased.size > 0 && this.#erased.has(hashAddress(this.#key!, this.#batch.teamId, email))
  }

  /** Returns rejected rows without those that contain an erased address. */
  #listable(failed: ImportReject[]): ImportReject[] {
    if (this.#erased.size === 0) return failed
    return failed.filter(({ cells }) => {
      const named = cells.flatMap((cell) => cell.match(/[^\s<>,;"]+@[^\s<>,;"]+/g) ?? [])
      return !named.some((address) => this.#isErased(address))
    })
  }

  #row(row: ImportRow, key: string): void {
    if (this.#isErased(row.email)) {
      this.#counts.skipped += 1
      return
    }
    const found = this.#contacts.get(key)
    if (!found) return this.#create(row, key)
    // A later row of the file may change a contact that this import created, because the last row takes precedence.
    if (this.#state.on_conflict === 'skip' && found.created_from !== this.#batch.id) {
      this.#counts.skipped += 1
      return
    }
    this.#change(row, found)
  }

  #create(row: ImportRow, key: string): void {
    const now = this.#now
    const id = newId(now)
    const kept = this.#keptOf(row.email)
    const before = kept?.find(({ scope }) => scope === '')
    const asked = row.unsubscribed ? { at: now, origin: 'import' as const } : null
    const optOut = before ?? asked
    const { email, firstName = null, lastName = null, properties } = row
    const made: CreatedContact = {
      id,
      address_key: key,
      email,
      first_name: firstName,
      last_name: lastName,
      properties: properties ? JSON.stringify(properties) : '{}',
      unsubscribed_at: optOut?.at ?? null,
      unsubscribed_by: optOut?.origin ?? null,
      created_from: this.#batch.id,
    }
    this.#contacts.set(key, made)
    this.#made.push(made)
    this.#counts.created += 1
    if (optOut) this.#countOptOut(optOut.at)
    if (before) this.#counts.kept += 1
    else if (asked) this.#log(id, '', null, 'opt_out')
    if (kept) this.#take(id, row.email, kept)
    this.#place(id, { chosen: kept !== undefined })
  }

  #change(row: ImportRow, found: ExistingContact | CreatedContact): void {
    const before =
      found.unsubscribed_at === null ? null : { at: found.unsubscribed_at, origin: found.unsubscribed_by! }
    const optOut = computeOptOut(before, row.unsubscribed, { origin: 'import', lifts: false }, this.#now)
    const after = {
      first_name: row.firstName ?? found.first_name,
      last_name: row.lastName ?? found.last_name,
      properties: row.properties
        ? JSON.stringify({ ...(JSON.parse(found.properties) as object), ...row.properties })
        : found.properties,
      unsubscribed_at: optOut?.at ?? null,
      unsubscribed_by: optOut?.origin ?? null,
    }
    const differs =
      after.first_name !== found.first_name ||
      after.last_name !== found.last_name ||
      after.properties !== found.properties ||
      optOut?.at !== before?.at
    Object.assign(found, after)
    if (differs && !('email' in found))
      this.#do.update.run(...Object.values(after), this.#now, this.#batch.teamId, found.id)
    if (optOut && !before) {
      this.#countOptOut(optOut.at)
      this.#log(found.id, '', 'opt_in', 'opt_out')
    }
    this.#place(found.id, { chosen: true })
    if (row.again) this.#counts.skipped += 1
    else this.#counts.updated += 1
    if (before && !row.again) this.#counts.kept += 1
  }

  /**
   * Stores a contact's segments and topic choices.
   * @param chosen whether the contact may already have choices
   */
  #place(id: string, { chosen }: { chosen: boolean }): void {
    const { teamId } = this.#batch
    for (const segmentId of this.#plan.segmentIds)
      if (this.#do.join.run(segmentId, id, teamId, this.#now).changes > 0)
        this.#count(['segment', segmentId, 1])
    for (const { id: topicId, subscription } of this.#plan.topics) {
      const current = chosen ? this.#do.choice.get(topicId, id) : undefined
      if (!mayReplaceChoice(current, subscription, { lifts: false })) continue
      this.#do.choose.run(topicId, id, teamId, subscription, 'import', this.#now)
      this.#count([subscription, topicId, 1])
      if (current) this.#count([current.subscription, topicId, -1])
      this.#log(id, topicId, current?.subscription ?? null, subscription)
    }
  }

  #keptOf(email: string): { scope: string; origin: OptOut['origin']; at: number }[] | undefined {
    if (!this.#key) return undefined
    const { teamId } = this.#batch
    const kept = this.#do.kept.all(teamId, hashAddress(this.#key, teamId, email))
    return kept.length === 0 ? undefined : kept
  }

  /** Applies the kept opt-outs of a new contact's address to the contact. */
  #take(id: string, email: string, kept: { scope: string; origin: OptOut['origin']; at: number }[]): void {
    const { teamId } = this.#batch
    for (const { scope, origin, at } of kept) {
      if (scope === '' || !this.#do.topic.get(scope, teamId)) continue
      this.#do.choose.run(scope, id, teamId, 'opt_out', origin, at)
      this.#count(['opt_out', scope, 1])
    }
    this.#do.dropKept.run(teamId, hashAddress(this.#key!, teamId, email))
  }

  #log(contactId: string, scope: string, was: Subscription | null, subscription: Subscription): void {
    const { teamId, id } = this.#batch
    this.#do.consent.run(newId(this.#now), teamId, contactId, scope, was, subscription, id, this.#now)
  }

  #countOptOut(at: number): void {
    this.#optedOut.set(at, (this.#optedOut.get(at) ?? 0) + 1)
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

/** Whether an address has a contact, and whether it is opted out. */
export interface ImportAddressStatus {
  contact: boolean
  unsubscribed: boolean
}

/**
 * Returns whether each address has a contact in a team and is opted out, in the order given. At most 1,000 addresses.
 */
async function optOutsOf(
  db: Db,
  { teamId, emails }: { teamId: string; emails: string[] },
): Promise<ImportAddressStatus[]> {
  const contacts = await findContactsByKey(db, teamId, emails.map(toSuppressionKey))
  const rest = emails.filter((email) => !contacts.has(toSuppressionKey(email)))
  const kept = await keptOf(db, teamId, rest)
  return emails.map((email) => {
    const contact = contacts.get(toSuppressionKey(email))
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
  for (const email of emails) byHash.set(await hashContactAddress(db, teamId, email), email)
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
