/** API calls for automations and their runs. */
import type { Static } from 'typebox'
import type {
  Automation,
  AutomationCounts,
  AutomationList,
  AutomationRef,
  AutomationRun,
  AutomationRunList,
  AutomationUpdated,
  CreateAutomation,
  UpdateAutomation,
} from '../../../appliance/api/automations.ts'
import type { ContactRunList } from '../../../appliance/api/contact-automations.ts'
import type { AutomationTestRun, TestAutomation } from '../../../appliance/api/automation-tests.ts'
import { listProperties, listSegments, listTopics } from './audience.ts'
import type { Cursor } from './calls.ts'
import { change, postQuery, read, addQueryString } from './client.ts'
import { listEvents } from './custom-events.ts'
import { listTemplates } from './templates.ts'

type Ref = Static<typeof AutomationRef>
type RunList = Static<typeof AutomationRunList>

const at = (id: string) => `/automations/${encodeURIComponent(id)}`

/**
 * Lists one page of automations, with numbers of their runs.
 * @param status empty for all
 */
export const listAutomations = (status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof AutomationList>>(
    addQueryString('/automations', { status, after, before, limit: 50, counts: true }),
    signal,
  )

export const getAutomation = (id: string, signal?: AbortSignal) =>
  read<Static<typeof Automation>>(at(id), signal)

export const createAutomation = (body: Static<typeof CreateAutomation>) =>
  change<Ref>('POST', '/automations', body)

export const updateAutomation = (id: string, body: Static<typeof UpdateAutomation>) =>
  change<Static<typeof AutomationUpdated>>('PATCH', at(id), body)

export const deleteAutomation = (id: string) => change('DELETE', at(id))

export const duplicateAutomation = (id: string) => change<Ref>('POST', `${at(id)}/duplicate`)

/** Disables an automation and ends its runs. */
export const stopAutomation = (id: string) => change('POST', `${at(id)}/stop`)

/** Simulates a run. */
export const testAutomation = (id: string, body: TestAutomation) =>
  postQuery<AutomationTestRun>(`${at(id)}/test`, body)

/**
 * Lists one page of runs.
 * @param status empty for all
 */
export const listRuns = (id: string, status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<RunList>(addQueryString(`${at(id)}/runs`, { status, after, before, limit: 50 }), signal)

/** Counts the runs of the last 30 days and the results of each step. */
export const countAutomationRuns = (id: string, signal?: AbortSignal) =>
  read<Static<typeof AutomationCounts>>(`${at(id)}/counts`, signal)

export const getRun = (id: string, run: string, signal?: AbortSignal) =>
  read<AutomationRun>(`${at(id)}/runs/${encodeURIComponent(run)}`, signal)

/** Lists the newest 20 runs of a contact, of all automations. */
export const listContactRuns = (contact: string, signal?: AbortSignal) =>
  read<Static<typeof ContactRunList>>(`/contacts/${encodeURIComponent(contact)}/automations`, signal)

/** Repeats the failed step of a run, and continues the run from there. */
export const retryRun = (id: string, run: string) =>
  change('POST', `${at(id)}/runs/${encodeURIComponent(run)}/retry`)

/** Reads all pages of a list. */
async function allOf<T extends { id: string }>(
  list: (cursor: Cursor) => Promise<{ data: T[]; has_more: boolean }>,
): Promise<T[]> {
  const found: T[] = []
  for (;;) {
    const after = found.at(-1)?.id
    const { data, has_more: more } = await list(after === undefined ? {} : { after })
    found.push(...data)
    if (!more || data.length === 0) return found
  }
}

/** Lists the objects that steps can refer to, with their names. */
export async function listStepNames(signal?: AbortSignal) {
  const [templates, segments, topics] = await Promise.all([
    allOf((cursor) => listTemplates({ text: '', status: 'published' }, cursor, signal)),
    listSegments(signal),
    listTopics(signal),
  ])
  return { templates, segments: segments.data, topics: topics.data }
}

/** Lists the objects that can be chosen in the settings of steps. */
export async function listStepChoices(signal?: AbortSignal) {
  const [names, events, properties] = await Promise.all([
    listStepNames(signal),
    allOf((cursor) => listEvents(cursor, signal)),
    listProperties(signal),
  ])
  return { ...names, events, properties: properties.data }
}
