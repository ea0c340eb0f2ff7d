/** Counts the runs of automations and their steps. Each query reads a limited number of rows. */
import { sql } from 'kysely'
import type { RunStatus } from '../../mail/automation.ts'
import { firstIdAt } from '../../mail/ids.ts'
import type { Db } from '../schema.ts'

/**
 * Numbers of runs by status. `running` counts all running runs; the others count only the newest runs. Each is at most
 * the limit of the request.
 */
export type RunCounts = Record<RunStatus, number>

/** Counts of a step's results in the newest runs. `waiting` is the number of runs that are currently at this step. */
export interface StepCounts {
  key: string
  waiting: number
  completed: number
  failed: number
  skipped: number
}

interface Asked {
  automationId: string
  /** Time from which on runs are counted (Unix milliseconds). Running runs always count. */
  since: number
  /** Maximum number of runs to read. */
  most: number
}

/** Selects the newest runs. */
const newest = (db: Db, { automationId, since, most }: Asked) =>
  db
    .selectFrom('automation_runs')
    .where('automation_id', '=', automationId)
    .where('id', '>=', firstIdAt(since))
    .orderBy('id', 'desc')
    .limit(most)

/** Selects running runs. The status is a literal, because a partial index isn't used for a parameter. */
const running = (db: Db, { automationId, most }: Asked) =>
  db
    .selectFrom('automation_runs')
    .where('automation_id', '=', automationId)
    .where(sql<boolean>`status = 'running'`)
    .limit(most)

async function countRuns(db: Db, asked: Asked): Promise<RunCounts> {
  const rows = await db
    .selectFrom(newest(db, asked).select('status').as('r'))
    .select(['r.status', (select) => select.fn.countAll<number>().as('n')])
    .groupBy('r.status')
    .execute()
  const { n } = await db
    .selectFrom(running(db, asked).select('id').as('r'))
    .select((select) => select.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow()
  const counts: RunCounts = { running: 0, completed: 0, failed: 0, cancelled: 0 }
  for (const row of rows) counts[row.status] = Number(row.n)
  return { ...counts, running: Number(n) }
}

/** Counts the runs of automations of a team, by ID. Unknown automations are omitted. */
async function countAutomationRuns(
  db: Db,
  { teamId, ids, ...limits }: { teamId: string; ids: readonly string[]; since: number; most: number },
): Promise<Record<string, RunCounts>> {
  if (ids.length === 0) return {}
  const known = await db
    .selectFrom('automations')
    .select('id')
    .where('team_id', '=', teamId)
    .where('id', 'in', ids)
    .execute()
  const counts: Record<string, RunCounts> = {}
  for (const { id } of known) counts[id] = await countRuns(db, { automationId: id, ...limits })
  return counts
}

/** Counts the results of each step that runs of an automation have reached. */
async function countAutomationSteps(
  db: Db,
  { teamId, ...asked }: Asked & { teamId: string },
): Promise<StepCounts[]> {
  const counts = new Map<string, StepCounts>()
  const of = (key: string): StepCounts => {
    const found = counts.get(key) ?? { key, waiting: 0, completed: 0, failed: 0, skipped: 0 }
    counts.set(key, found)
    return found
  }
  const ended = await db
    .selectFrom(newest(db, asked).where('team_id', '=', teamId).select('id').as('r'))
    .innerJoin('automation_run_steps as s', 's.run_id', 'r.id')
    .select(['s.key', 's.status', (select) => select.fn.countAll<number>().as('n')])
    .where('s.due_at', 'is', null)
    .groupBy(['s.key', 's.status'])
    .execute()
  for (const { key, status, n } of ended)
    if (status === 'completed' || status === 'failed' || status === 'skipped') of(key)[status] = Number(n)
  const open = await db
    .selectFrom(running(db, asked).where('team_id', '=', teamId).select('id').as('r'))
    .innerJoin('automation_run_steps as s', 's.run_id', 'r.id')
    .select(['s.key', (select) => select.fn.countAll<number>().as('n')])
    .where('s.due_at', 'is not', null)
    .groupBy('s.key')
    .execute()
  for (const { key, n } of open) of(key).waiting = Number(n)
  return [...counts.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}

export const methods = { reads: { countAutomationRuns, countAutomationSteps } }
