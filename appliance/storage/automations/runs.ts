/** Runs of automations, as people and apps see them. */
import { type Selectable, sql } from 'kysely'
import { type RunStatus, type RunStepStatus, type StepType } from '../../mail/automation.ts'
import { firstIdAt } from '../../mail/ids.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { AutomationRunsTable, AutomationRunStepsTable } from './tables.ts'

export interface AutomationRun {
  id: string
  teamId: string
  automationId: string
  versionId: string
  contactId: string
  status: RunStatus
  createdAt: number
  completedAt: number | null
}

/** A step that a run has reached. */
export interface AutomationRunStep {
  key: string
  type: StepType
  status: RunStepStatus
  /** When the step is due; null if it has ended. */
  dueAt: number | null
  output: Record<string, unknown> | null
  error: Record<string, unknown> | null
  createdAt: number
  completedAt: number | null
}

const toRun = (row: Selectable<AutomationRunsTable>): AutomationRun => ({
  id: row.id,
  teamId: row.team_id,
  automationId: row.automation_id,
  versionId: row.version_id,
  contactId: row.contact_id,
  status: row.status,
  createdAt: row.created_at,
  completedAt: row.completed_at,
})

const objectOf = (json: string | null) =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>)

const toStep = (row: Selectable<AutomationRunStepsTable>): AutomationRunStep => ({
  key: row.key,
  type: row.type,
  status: row.status,
  dueAt: row.due_at,
  output: objectOf(row.output),
  error: objectOf(row.error),
  createdAt: row.created_at,
  completedAt: row.completed_at,
})

/**
 * Lists runs, newest first.
 * @param statuses empty for all
 */
function listAutomationRuns(
  db: Db,
  {
    teamId,
    automationId,
    statuses,
    ...page
  }: PageArgs & { automationId: string; statuses: readonly RunStatus[] },
): Promise<Page<AutomationRun>> {
  let query = db
    .selectFrom('automation_runs')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('automation_id', '=', automationId)
  if (statuses.length > 0) query = query.where('status', 'in', statuses)
  return readPage(query, page, toRun)
}

