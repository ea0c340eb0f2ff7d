/** Decides the result of a step, and which step follows. Pure. */
import {
  type AutomationGraph,
  type AutomationStep,
  type ConnectionType,
  reachStep,
  findNextStep,
  type StepConfig,
} from '../mail/automation.ts'
import { type ConditionData, findFieldValue, evaluateCondition } from '../mail/condition.ts'
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import { parseName, parseProperties } from '../audience/audience.ts'
import type {
  Contact,
  ContactProperty,
  PendingEvent,
  NewRun,
  OpenStep,
  StepEffect,
  StepResult,
} from '../storage/storage.ts'

/** The result of a step, or that an email must be sent first. */
export type Decision =
  | { kind: 'advance'; result: StepResult; effect?: StepEffect | undefined }
  | { kind: 'send'; config: StepConfig<'send_email'>; to: string; variables: Record<string, unknown> }

/** A step of a run, with all data that the decision depends on. */
export interface StepContext {
  step: OpenStep
  graph: AutomationGraph
  /** The contact; undefined if it was deleted. */
  contact: Contact | undefined
  properties: readonly ContactProperty[]
  now: number
}

/** Decides the result of a due step. */
export function decideStep(situation: StepContext): Decision {
  const { step, graph, contact } = situation
  const config = graph.steps.find(({ key }) => key === step.key)
  if (!config) return failStep('The step is missing in its version.')
  if (!contact) return failStep('The contact was deleted.', 'cancelled')
  try {
    return decideFor(situation, config, factsOf(situation, contact), contact)
  } catch (error) {
    // The contact can't have this value, such as text for a number property.
    if (error instanceof Refusal) return failStep(error.message)
    throw error
  }
}

function decideFor(
  situation: StepContext,
  step: AutomationStep,
  facts: ConditionData,
  contact: Contact,
): Decision {
  const { step: open } = situation
  switch (step.type) {
    case 'trigger':
    case 'delay':
      return advance(situation, null)
    case 'wait_for_event':
      return advance(situation, { timed_out: true }, 'timeout')
    case 'condition': {
      const result = evaluateCondition(step.config, facts)
      return advance(situation, { result }, result ? 'condition_met' : 'condition_not_met')
    }
    case 'send_email':
      if (open.output) return advance(situation, open.output)
      if (contact.optOut) return advance(situation, { skipped: 'unsubscribed' }, 'default', 'skipped')
      return {
        kind: 'send',
        config: step.config,
        to: contact.email,
        variables: variablesOf(step.config, facts),
      }
    case 'contact_update':
      return { ...advance(situation, null), effect: updateOf(step.config, facts, situation.properties) }
    case 'contact_delete':
      // Without a contact, no step can follow.
      return {
        kind: 'advance',
        result: { ...COMPLETED, next: null, end: 'completed' },
        effect: { kind: 'delete' },
      }
    case 'add_to_segment': {
      const segmentId = step.config.segment_id.toLowerCase()
      return { ...advance(situation, { segment_id: segmentId }), effect: { kind: 'segment', segmentId } }
    }
  }
}

const COMPLETED = { status: 'completed', output: null, error: null } as const

function advance(
  { step, graph, now }: Pick<StepContext, 'step' | 'graph' | 'now'>,
  output: Record<string, unknown> | null,
  way: ConnectionType = 'default',
  status: StepResult['status'] = 'completed',
): Extract<Decision, { kind: 'advance' }> {
  const next = findNextStep(graph, step.key, way)
  const result = {
    status,
    output,
    error: null,
    next: next ? reachStep(next, now) : null,
    end: 'completed',
  } as const
  return { kind: 'advance', result }
}

/** Ends the step and its run. */
export function failStep(
  message: string,
  end: StepResult['end'] = 'failed',
): Extract<Decision, { kind: 'advance' }> {
  return { kind: 'advance', result: { status: 'failed', output: null, error: { message }, next: null, end } }
}

