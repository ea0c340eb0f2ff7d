/** Automations and their versions. A run keeps the version that it began with. */
import type { Selectable } from 'kysely'
import {
  type AutomationGraph,
  type AutomationStatus,
  listTemplateRefs,
  listTriggers,
} from '../../mail/automation.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { AutomationsTable } from './tables.ts'

export interface AutomationSummary {
  id: string
  teamId: string
  name: string
  status: AutomationStatus
  /** ID of the version for new runs. */
  versionId: string
  /** Why Posthaste stopped the automation, as a sentence; null if it didn't. */
  stopReason: string | null
  createdAt: number
  updatedAt: number
}

/** An automation with its current version. */
export interface Automation extends AutomationSummary {
  graph: AutomationGraph
}

/** A change to an automation. Undefined fields are left unchanged. */
export interface AutomationChange {
  name?: string | undefined
  status?: AutomationStatus | undefined
  /** A new version, which applies to runs that begin from now on. */
  version?: { id: string; graph: AutomationGraph } | undefined
}

const toSummary = (row: Selectable<AutomationsTable>): AutomationSummary => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  status: row.status,
  versionId: row.version_id,
  stopReason: row.stop_reason,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const automationsOf = (db: Db, teamId: string) =>
  db.selectFrom('automations').selectAll().where('team_id', '=', teamId).where('deleted_at', 'is', null)

/** Lists automations, newest first. */
function listAutomations(
  db: Db,
  { teamId, status, ...page }: PageArgs & { status?: AutomationStatus | undefined },
): Promise<Page<AutomationSummary>> {
  const all = automationsOf(db, teamId)
  return readPage(status === undefined ? all : all.where('status', '=', status), page, toSummary)
}

/** Reads a version, which never changes. */
async function getAutomationVersion(db: Db, { id }: { id: string }): Promise<AutomationGraph | undefined> {
  const row = await db
    .selectFrom('automation_versions')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirst()
  return row && (JSON.parse(row.content) as AutomationGraph)
}

async function getAutomation(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<Automation | undefined> {
  const row = await automationsOf(db, teamId).where('id', '=', id).executeTakeFirst()
  const graph = row && (await getAutomationVersion(db, { id: row.version_id }))
  return row && graph && { ...toSummary(row), graph }
}

/** Stores a version, the events that start it, and the templates that it sends. */
async function insertVersion(
  db: Db,
  { id: automationId, teamId }: Pick<Automation, 'id' | 'teamId'>,
  { id, graph }: { id: string; graph: AutomationGraph },
  now: number,
): Promise<void> {
  await db
    .insertInto('automation_versions')
    .values({
      id,
      team_id: teamId,
      automation_id: automationId,
      content: JSON.stringify(graph),
      created_at: now,
    })
    .execute()
  await db.deleteFrom('automation_triggers').where('automation_id', '=', automationId).execute()
  const names = listTriggers(graph)
  await db
    .insertInto('automation_triggers')
    .values(names.map((name) => ({ team_id: teamId, event_name: name, automation_id: automationId })))
    .execute()
  await db.deleteFrom('automation_templates').where('automation_id', '=', automationId).execute()
  const templates = listTemplateRefs(graph)
  if (templates.length === 0) return
  await db
    .insertInto('automation_templates')
    .values(templates.map((template) => ({ team_id: teamId, template, automation_id: automationId })))
    .execute()
}

/** Stores an automation. Returns false and stores nothing if the team already has `most`. */
async function createAutomation(
  db: Db,
  { automation, most }: { automation: Automation; most: number },
  now: number,
): Promise<boolean> {
  const { n } = await db
    .selectFrom('automations')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', automation.teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return false
  await db
    .insertInto('automations')
    .values({
      id: automation.id,
      team_id: automation.teamId,
      name: automation.name,
      status: automation.status,
      version_id: automation.versionId,
      stopped_at: null,
      stop_reason: null,
      deleted_at: null,
      created_at: now,
      updated_at: now,
    })
    .execute()
  await insertVersion(db, automation, { id: automation.versionId, graph: automation.graph }, now)
  return true
}

/**
 * Changes an automation. Enabling it clears the reason of a stop.
 * @param args revision: ID of the version that must be the current one; undefined to skip this check
 */
async function updateAutomation(
  db: Db,
  {
    teamId,
    id,
    change,
    revision,
  }: { teamId: string; id: string; change: AutomationChange; revision?: string | undefined },
  now: number,
): Promise<'saved' | 'absent' | 'stale'> {
  const { name, status, version } = change
  const update = db
    .updateTable('automations')
    .set({
      ...(name !== undefined && { name }),
      ...(status !== undefined && { status }),
      ...(status === 'enabled' && { stop_reason: null }),
      ...(version && { version_id: version.id }),
      updated_at: now,
    })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  const updated = await (
    revision === undefined ? update : update.where('version_id', '=', revision)
  ).executeTakeFirstOrThrow()
  if (updated.numUpdatedRows === 0n) {
    const present = await automationsOf(db, teamId).where('id', '=', id).executeTakeFirst()
    return present ? 'stale' : 'absent'
  }
  if (version) await insertVersion(db, { id, teamId }, version, now)
  return 'saved'
}

/**
 * Disables an automation and ends its runs: none of their steps is executed from now on, and `cancelStoppedRuns` marks
 * them. Returns false if it doesn't exist.
 * @param args reason: why Posthaste stopped it; null if a person or app did. deleted: whether to delete it as well
 */
export async function stopAutomation(
  db: Db,
  {
    id,
    teamId,
    reason,
    deleted = false,
  }: { id: string; teamId: string; reason: string | null; deleted?: boolean },
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('automations')
    .set({ status: 'disabled', stopped_at: now, stop_reason: reason, updated_at: now })
    .set(deleted ? { deleted_at: now } : {})
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Lists the names of the enabled automations that send one of these templates, by ID or alias. Oldest first. */
async function automationsSending(
  db: Db,
  { teamId, templates }: { teamId: string; templates: readonly string[] },
): Promise<string[]> {
  const rows = await db
    .selectFrom('automations as a')
    .select('a.name')
    .where('a.team_id', '=', teamId)
    .where('a.id', 'in', (sends) =>
      sends
        .selectFrom('automation_templates')
        .select('automation_id')
        .where('team_id', '=', teamId)
        .where('template', 'in', templates),
    )
    .where('a.status', '=', 'enabled')
    .where('a.deleted_at', 'is', null)
    .orderBy('a.id')
    .execute()
  return rows.map(({ name }) => name)
}

export const methods = {
  reads: { listAutomations, getAutomation, getAutomationVersion, automationsSending },
  writes: { createAutomation, updateAutomation, stopAutomation },
}
