/** Erasing one person's data by address, in steps that never hold the writer for long; the erasure itself is the receipt. */
import type { Selectable } from 'kysely'
import { type Actor, actorFields, type ActorKind } from '../../mail/audit.ts'
import { addressHash, type ErasureCounts, noCounts } from '../../mail/erasure.ts'
import { appendAudit, completeAudit } from '../audit.ts'
import { type Page, type PageArgs, pageOf } from '../lists.ts'
import type { Db, ErasuresTable } from '../schema.ts'
import { contactsPhase } from './contacts.ts'
import { emailsPhase, queuePhase } from './emails.ts'
import { importsPhase } from './imports.ts'
import {
  attemptsPhase,
  postmasterPhase,
  receivedInFiles,
  receivedPhase,
  receiptsPhase,
  requestsPhase,
  returnedPhase,
  suppressionsPhase,
  webhooksPhase,
} from './others.ts'
import { ERASURE_PHASES, type ErasurePhase } from '../values.ts'
import { erasureKey, type Phase, scanOf, type Searched } from './scan.ts'

/** What was erased, without saying whose address it was. */
export interface Erasure {
  id: string
  teamId: string
  /** `addressHash` of the address. */
  hash: string
  actor: string
  actorKind: ActorKind
  createdAt: number
  /** Null while the work goes on. */
  finishedAt: number | null
  counts: ErasureCounts
}

/** A look at what an erasure would do, in steps. */
export interface ErasureSurveyArgs {
  teamId: string
  address: string
  /** Where the step begins; without it, at the start. */
  from?: { phase: ErasurePhase; after: string } | undefined
}

export interface ErasureSurvey {
  counts: ErasureCounts
  /** Where the next step begins; null when all was looked through. */
  next: { phase: ErasurePhase; after: string } | null
}

const PHASES: Record<ErasurePhase, Phase> = {
  queue: queuePhase,
  emails: emailsPhase,
  requests: requestsPhase,
  webhook_deliveries: webhooksPhase,
  webhook_attempts: attemptsPhase,
  receipts: receiptsPhase,
  returned: returnedPhase,
  postmaster: postmasterPhase,
  received: receivedPhase,
  imports: importsPhase,
  contacts: contactsPhase,
  suppressions: suppressionsPhase,
}

const START = { phase: ERASURE_PHASES[0], after: '' }

const after = (phase: ErasurePhase): ErasurePhase | undefined =>
  ERASURE_PHASES[ERASURE_PHASES.indexOf(phase) + 1]

const sum = (counts: ErasureCounts, more: Partial<ErasureCounts>): ErasureCounts => {
  const total = { ...counts }
  for (const [kind, count] of Object.entries(more)) total[kind as keyof ErasureCounts] += count
  return total
}

/** Kinds that an older version did not know count nothing. */
const countsOf = (row: Pick<Selectable<ErasuresTable>, 'counts'>): ErasureCounts => ({
  ...noCounts(),
  ...(JSON.parse(row.counts) as Partial<ErasureCounts>),
})

const toErasure = (row: Selectable<ErasuresTable>): Erasure => ({
  id: row.id,
  teamId: row.team_id,
  hash: row.hash,
  actor: row.actor,
  actorKind: row.actor_kind,
  createdAt: row.created_at,
  finishedAt: row.finished_at,
  counts: countsOf(row),
})

/**
 * Writes an erasure down, and that it began into the audit log. One of the same address that goes on is returned instead.
 */
async function beginErasure(
  db: Db,
  { id, teamId, address, actor }: { id: string; teamId: string; address: string; actor: Actor },
  now: number,
): Promise<Erasure> {
  const hash = addressHash(await erasureKey(db), teamId, address)
  const same = await db
    .selectFrom('erasures')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('hash', '=', hash)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  if (same) return toErasure(same)
  const row: ErasuresTable = {
    ...{ id, team_id: teamId, address, hash, actor: actor.name, actor_kind: actor.kind },
    ...{ created_at: now, finished_at: null, phase: ERASURE_PHASES[0], after: '' },
    ...{ counts: JSON.stringify(noCounts()), files: '[]' },
  }
  await db.insertInto('erasures').values(row).execute()
  const entry = {
    id,
    teamId,
    at: now,
    ...actorFields(actor),
    action: 'erasure.begin',
    target: `erasure ${id}`,
    targetName: null,
    before: null,
    after: null,
    details: { address_hash: hash },
  } as const
  await appendAudit(db, { entry })
  return toErasure(row)
}

