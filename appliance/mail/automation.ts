/** Automations: steps, connections, and how a run moves from one step to the next. Pure. */
import type { Rules } from './condition.ts'

export const STEP_TYPES = [
  'trigger',
  'send_email',
  'delay',
  'wait_for_event',
  'condition',
  'contact_update',
  'contact_delete',
  'add_to_segment',
] as const
export type StepType = (typeof STEP_TYPES)[number]

export const CONNECTION_TYPES = [
  'default',
  'condition_met',
  'condition_not_met',
  'timeout',
  'event_received',
] as const
export type ConnectionType = (typeof CONNECTION_TYPES)[number]

export const AUTOMATION_STATUSES = ['enabled', 'disabled'] as const
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number]
export const RUN_STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]
/** pending: not executed yet · waiting: for a time or event · skipped: there was nothing to do. */
export const RUN_STEP_STATUSES = ['pending', 'waiting', 'running', 'completed', 'failed', 'skipped'] as const
export type RunStepStatus = (typeof RUN_STEP_STATUSES)[number]

/** A value, or a reference to a field such as `event.plan`. */
export type StepValue = string | number | boolean | null | { var: string }

interface Configs {
  trigger: { event_name: string }
  send_email: {
    template: { id: string; variables?: Record<string, unknown> }
    subject?: string
    from?: string
    reply_to?: string
    topic_id?: string
  }
  delay: { duration: string }
  wait_for_event: { event_name: string; timeout?: string; filter_rule?: Rules }
  condition: Rules
  contact_update: {
    first_name?: StepValue
    last_name?: StepValue
    unsubscribed?: StepValue
    properties?: Record<string, StepValue>
  }
  contact_delete: Record<string, never>
  add_to_segment: { segment_id: string }
}
export type StepConfig<T extends StepType> = Configs[T]
export type AutomationStep = { [T in StepType]: { key: string; type: T; config: Configs[T] } }[StepType]

export interface AutomationConnection {
  from: string
  to: string
  type: ConnectionType
}

export interface AutomationGraph {
  steps: AutomationStep[]
  connections: AutomationConnection[]
}

/** The longest delay and wait, in milliseconds: 30 days. */
export const MAX_DURATION = 30 * 86_400_000

const UNITS: [RegExp, number][] = [
  [/^s(ec(ond)?s?)?$/, 1000],
  [/^m(in(ute)?s?)?$/, 60_000],
  [/^h((ou)?rs?)?$/, 3_600_000],
  [/^d(ays?)?$/, 86_400_000],
  [/^w(eeks?)?$/, 7 * 86_400_000],
]

/**
 * Parses a duration such as `30 minutes`, `1 day`, `an hour` or `1 day and 12 hours`. Returns milliseconds; undefined
 * if the text isn't a duration.
 */
export function parseDuration(text: string): number | undefined {
  const parts = text.trim().toLowerCase()
  if (parts.length > 100) return undefined
  const words = [...parts.matchAll(/(\d{1,7}(?:\.\d{1,3})?|\ban?\b)\s*([a-z]+)/g)]
  const rest = parts
    .replaceAll(/(\d{1,7}(?:\.\d{1,3})?|\ban?\b)\s*[a-z]+/g, '')
    .replaceAll(/\band\b|[\s,]/g, '')
  if (words.length === 0 || rest !== '') return undefined
  let sum = 0
  for (const [, count = '', word = ''] of words) {
    const unit = UNITS.find(([names]) => names.test(word))?.[1]
    if (unit === undefined) return undefined
    sum += (count.startsWith('a') ? 1 : Number(count)) * unit
  }
  return Math.round(sum)
}

/** Finds the step that a connection of this type leads to, or else the default one. Undefined if the run ends. */
export function findNextStep(
  { steps, connections }: AutomationGraph,
  key: string,
  type: ConnectionType = 'default',
): AutomationStep | undefined {
  const from = connections.filter((one) => one.from === key)
  const way = from.find((one) => one.type === type) ?? from.find((one) => one.type === 'default')
  return way && steps.find((one) => one.key === way.to)
}

/** A step that a run has just reached. */
export interface ReachedStep {
  key: string
  type: StepType
  status: 'pending' | 'waiting'
  /** When the run continues with the step, in Unix milliseconds. */
  dueAt: number
  /** The event that the step waits for; null if there is none. */
  eventName: string | null
}

/** Decides what happens when a run reaches a step: it waits, or it is due now. */
export function reachStep(step: AutomationStep, now: number): ReachedStep {
  const { key, type } = step
  if (step.type === 'delay')
    return {
      key,
      type,
      status: 'waiting',
      dueAt: now + (parseDuration(step.config.duration) ?? 0),
      eventName: null,
    }
  if (step.type !== 'wait_for_event') return { key, type, status: 'pending', dueAt: now, eventName: null }
  const { event_name: eventName, timeout } = step.config
  const wait = timeout === undefined ? MAX_DURATION : (parseDuration(timeout) ?? MAX_DURATION)
  return { key, type, status: 'waiting', dueAt: now + wait, eventName }
}

/** Returns the names of the events that start runs. */
export const listTriggers = ({ steps }: AutomationGraph): string[] => [
  ...new Set(steps.flatMap((step) => (step.type === 'trigger' ? [step.config.event_name] : []))),
]

/** Returns the templates that an automation sends, by id or alias. */
export const listTemplateRefs = ({ steps }: AutomationGraph): string[] => [
  ...new Set(steps.flatMap((step) => (step.type === 'send_email' ? [step.config.template.id] : []))),
]

/** Limit on the runs of one automation for one contact within a minute. */
export const MAX_RUNS_PER_MINUTE = 30

/** Number of recent runs that are checked for errors, and minimum number that must have ended. */
export const MONITORED_RUNS = 50
const FEWEST_RUNS = 20

/**
 * Decides whether so many runs failed that the automation must stop. Returns the reason as a sentence; undefined if it
 * needn't stop.
 */
export function decideErrorStop({ ended, failed }: { ended: number; failed: number }): string | undefined {
  if (ended < FEWEST_RUNS || failed * 2 <= ended) return undefined
  return `${failed} of the last ${ended} runs failed. Look at the errors of the runs, then enable it again.`
}

/** The reason shown after a restore stopped an automation: its runs would repeat what they did since the backup. */
export const RESTORED_REASON =
  'The server was restored from a backup, and its runs may have gone on since. Check it, then enable it again.'

/** The reason shown after too many runs for one contact stopped an automation. */
export const LOOP_REASON = `It started ${MAX_RUNS_PER_MINUTE} runs for one contact within a minute. Check whether an app sends the event in a loop, then enable it again.`
