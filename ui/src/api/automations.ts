/** API calls for automations and their runs. */
import type { Static } from 'typebox'
import type {
  Automation,
  AutomationList,
  AutomationRef,
  AutomationRun,
  AutomationRunList,
  CreateAutomation,
  UpdateAutomation,
} from '../../../appliance/api/automations.ts'
import { listSegments, listTopics } from './audience.ts'
import type { Cursor } from './calls.ts'
import { change, read, withParameters } from './client.ts'
import { listTemplates } from './templates.ts'

type Ref = Static<typeof AutomationRef>
type RunList = Static<typeof AutomationRunList>

const at = (id: string) => `/automations/${encodeURIComponent(id)}`

/** Lists one page of automations. @param status empty: all */
export const listAutomations = (status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof AutomationList>>(
    withParameters('/automations', { status, after, before, limit: 50 }),
    signal,
  )

export const getAutomation = (id: string, signal?: AbortSignal) =>
  read<Static<typeof Automation>>(at(id), signal)

export const createAutomation = (body: Static<typeof CreateAutomation>) =>
  change<Ref>('POST', '/automations', body)

export const updateAutomation = (id: string, body: Static<typeof UpdateAutomation>) =>
  change<Ref>('PATCH', at(id), body)

export const deleteAutomation = (id: string) => change('DELETE', at(id))

export const duplicateAutomation = (id: string) => change<Ref>('POST', `${at(id)}/duplicate`)

/** Disables an automation and ends its runs. */
export const stopAutomation = (id: string) => change('POST', `${at(id)}/stop`)

/** Lists one page of runs. @param status empty: all */
export const listRuns = (id: string, status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<RunList>(withParameters(`${at(id)}/runs`, { status, after, before, limit: 50 }), signal)

/** Counts the runs of the last 30 days, each number up to 100. */
export async function countRuns(id: string, signal?: AbortSignal) {
  const count = async (status: string) => {
    const list = await read<RunList>(withParameters(`${at(id)}/runs`, { status, limit: 100 }), signal)
    return { count: list.data.length, more: list.has_more }
  }
  const [all, running, failed] = await Promise.all(['', 'running', 'failed'].map(count))
  return { all: all!, running: running!, failed: failed! }
}

export const getRun = (id: string, run: string, signal?: AbortSignal) =>
  read<AutomationRun>(`${at(id)}/runs/${encodeURIComponent(run)}`, signal)

/** Lists the names that steps can refer to. */
export async function listStepNames(signal?: AbortSignal) {
  const [templates, segments, topics] = await Promise.all([
    listTemplates({ text: '', status: 'published' }, {}, signal),
    listSegments(signal),
    listTopics(signal),
  ])
  return { templates: templates.data, segments: segments.data, topics: topics.data }
}