/** What a step did, and the files that are to go: those of the step before, too, which a crash may have left. */
export interface ErasedStep {
  erasure: Erasure
  files: string[]
}

/**
 * Does one step; `finishedAt` tells whether it was the last. Undefined when there is no such erasure.
 * The cursor is in the row, so that whoever comes next goes on where the last one was.
 */
async function eraseStep(
  db: Db,
  { id, searched }: { id: string; searched?: Searched },
  now: number,
): Promise<ErasedStep | undefined> {
  const row = await db.selectFrom('erasures').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) return undefined
  if (row.finished_at !== null || row.address === null) return { erasure: toErasure(row), files: [] }
  const scan = await scanOf(db, {
    ...{ teamId: row.team_id, address: row.address, write: true, searched },
  })
  const part = await PHASES[row.phase](db, scan, row.after, now)
  const phase = part.next === null ? after(row.phase) : row.phase
  const counts = sum(countsOf(row), part.counts)
  const files = part.files ?? []
  const done = phase === undefined
  const changed = {
    counts: JSON.stringify(counts),
    files: JSON.stringify(files),
    ...(done ? { address: null, finished_at: now } : { phase, after: part.next ?? '' }),
  }
  await db.updateTable('erasures').set(changed).where('id', '=', id).execute()
  if (done) await completeAudit(db, { id, after: counts })
  const erasure = { ...toErasure(row), counts, finishedAt: done ? now : null }
  return { erasure, files: [...(JSON.parse(row.files) as string[]), ...files] }
}

/** Counts in one step what an erasure would touch, and changes nothing. */
async function surveyErasure(
  db: Db,
  { teamId, address, from, searched }: ErasureSurveyArgs & { searched?: Searched },
  now: number,
): Promise<ErasureSurvey> {
  const scan = await scanOf(db, { teamId, address, write: false, searched })
  const at = from ?? START
  const part = await PHASES[at.phase](db, scan, at.after, now)
  const phase = part.next === null ? after(at.phase) : at.phase
  return {
    counts: sum(noCounts(), part.counts),
    next: phase === undefined ? null : { phase, after: part.next ?? '' },
  }
}

/** Files of received email that the next step comes to, and the address to be searched for; undefined: none. */
export type FilesToSearch = { address: string; ids: string[] } | undefined

/** Of an erasure that goes on, or of a survey. */
async function filesToSearch(db: Db, args: { id: string } | ErasureSurveyArgs): Promise<FilesToSearch> {
  if (!('id' in args)) return filesAt(db, args, args.from ?? START)
  const row = await db
    .selectFrom('erasures')
    .select(['team_id', 'address', 'phase', 'after'])
    .where('id', '=', args.id)
    .executeTakeFirst()
  if (typeof row?.address !== 'string') return undefined
  return filesAt(db, { teamId: row.team_id, address: row.address }, row)
}

async function filesAt(
  db: Db,
  { teamId, address }: { teamId: string; address: string },
  { phase, after }: { phase: ErasurePhase; after: string },
): Promise<FilesToSearch> {
  if (phase !== 'received') return undefined
  const ids = await receivedInFiles(db, teamId, after)
  return ids.length === 0 ? undefined : { address, ids }
}

async function getErasure(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<Erasure | undefined> {
  const row = await db
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row && toErasure(row)
}

/** Newest first. */
async function listErasures(db: Db, args: PageArgs): Promise<Page<Erasure>> {
  const erasures = db.selectFrom('erasures').selectAll().where('team_id', '=', args.teamId)
  return pageOf(erasures, args, toErasure)
}

/** Ids of those that were begun and not finished, of all teams, oldest first. */
async function unfinishedErasures(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('erasures')
    .select('id')
    .where('finished_at', 'is', null)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { getErasure, listErasures, unfinishedErasures },
  writes: { beginErasure },
  innerReads: { surveyErasure, filesToSearch },
  innerWrites: { eraseStep },
}
