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
import { Deleted, described, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('automation'), id: Id }
const automationName = Type.String({ description: 'Name, at most 255 characters.', examples: ['Welcome'] })
const status = literals(
  AUTOMATION_STATUSES,
  described('enabled: events start runs · disabled: they don’t, but current runs continue.'),
)
const stepKey = Type.String(described('A key of your own, unique in the automation.'))
const stepType = literals(STEP_TYPES, described('What the step does.'))
const config = Type.Record(
  Type.String(),
  Type.Unknown(),
  described('What the step needs, by type. See docs/automations.md.'),
)

/** A step in requests and responses. */
export const AutomationStep = Type.Object(
  { key: stepKey, type: stepType, config },
  described('A step of an automation.'),
)
const connectionEnds = {
  from: Type.String(described('The key of a step.')),
  to: Type.String(described('The key of the step that follows.')),
}
const connectionType = literals(
  CONNECTION_TYPES,
  described('When to follow it: after a condition or wait by its result, else `default`.'),
)
export const AutomationConnectionInput = Type.Object(
  { ...connectionEnds, type: Type.Optional(connectionType) },
  described('What follows a step. `type` is `default` unless given.'),
)
export const AutomationConnection = Type.Object(
  { ...connectionEnds, type: connectionType },
  described('What follows a step.'),
)

const revision = Type.String(described('Changes with the steps. Not part of the hosted API.'))

export const graphInput = {
  steps: Type.Array(AutomationStep, described('1 to 150 steps, with at least one trigger.')),
  connections: Type.Array(AutomationConnectionInput, described('Which step follows which.')),
}
/** POST /automations */
export const CreateAutomation = Type.Object(
  { name: automationName, status: Type.Optional(status), ...graphInput },
  described('An automation to create. `status` is `disabled` unless given.'),
)
/** PATCH /automations/:id */
export const UpdateAutomation = Type.Object(
  {
    name: Type.Optional(automationName),
    status: Type.Optional(status),
    steps: Type.Optional(graphInput.steps),
    connections: Type.Optional(graphInput.connections),
    revision: Type.Optional(
      Nullable(
        Type.String(),
        described('Refuses the change if the steps have another revision. Not part of the hosted API.'),
      ),
    ),
  },
  described('What to change: at least one field. `steps` and `connections` go together.'),
)
export const AutomationRef = Type.Object(reference, described('The automation.'))
export const AutomationUpdated = Type.Object({ ...reference, revision }, described('The changed automation.'))
export const AutomationDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  described('The deleted automation.'),
)
export const AutomationStopped = Type.Object(
  { ...reference, status: Type.Literal('disabled', described('Always disabled.')) },
  described('The stopped automation.'),
)

const number = (description: string) => Type.Integer(described(description))
/** Numbers of runs. */
export const AutomationRunCounts = Type.Object(
  {
    running: number('Active runs.'),
    completed: number('Ended.'),
    failed: number('Ended by an error.'),
    cancelled: number('Ended by a stop, or because the contact was deleted.'),
    most: number('How many are counted at most, the newest first. A sum that reaches it may be larger.'),
  },
  described('Counts of runs of the last 30 days. Not part of the hosted API.'),
)

const summary = {
  id: Id,
  name: automationName,
  status,
  created_at: Timestamp,
  updated_at: Timestamp,
  stop_reason: Nullable(Type.String(), described('Why Posthaste stopped it; null: it didn’t.')),
}
/** An element of GET /automations. */
export const AutomationSummary = Type.Object(
  { ...summary, runs: Type.Optional(AutomationRunCounts) },
  described('An automation. `runs` only if `counts` is true.'),
)
export type AutomationSummary = Static<typeof AutomationSummary>
export const AutomationList = listOf(AutomationSummary, 'automations')
/** GET /automations/:id */
export const Automation = Type.Object(
  {
    object: kind('automation'),
    ...summary,
    steps: Type.Array(AutomationStep, described('The steps that new runs get.')),
    connections: Type.Array(AutomationConnection, described('Which step follows which.')),
    revision,
  },
  described('An automation.'),
)

/** GET /automations/:automation_id/counts */
export const AutomationCounts = Type.Object(
  {
    object: kind('automation_counts'),
    id: Id,
    runs: AutomationRunCounts,
    steps: Type.Array(
      Type.Object({
        key: Type.String(described('The key of the step.')),
        waiting: number('Runs that are at this step now.'),
        completed: number('Runs that completed it.'),
        failed: number('Runs that failed at it.'),
        skipped: number('Runs in which there was nothing to do.'),
      }),
      described('The steps of the current version.'),
    ),
  },
  described('Counts of an automation, for its runs of the last 30 days.'),
)

const runSummary = {
  id: Id,
  status: literals(RUN_STATUSES, described('cancelled: the automation was stopped or the contact deleted.')),
  started_at: Nullable(Timestamp, described('When it started.')),
  completed_at: Nullable(Timestamp, described('null: it is still running.')),
  created_at: Timestamp,
  contact_id: Nullable(Id, described('Its contact. Not part of the hosted API.')),
}
/** An element of GET /automations/:id/runs. */
export const AutomationRunSummary = Type.Object(runSummary, described('A run for one contact.'))
export type AutomationRunSummary = Static<typeof AutomationRunSummary>
export const AutomationRunList = listOf(AutomationRunSummary, 'runs')
const data = (description: string) =>
  Nullable(Type.Record(Type.String(), Type.Unknown()), described(description))
export const AutomationRunStep = Type.Object(
  {
    key: stepKey,
    type: stepType,
    status: literals(
      RUN_STEP_STATUSES,
      described('skipped: it was not reached, or there was nothing to do.'),
    ),
    started_at: Nullable(Timestamp, described('null: not reached.')),
    completed_at: Nullable(Timestamp, described('null: not ended.')),
    output: data('What it did, such as the id of its email.'),
    error: data('Why it failed, in `message`.'),
    created_at: Timestamp,
  },
  described('A step of a run.'),
)
/** GET /automations/:automation_id/runs/:run_id */
export const AutomationRun = Type.Object(
  {
    object: kind('automation_run'),
    ...runSummary,
    steps: Type.Array(AutomationRunStep, described('The steps of the version that it began with.')),
  },
  described('A run for one contact.'),
)
export type AutomationRun = Static<typeof AutomationRun>

export const AutomationRunRetried = Type.Object(
  {
    object: kind('automation_run'),
    id: Id,
    status: Type.Literal('running', described('Always running.')),
  },
  described('The run, which continues.'),
)

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
    status: text(
      Type.String(described(`Only runs with these statuses, joined by commas: ${RUN_STATUSES.join(', ')}.`)),
    ),
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
