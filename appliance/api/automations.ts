/** Automations: steps that run for a contact when a custom event arrives. */
import { Type, type Static } from 'typebox'
import {
  AUTOMATION_STATUSES,
  CONNECTION_TYPES,
  RUN_STATUSES,
  RUN_STEP_STATUSES,
  STEP_TYPES,
} from '../mail/automation.ts'
import type {
  Automation as StoredAutomation,
  AutomationRun as StoredRun,
  AutomationRunStep as StoredRunStep,
  AutomationSummary as StoredSummary,
} from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { choice, flag, page, path, pathUuid, query, text } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('automation'), id: Id }
const automationName = string('Name, at most 255 characters.', { examples: ['Welcome'] })
const status = literals(
  AUTOMATION_STATUSES,
  'enabled: events start runs · disabled: they don’t, but current runs continue.',
)
const stepKey = string('A key of your own, unique in the automation.')
const stepType = literals(STEP_TYPES, 'What the step does.')
const config = record(Type.Unknown(), 'What the step needs, by type. See docs/automations.md.')

/** A step in requests and responses. */
export const AutomationStep = object('A step of an automation.', { key: stepKey, type: stepType, config })
const connectionEnds = {
  from: string('The key of a step.'),
  to: string('The key of the step that follows.'),
}
const connectionType = literals(
  CONNECTION_TYPES,
  'When to follow it: after a condition or wait by its result, else `default`.',
)
export const AutomationConnectionInput = object('What follows a step. `type` is `default` unless given.', {
  ...connectionEnds,
  type: Type.Optional(connectionType),
})
export const AutomationConnection = object('What follows a step.', {
  ...connectionEnds,
  type: connectionType,
})

const revision = string('Changes with the steps. Not part of the hosted API.')

export const graphInput = {
  steps: array(AutomationStep, '1 to 150 steps, with at least one trigger.'),
  connections: array(AutomationConnectionInput, 'Which step follows which.'),
}
export const CreateAutomation = object('An automation to create. `status` is `disabled` unless given.', {
  name: automationName,
  status: Type.Optional(status),
  ...graphInput,
})
export const UpdateAutomation = object(
  'What to change: at least one field. `steps` and `connections` go together.',
  {
    name: Type.Optional(automationName),
    status: Type.Optional(status),
    steps: Type.Optional(graphInput.steps),
    connections: Type.Optional(graphInput.connections),
    revision: optionalText(
      'Refuses the change if the steps have another revision. Not part of the hosted API.',
    ),
  },
)
export const AutomationRef = object('The automation.', reference)
export const AutomationUpdated = object('The changed automation.', { ...reference, revision })
export const AutomationDeleted = object('The deleted automation.', { ...reference, deleted: Deleted })
export const AutomationStopped = object('The stopped automation.', {
  ...reference,
  status: Type.Literal('disabled', { description: 'Always disabled.' }),
})

/** Numbers of runs. */
export const AutomationRunCounts = object('Counts of runs of the last 30 days. Not part of the hosted API.', {
  running: integer('Active runs.'),
  completed: integer('Ended.'),
  failed: integer('Ended by an error.'),
  cancelled: integer('Ended by a stop, or because the contact was deleted.'),
  most: integer('How many are counted at most, the newest first. A sum that reaches it may be larger.'),
})

const summary = {
  id: Id,
  name: automationName,
  status,
  created_at: Timestamp,
  updated_at: Timestamp,
  stop_reason: Nullable(Type.String(), 'Why Posthaste stopped it; null: it didn’t.'),
}
export const AutomationSummary = object('An automation. `runs` only if `counts` is true.', {
  ...summary,
  runs: Type.Optional(AutomationRunCounts),
})
export type AutomationSummary = Static<typeof AutomationSummary>
export const AutomationList = listOf(AutomationSummary, 'automations')
export const Automation = object('An automation.', {
  object: kind('automation'),
  ...summary,
  steps: array(AutomationStep, 'The steps that new runs get.'),
  connections: array(AutomationConnection, 'Which step follows which.'),
  revision,
})

