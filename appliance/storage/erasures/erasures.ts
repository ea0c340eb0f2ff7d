/**
 * Erases one person's data by address, in steps that never block the writer for long. The stored erasure also serves as
 * the receipt.
 */
import type { Selectable } from 'kysely'
import { type Actor, toActorFields, type ActorKind } from '../../mail/audit.ts'
import { hashAddress, type ErasureCounts, createErasureCounts } from '../../mail/erasure.ts'
import { appendAudit, completeAudit } from '../audit.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db, ErasuresTable } from '../schema.ts'
import { contactsPhase } from './contacts.ts'
import { sentEventsPhase } from './automations.ts'
import { emailsPhase, queuePhase } from './emails.ts'
import { importsPhase } from './imports.ts'
import {
  attemptsPhase,
  postmasterPhase,
  listReceivedEmailsInFiles,
  receivedEmailsPhase,
  receiptsPhase,
  requestsPhase,
  returnedMessagesPhase,
  suppressionsPhase,
  webhooksPhase,
} from './others.ts'
import { ERASURE_PHASES, type ErasurePhase } from '../values.ts'
import { getErasureKey, type Phase, createErasureContext, type FileSearchResults } from './scan.ts'

/** The record of an erasure, which doesn't contain the address. */
export interface Erasure {
  id: string
  teamId: string
  /** Hash of the address, created by `hashAddress`. */
  hash: string
  actor: string
  actorKind: ActorKind
  createdAt: number
  /** When the erasure finished; null while it runs. */
  finishedAt: number | null
  counts: ErasureCounts
}

/** Arguments for a preview of an erasure, in steps. */
export interface ErasurePreviewArgs {
  teamId: string
  address: string
  /** Position at which the step begins; undefined for the first step. */
  from?: { phase: ErasurePhase; after: string } | undefined
}

export interface ErasurePreview {
  counts: ErasureCounts
  /** Position at which the next step begins; null if everything was examined. */
  next: { phase: ErasurePhase; after: string } | null
}

const PHASES: Record<ErasurePhase, Phase> = {
  queue: queuePhase,
  emails: emailsPhase,
  requests: requestsPhase,
  webhook_deliveries: webhooksPhase,
  webhook_attempts: attemptsPhase,
  receipts: receiptsPhase,
  returned: returnedMessagesPhase,
  postmaster: postmasterPhase,
  received: receivedEmailsPhase,
  imports: importsPhase,
  sent_events: sentEventsPhase,
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

/** Counts that an older version didn't store are 0. */
const countsOf = (row: Pick<Selectable<ErasuresTable>, 'counts'>): ErasureCounts => ({
  ...createErasureCounts(),
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
 * Stores an erasure, and its start in the audit log. If an erasure of the same address is running, returns that one.
 */
async function beginErasure(
  db: Db,
  { id, teamId, address, actor }: { id: string; teamId: string; address: string; actor: Actor },
  now: number,
): Promise<Erasure> {
  const hash = hashAddress(await getErasureKey(db), teamId, address)
  const same = await db
    .selectFrom('erasures')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('hash', '=', hash)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  if (same) return toErasure(same)
  const row: ErasuresTable = {
    id,
    team_id: teamId,
    address,
    hash,
    actor: actor.name,
    actor_kind: actor.kind,
    created_at: now,
    finished_at: null,
    phase: ERASURE_PHASES[0],
    after: '',
    counts: JSON.stringify(createErasureCounts()),
    files: '[]',
  }
  await db.insertInto('erasures').values(row).execute()
  const entry = {
    id,
    teamId,
    at: now,
    ...toActorFields(actor),
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

/**
 * The result of a step, and the files to delete. They include the files of the previous step, because a crash may have
 * left these.
 */
export interface ErasureStepResult {
  erasure: Erasure
  files: string[]
}

/**
 * Runs one step. `finishedAt` is set after the last step. Returns undefined if there is no such erasure. The position
 * is in the row, so that another process can continue.
 */
async function eraseStep(
  db: Db,
  { id, searched }: { id: string; searched?: FileSearchResults },
  now: number,
): Promise<ErasureStepResult | undefined> {
  const row = await db.selectFrom('erasures').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) return undefined
  if (row.finished_at !== null || row.address === null) return { erasure: toErasure(row), files: [] }
  const scan = await createErasureContext(db, {
    teamId: row.team_id,
    address: row.address,
    write: true,
    searched,
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

/** Counts what one step of an erasure would change. Changes nothing. */
async function surveyErasure(
  db: Db,
  { teamId, address, from, searched }: ErasurePreviewArgs & { searched?: FileSearchResults },
  now: number,
): Promise<ErasurePreview> {
  const scan = await createErasureContext(db, { teamId, address, write: false, searched })
  const at = from ?? START
  const part = await PHASES[at.phase](db, scan, at.after, now)
  const phase = part.next === null ? after(at.phase) : at.phase
  return {
    counts: sum(createErasureCounts(), part.counts),
    next: phase === undefined ? null : { phase, after: part.next ?? '' },
  }
}

/**
 * The files of received email that the next step covers, and the address to search for; undefined if there are none.
 */
export type FilesToSearch = { address: string; ids: string[] } | undefined

/** Returns the files to search for a running erasure or for a preview. */
async function filesToSearch(db: Db, args: { id: string } | ErasurePreviewArgs): Promise<FilesToSearch> {
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
  const ids = await listReceivedEmailsInFiles(db, teamId, after)
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

/** Lists erasures, newest first. */
async function listErasures(db: Db, args: PageArgs): Promise<Page<Erasure>> {
  const erasures = db.selectFrom('erasures').selectAll().where('team_id', '=', args.teamId)
  return readPage(erasures, args, toErasure)
}

/** Lists the IDs of unfinished erasures of all teams, oldest first. */
async function unfinishedErasures(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('erasures')
    .select('id')
    .where('finished_at', 'is', null)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

export const methods = {
  reads: { getErasure, listErasures, unfinishedErasures },
  writes: { beginErasure },
  innerReads: { surveyErasure, filesToSearch },
  innerWrites: { eraseStep },
}
