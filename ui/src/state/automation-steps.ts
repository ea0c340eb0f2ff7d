/** Describes the steps of automations in sentences. Pure. */
import type {
  AutomationStep,
  ConnectionType,
  StepConfig,
  StepType,
} from '../../../appliance/mail/automation.ts'
import type { EventSchema } from '../../../appliance/mail/custom-event.ts'
import type { Rules } from '../../../appliance/mail/rules.ts'
import { OPERATOR_LABELS, needsValue } from './rules.ts'

/** Names that steps can refer to. */
export interface StepNames {
  templates: readonly { id: string; alias: string | null; name: string }[]
  segments: readonly { id: string; name: string }[]
  topics: readonly { id: string; name: string }[]
}

export const NO_NAMES: StepNames = { templates: [], segments: [], topics: [] }

export const STEP_TITLES: Record<StepType, string> = {
  trigger: 'Trigger',
  send_email: 'Send email',
  delay: 'Delay',
  wait_for_event: 'Wait for event',
  condition: 'Condition',
  contact_update: 'Update contact',
  contact_delete: 'Delete contact',
  add_to_segment: 'Add to segment',
}

/** Descriptions of the types of steps, shown when a person chooses one. */
export const STEP_HINTS: Record<Exclude<StepType, 'trigger'>, string> = {
  send_email: 'Sends a published template.',
  delay: 'Waits for minutes, hours or days.',
  wait_for_event: 'Waits until an event arrives or the time runs out.',
  condition: 'Continues on one of two branches.',
  contact_update: 'Sets names, properties or the opt-out.',
  add_to_segment: 'Adds the contact to a segment.',
  contact_delete: 'Deletes the contact and ends the run.',
}

export const BRANCH_TITLES: Record<ConnectionType, string> = {
  default: 'Then',
  condition_met: 'If it’s met',
  condition_not_met: 'If it isn’t met',
  event_received: 'If the event arrives',
  timeout: 'If the time runs out',
}

const nameOf = (list: StepNames['segments'], id: string): string =>
  list.find((one) => one.id === id.toLowerCase())?.name ?? id

const findTemplate = ({ templates }: StepNames, id: string) =>
  templates.find((one) => one.id === id.toLowerCase() || one.alias === id)

/** Describes a value: text in quotation marks, or the name of a field. */
function valueWords(value: unknown): string {
  if (typeof value === 'string') return `“${value}”`
  if (value === null) return 'nothing'
  const isField = typeof value === 'object' && 'var' in value && typeof value.var === 'string'
  return isField ? String(value.var) : JSON.stringify(value)
}

function ruleWords(rules: Rules, nested = false): string {
  if (rules.type === 'rule') {
    const { field, operator, value } = rules
    const words = `${field} ${OPERATOR_LABELS[operator]}`
    return needsValue(operator) ? `${words} ${valueWords(value)}` : words
  }
  const all = rules.rules.map((one) => ruleWords(one, true)).join(` ${rules.type} `)
  return nested && rules.rules.length > 1 ? `(${all})` : all
}

function emailWords(config: StepConfig<'send_email'>, names: StepNames): string {
  const { template, subject, from, reply_to: replyTo, topic_id: topic } = config
  const given = Object.entries(template.variables ?? {})
  const parts = [
    `Sends the template “${findTemplate(names, template.id)?.name ?? template.id}”`,
    subject !== undefined && `with the subject “${subject}”`,
    from !== undefined && `from ${from}`,
    replyTo !== undefined && `with replies to ${replyTo}`,
    topic !== undefined && `to contacts with the topic “${nameOf(names.topics, topic)}”`,
    given.length > 0 && `with ${given.map(([name, value]) => `${name}: ${valueWords(value)}`).join(', ')}`,
  ]
  return `${parts.filter((part) => part !== false).join(', ')}.`
}

function waitWords({ event_name: event, timeout, filter_rule: rule }: StepConfig<'wait_for_event'>): string {
  const which = rule ? `, if ${ruleWords(rule)}` : ''
  return `Waits for the event ${event}${which}, for at most ${timeout ?? '30 days'}.`
}

function updateWords(config: StepConfig<'contact_update'>): string {
  const { first_name: first, last_name: last, unsubscribed, properties = {} } = config
  const fields: [string, unknown][] = [
    ['first name', first],
    ['last name', last],
    ['unsubscribed', unsubscribed],
    ...Object.entries(properties),
  ]
  const changes = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} to ${valueWords(value)}`],
  )
  return `Sets ${changes.join(', ')}.`
}

/** Describes what a step does, with its settings. */
export function describeStep(step: AutomationStep, names: StepNames): string {
  switch (step.type) {
    case 'trigger':
      return `Starts when the event ${step.config.event_name} arrives.`
    case 'send_email':
      return emailWords(step.config, names)
    case 'delay':
      return `Waits ${step.config.duration}.`
    case 'wait_for_event':
      return waitWords(step.config)
    case 'condition':
      return `Checks whether ${ruleWords(step.config)}.`
    case 'contact_update':
      return updateWords(step.config)
    case 'contact_delete':
      return 'Deletes the contact. The run ends.'
    case 'add_to_segment':
      return `Adds the contact to the segment “${nameOf(names.segments, step.config.segment_id)}”.`
  }
}

/** Returns the dashboard page of the object that a step refers to; null if there is none. */
export function getStepLink(step: AutomationStep, names: StepNames): { to: string; words: string } | null {
  if (step.type === 'add_to_segment')
    return { to: `/audience/segments/${step.config.segment_id}`, words: 'Open segment' }
  const template = step.type === 'send_email' ? findTemplate(names, step.config.template.id) : undefined
  return template ? { to: `/templates/${template.id}`, words: 'Open template' } : null
}

/** Objects that can be chosen in the settings of steps. */
export interface StepChoices extends StepNames {
  segments: readonly { id: string; name: string; filter: unknown }[]
  events: readonly { name: string; schema: EventSchema | null }[]
  properties: readonly { key: string; type: 'string' | 'number' }[]
}

export const NO_CHOICES: StepChoices = { ...NO_NAMES, segments: [], events: [], properties: [] }