export const AutomationCounts = object('Counts of an automation, for its runs of the last 30 days.', {
  object: kind('automation_counts'),
  id: Id,
  runs: AutomationRunCounts,
  steps: arrayOfObjects('The steps of the current version.', {
    key: string('The key of the step.'),
    waiting: integer('Runs that are at this step now.'),
    completed: integer('Runs that completed it.'),
    failed: integer('Runs that failed at it.'),
    skipped: integer('Runs in which there was nothing to do.'),
  }),
})

const runSummary = {
  id: Id,
  status: literals(RUN_STATUSES, 'cancelled: the automation was stopped or the contact deleted.'),
  started_at: Nullable(Timestamp, 'When it started.'),
  completed_at: Nullable(Timestamp, 'null: it is still running.'),
  created_at: Timestamp,
  contact_id: Nullable(Id, 'Its contact. Not part of the hosted API.'),
}
export const AutomationRunSummary = object('A run for one contact.', runSummary)
export type AutomationRunSummary = Static<typeof AutomationRunSummary>
export const AutomationRunList = listOf(AutomationRunSummary, 'runs')
const data = (description: string) => Nullable(Type.Record(Type.String(), Type.Unknown()), description)
export const AutomationRunStep = object('A step of a run.', {
  key: stepKey,
  type: stepType,
  status: literals(RUN_STEP_STATUSES, 'skipped: it was not reached, or there was nothing to do.'),
  started_at: Nullable(Timestamp, 'null: not reached.'),
  completed_at: Nullable(Timestamp, 'null: not ended.'),
  output: data('What it did, such as the id of its email.'),
  error: data('Why it failed, in `message`.'),
  created_at: Timestamp,
})
export const AutomationRun = object('A run for one contact.', {
  object: kind('automation_run'),
  ...runSummary,
  steps: array(AutomationRunStep, 'The steps of the version that it began with.'),
})
export type AutomationRun = Static<typeof AutomationRun>

export const AutomationRunRetried = object('The run, which continues.', {
  object: kind('automation_run'),
  id: Id,
  status: Type.Literal('running', { description: 'Always running.' }),
})

const automationId = pathUuid('The id of the automation.')
const params = path({ automation_id: automationId })
const operation = operationsIn('Automations')

export const createAutomation = operation('POST /automations', {
  summary: 'Create an automation',
  description: 'A team can have at most 500.',
  body: CreateAutomation,
  response: { 201: AutomationRef },
})
export const listAutomations = operation('GET /automations', {
  summary: 'List automations',
  querystring: query({
    ...page,
    status: choice(AUTOMATION_STATUSES, 'Only automations with this status.'),
    counts: flag(false, 'true: with counts of their runs. Not part of the hosted API.'),
  }),
  response: { 200: AutomationList },
})
export const getAutomation = operation('GET /automations/:automation_id', {
  summary: 'Get an automation',
  params,
  response: { 200: Automation },
})
export const countAutomation = operation('GET /automations/:automation_id/counts', {
  summary: 'Count the runs of an automation and the results of its steps',
  description: 'Not part of the hosted API.',
  params,
  response: { 200: AutomationCounts },
})
export const updateAutomation = operation('PATCH /automations/:automation_id', {
  summary: 'Change, enable or disable an automation',
  description: 'Runs keep the steps that they began with.',
  params,
  body: UpdateAutomation,
  response: { 200: AutomationUpdated },
})
export const deleteAutomation = operation('DELETE /automations/:automation_id', {
  summary: 'Delete an automation',
  description: 'Its runs end.',
  params,
  response: { 200: AutomationDeleted },
})
export const duplicateAutomation = operation('POST /automations/:automation_id/duplicate', {
  summary: 'Duplicate an automation',
  description: 'The copy is disabled.',
  params,
  response: { 201: AutomationRef },
})
export const stopAutomation = operation('POST /automations/:automation_id/stop', {
  summary: 'Stop an automation',
  description: 'Disables it and ends its runs: none of their steps runs from now on.',
  params,
  response: { 200: AutomationStopped },
})
export const listAutomationRuns = operation('GET /automations/:automation_id/runs', {
  summary: 'List the runs of an automation',
  description: 'Runs are kept for 30 days after they began, and until they end.',
  params,
  querystring: query({
    ...page,
    status: text(string(`Only runs with these statuses, joined by commas: ${RUN_STATUSES.join(', ')}.`)),
  }),
  response: { 200: AutomationRunList },
})
export const getAutomationRun = operation('GET /automations/:automation_id/runs/:run_id', {
  summary: 'Get a run of an automation',
  params: path({ automation_id: automationId, run_id: pathUuid('The id of the run.') }),
  response: { 200: AutomationRun },
})