/** Returns the data that conditions and values can refer to. */
function factsOf(
  { step, properties }: Pick<StepContext, 'step' | 'properties'>,
  contact: Contact,
): ConditionData {
  const values = properties.flatMap(({ key, label }) =>
    Object.hasOwn(contact.properties, label) ? [[key, contact.properties[label]] as const] : [],
  )
  return {
    event: step.event,
    waits: step.waits,
    contact: {
      id: contact.id,
      email: contact.email,
      first_name: contact.firstName,
      last_name: contact.lastName,
      unsubscribed: contact.optOut !== null,
      created_at: new Date(contact.createdAt).toISOString(),
      properties: Object.fromEntries(values),
    },
  }
}

const isVar = (value: unknown): value is { var: string } =>
  typeof value === 'object' && value !== null && 'var' in value && typeof value.var === 'string'

const resolve = (value: unknown, facts: ConditionData): unknown =>
  isVar(value) ? findFieldValue(value.var, facts) : value

/** Resolves the variables of a template. Omits those without a value, so that their fallbacks apply. */
function variablesOf({ template }: StepConfig<'send_email'>, facts: ConditionData): Record<string, unknown> {
  const values = Object.entries(template.variables ?? {}).map(
    ([name, value]) => [name, resolve(value, facts)] as const,
  )
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== null))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Reads the change of a contact. A reference without a value changes nothing. Refuses: `invalid_field`. */
function updateOf(
  config: StepConfig<'contact_update'>,
  facts: ConditionData,
  known: readonly ContactProperty[],
): StepEffect {
  const name = (field: 'first_name' | 'last_name'): string | null | undefined => {
    const value = resolve(config[field], facts)
    return value === undefined ? undefined : parseName(field, value === null ? null : textOf(value))
  }
  const given = Object.entries(config.properties ?? {}).flatMap(([key, value]) => {
    const found = resolve(value, facts)
    return found === undefined ? [] : [[key, typeof found === 'boolean' ? String(found) : found] as const]
  })
  const unsubscribed = resolve(config.unsubscribed, facts)
  const change = {
    firstName: name('first_name'),
    lastName: name('last_name'),
    unsubscribed: typeof unsubscribed === 'boolean' ? unsubscribed : undefined,
    properties: given.length === 0 ? undefined : parseProperties(known, Object.fromEntries(given)),
  }
  return { kind: 'update', change }
}

/** Decides which runs a sent event begins. */
export function decideNewRuns(
  { event, starts }: Pick<PendingEvent, 'event' | 'starts'>,
  graphs: ReadonlyMap<string, AutomationGraph>,
  now: number,
): NewRun[] {
  return starts.flatMap(({ automationId, versionId }) => {
    const graph = graphs.get(versionId)
    const trigger = graph?.steps.find((one) => one.type === 'trigger' && one.config.event_name === event.name)
    if (!graph || !trigger) return []
    const next = findNextStep(graph, trigger.key)
    return [
      {
        id: newId(now),
        automationId,
        versionId,
        trigger: trigger.key,
        next: next ? reachStep(next, now) : null,
      },
    ]
  })
}

/** Decides how a waiting step continues after an event; undefined if it doesn't wait for this event. */
export function resumeAfterEvent(
  payload: Record<string, unknown>,
  { step, graph, contact, properties, now }: StepContext,
): StepResult | undefined {
  const config = graph.steps.find(({ key }) => key === step.key)
  if (config?.type !== 'wait_for_event' || !contact) return undefined
  const { event_name: name, filter_rule: rule } = config.config
  const waits = { ...step.waits, [name]: payload }
  const facts = { ...factsOf({ step, properties }, contact), waits }
  // In a filter, `event.` means the event that has arrived.
  if (rule && !evaluateCondition(rule, { ...facts, event: payload })) return undefined
  return { ...advance({ step, graph, now }, { event: name }, 'event_received').result, waits }
}