/** Returns a run with the steps that it has reached. */
async function getAutomationRun(
  db: Db,
  { teamId, automationId, id }: { teamId: string; automationId: string; id: string },
): Promise<(AutomationRun & { steps: AutomationRunStep[] }) | undefined> {
  const row = await db
    .selectFrom('automation_runs')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('automation_id', '=', automationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return undefined
  const steps = await db.selectFrom('automation_run_steps').selectAll().where('run_id', '=', id).execute()
  return { ...toRun(row), steps: steps.map(toStep) }
}

/** A run of a contact, with the steps that it has reached, in chronological order. */
export interface ContactRun extends AutomationRun {
  automationName: string
  eventName: string
  steps: AutomationRunStep[]
}

/**
 * Lists the newest runs of a contact.
 * @param args most: maximum number of runs
 */
async function contactAutomationRuns(
  db: Db,
  { teamId, contactId, most }: { teamId: string; contactId: string; most: number },
): Promise<ContactRun[]> {
  const rows = await db
    .selectFrom('automation_runs as r')
    .innerJoin('automations as a', 'a.id', 'r.automation_id')
    .selectAll('r')
    .select('a.name as automation_name')
    .where('r.team_id', '=', teamId)
    .where('r.contact_id', '=', contactId)
    .orderBy('r.id', 'desc')
    .limit(most)
    .execute()
  if (rows.length === 0) return []
  const steps = await db
    .selectFrom('automation_run_steps')
    .selectAll()
    .where(
      'run_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('created_at')
    .orderBy('key')
    .execute()
  const byRun = Map.groupBy(steps, (step) => step.run_id)
  return rows.map((row) => ({
    ...toRun(row),
    automationName: row.automation_name,
    eventName: row.event_name,
    steps: (byRun.get(row.id) ?? []).map(toStep),
  }))
}

/** Counts the newest ended runs of an automation, and how many of them failed. */
async function recentAutomationRuns(
  db: Db,
  { automationId, since, most }: { automationId: string; since: number; most: number },
): Promise<{ ended: number; failed: number }> {
  const rows = await db
    .selectFrom('automation_runs')
    .select('status')
    .where('automation_id', '=', automationId)
    .where('completed_at', '>=', since)
    .where('status', 'in', ['completed', 'failed'])
    .orderBy('completed_at', 'desc')
    .limit(most)
    .execute()
  return { ended: rows.length, failed: rows.filter(({ status }) => status === 'failed').length }
}

/** Whether a stopped automation may have running runs. */
async function hasStoppedRuns(db: Db): Promise<boolean> {
  const stopped = db.selectFrom('automations').select('id').where('stopped_at', 'is not', null).limit(1)
  return (await stopped.executeTakeFirst()) !== undefined
}

/**
 * Ends running runs of stopped automations, at most `most`, and returns their number. Clears the stop of automations
 * that have no such runs. The status is a literal, because a partial index isn't used for a parameter.
 */
async function cancelStoppedRuns(db: Db, { most }: { most: number }, now: number): Promise<number> {
  const stopped = db.selectFrom('automations').select('id').where('stopped_at', 'is not', null)
  const rows = await db
    .selectFrom('automation_runs as r')
    .select('r.id')
    .where(sql<boolean>`r.status = 'running'`)
    .where('r.automation_id', 'in', stopped)
    .where(
      sql<boolean>`r.created_at <= (select a.stopped_at from automations a where a.id = r.automation_id)`,
    )
    .limit(most)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await endRuns(db, ids, now)
  if (ids.length < most)
    await db
      .updateTable('automations')
      .set({ stopped_at: null })
      .where('stopped_at', 'is not', null)
      .where(
        sql<boolean>`not exists (select 1 from automation_runs r where r.automation_id = automations.id
          and r.status = 'running' and r.created_at <= automations.stopped_at)`,
      )
      .execute()
  return ids.length
}

async function endRuns(db: Db, ids: string[], now: number): Promise<void> {
  await db
    .updateTable('automation_run_steps')
    .set({ status: 'skipped', due_at: null, event_name: null, completed_at: now })
    .where('run_id', 'in', ids)
    .where('due_at', 'is not', null)
    .execute()
  await db
    .updateTable('automation_runs')
    .set({ status: 'cancelled', completed_at: now })
    .where('id', 'in', ids)
    .where('status', '=', 'running')
    .execute()
}

/**
 * Continues a failed run at the step that failed. `stopped`: the automation was stopped after the run began, and its
 * runs are being ended.
 */
async function retryAutomationRun(
  db: Db,
  { teamId, automationId, id }: { teamId: string; automationId: string; id: string },
  now: number,
): Promise<'retried' | 'absent' | 'not_failed' | 'stopped'> {
  const run = db
    .selectFrom('automation_runs as r')
    .innerJoin('automations as a', 'a.id', 'r.automation_id')
    .where('r.id', '=', id)
    .where('r.team_id', '=', teamId)
    .where('r.automation_id', '=', automationId)
  const going = run.where(sql<boolean>`(a.stopped_at is null or r.created_at > a.stopped_at)`)
  const { numUpdatedRows } = await db
    .updateTable('automation_runs')
    .set({ status: 'running', completed_at: null })
    .where('id', 'in', going.select('r.id'))
    .where('status', '=', 'failed')
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) {
    const found = await run.select('r.status').executeTakeFirst()
    if (!found) return 'absent'
    return found.status === 'failed' ? 'stopped' : 'not_failed'
  }
  await db
    .updateTable('automation_run_steps')
    .set({ status: 'pending', due_at: now, error: null, completed_at: null })
    .where('run_id', '=', id)
    .where('status', '=', 'failed')
    .execute()
  return 'retried'
}

/**
 * Deletes ended runs that began before a time, and then deleted automations without runs. Returns the number of runs.
 */
async function purgeAutomationRuns(
  db: Db,
  { before, most }: { before: number; most: number },
): Promise<number> {
  const old = db
    .selectFrom('automation_runs')
    .select('id')
    .where('id', '<', firstIdAt(before))
    .where('status', '!=', 'running')
    .orderBy('id')
    .limit(most)
  const { numDeletedRows } = await db
    .deleteFrom('automation_runs')
    .where('id', 'in', old)
    .executeTakeFirstOrThrow()
  await db
    .deleteFrom('automations')
    .where('deleted_at', '<', before)
    .where(sql<boolean>`not exists (select 1 from automation_runs r where r.automation_id = automations.id)`)
    .execute()
  return Number(numDeletedRows)
}

export const methods = {
  reads: {
    hasStoppedRuns,
    listAutomationRuns,
    getAutomationRun,
    contactAutomationRuns,
    recentAutomationRuns,
  },
  writes: { cancelStoppedRuns, purgeAutomationRuns, retryAutomationRun },
}