interface CountedRuns {
  counts: Omit<Static<typeof AutomationRunCounts>, 'most'>
  most: number
}

const presentCountedRuns = ({ counts, most }: CountedRuns): Static<typeof AutomationRunCounts> => ({
  ...counts,
  most,
})

export const presentAutomationCounts = (
  id: string,
  { steps, ...runs }: CountedRuns & Pick<Static<typeof AutomationCounts>, 'steps'>,
): Static<typeof AutomationCounts> => ({
  object: 'automation_counts',
  id,
  runs: presentCountedRuns(runs),
  steps,
})

export const retryAutomationRun = operation('POST /automations/:automation_id/runs/:run_id/retry', {
  summary: 'Retry the failed step of a run',
  description: 'The run goes on with the steps that it began with. Not part of the hosted API.',
  params: path({ automation_id: automationId, run_id: pathUuid('The id of the run.') }),
  response: { 200: AutomationRunRetried },
})

export const presentAutomationSummary = (one: StoredSummary & { runs?: CountedRuns }): AutomationSummary => ({
  id: one.id,
  name: one.name,
  status: one.status,
  created_at: timestamp(one.createdAt),
  updated_at: timestamp(one.updatedAt),
  stop_reason: one.stopReason,
  ...(one.runs && { runs: presentCountedRuns(one.runs) }),
})

export const presentAutomation = (one: StoredAutomation): Static<typeof Automation> => ({
  object: 'automation',
  ...presentAutomationSummary(one),
  steps: one.graph.steps.map(({ key, type, config: given }) => ({ key, type, config: { ...given } })),
  connections: one.graph.connections,
  revision: one.versionId,
})

export const presentRunSummary = (run: StoredRun): AutomationRunSummary => ({
  id: run.id,
  status: run.status,
  started_at: timestamp(run.createdAt),
  completed_at: timestampOrNull(run.completedAt),
  created_at: timestamp(run.createdAt),
  contact_id: run.contactId,
})

/** Presents a step that a run has reached. */
export const presentReachedStep = (step: StoredRunStep): Static<typeof AutomationRunStep> => ({
  key: step.key,
  type: step.type,
  status: step.status,
  started_at: timestamp(step.createdAt),
  completed_at: timestampOrNull(step.completedAt),
  output: step.output,
  error: step.error,
  created_at: timestamp(step.createdAt),
})

/**
 * Presents a run with all steps of its version. Steps that it did not reach are pending, or skipped when the run has
 * ended.
 */
export function presentRun(
  run: StoredRun & { steps: StoredRunStep[]; graph: StoredAutomation['graph'] },
): AutomationRun {
  return { object: 'automation_run', ...presentRunSummary(run), steps: presentRunSteps(run) }
}

/** Presents the steps of a run, in the order of its version. */
export function presentRunSteps(
  run: Pick<StoredRun, 'status' | 'createdAt'> & { steps: StoredRunStep[]; graph: StoredAutomation['graph'] },
): Static<typeof AutomationRunStep>[] {
  const reached = new Map(run.steps.map((step) => [step.key, step]))
  return run.graph.steps.map(({ key, type }) => {
    const step = reached.get(key)
    if (step) return presentReachedStep(step)
    return {
      key,
      type,
      status: run.status === 'running' ? 'pending' : 'skipped',
      started_at: null,
      completed_at: null,
      output: null,
      error: null,
      created_at: timestamp(run.createdAt),
    }
  })
}
