/** Reads the steps and connections of an automation, and checks that they are a graph that can be run. Pure. */
import {
  type AutomationConnection,
  type AutomationGraph,
  type AutomationStep,
  CONNECTION_TYPES,
  type ConnectionType,
  parseDuration,
  MAX_DURATION,
  STEP_TYPES,
  type StepType,
} from './automation.ts'
import { EXPECTED_FIELD, isContactField, isField, parseCondition } from './condition.ts'
import { parseEventName } from './custom-event.ts'
import { refuse } from './refusals.ts'

const MAX_STEPS = 150
const MAX_KEY = 100

type Given = Record<string, unknown>

const invalid = (field: string, expected: string) => refuse('invalid_field', { field, expected })

const isObject = (given: unknown): given is Given =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** Reads a graph. Whether templates, segments and so on exist is checked by the caller. Refuses: `invalid_field`. */
export function parseGraph(given: { steps: unknown; connections: unknown }): AutomationGraph {
  const { steps: asked, connections: ways } = given
  if (!Array.isArray(asked) || asked.length === 0 || asked.length > MAX_STEPS)
    throw invalid('steps', `1 to ${MAX_STEPS} steps`)
  if (!Array.isArray(ways) || ways.length > 2 * MAX_STEPS)
    throw invalid('connections', `at most ${2 * MAX_STEPS} connections`)
  const steps = asked.map((one, at) => readStep(one, `steps[${at}]`))
  const twice = steps.findIndex(({ key }, at) => steps.findIndex((one) => one.key === key) !== at)
  if (twice !== -1)
    throw invalid(`steps[${twice}].key`, `a key of its own; \`${steps[twice]!.key}\` is used twice`)
  const graph = {
    steps,
    connections: ways.map((one, at) => readConnection(one, `connections[${at}]`, steps)),
  }
  checkWays(graph)
  checkPaths(graph)
  return graph
}

function readStep(given: unknown, path: string): AutomationStep {
  if (!isObject(given)) throw invalid(path, 'an object with `key`, `type` and `config`')
  const { key, type, config } = given
  if (typeof key !== 'string' || !/^[^\p{Cc}\p{Cs}]+$/u.test(key) || key.length > MAX_KEY)
    throw invalid(`${path}.key`, `1 to ${MAX_KEY} characters`)
  const known = STEP_TYPES.find((one) => one === type)
  if (!known) throw invalid(`${path}.type`, `one of ${STEP_TYPES.join(', ')}`)
  if (!isObject(config)) throw invalid(`${path}.config`, 'an object')
  return { key, type: known, config: READ[known](config, `${path}.config`) } as AutomationStep
}

const textOf = (value: unknown, path: string): string => {
  if (typeof value !== 'string' || value.trim() === '') throw invalid(path, 'a string')
  return value.trim()
}

/** Reads an optional text. Clients send unset fields as null or empty text. */
const optional = (given: Given, name: string, path: string): Given => {
  const value = given[name]
  return value === undefined || value === null || value === ''
    ? {}
    : { [name]: textOf(value, `${path}.${name}`) }
}

function readDuration(value: unknown, path: string): string {
  const text = textOf(value, path)
  const ms = parseDuration(text)
  if (ms === undefined || ms <= 0 || ms > MAX_DURATION)
    throw invalid(path, 'a duration of at most 30 days, such as `30 minutes`, `1 day` or `2 weeks`')
  return text
}

function readEvent(given: Given, path: string): string {
  const name = textOf(given.event_name, `${path}.event_name`)
  return parseEventName(name, `${path}.event_name`)
}

/** Reads a value or a reference to a field. */
function readValue(value: unknown, path: string, kinds: readonly string[]): unknown {
  if (isObject(value)) {
    if (!isField(value.var) || !isContactField(value.var)) throw invalid(`${path}.var`, EXPECTED_FIELD)
    return { var: value.var }
  }
  if (!kinds.includes(value === null ? 'null' : typeof value))
    throw invalid(path, `${kinds.join(', ')}, or an object with \`var\``)
  return value
}

function readSendEmail(given: Given, path: string): Given {
  const { template } = given
  if (!isObject(template))
    throw invalid(`${path}.template`, 'an object with the `id` of a published template')
  const id = textOf(template.id, `${path}.template.id`)
  const variables = template.variables ?? {}
  if (!isObject(variables)) throw invalid(`${path}.template.variables`, 'an object')
  for (const [name, value] of Object.entries(variables))
    if (isObject(value) && 'var' in value) readValue(value, `${path}.template.variables.${name}`, [])
  const texts = ['subject', 'from', 'reply_to', 'topic_id'].map((name) => optional(given, name, path))
  return Object.assign({ template: { id, variables } }, ...texts) as Given
}

function readContactUpdate(given: Given, path: string): Given {
  const read: Given = {}
  for (const name of ['first_name', 'last_name'])
    if (given[name] !== undefined) read[name] = readValue(given[name], `${path}.${name}`, ['string', 'null'])
  if (given.unsubscribed !== undefined && given.unsubscribed !== null)
    read.unsubscribed = readValue(given.unsubscribed, `${path}.unsubscribed`, ['boolean'])
  const { properties = {} } = given
  if (!isObject(properties)) throw invalid(`${path}.properties`, 'an object')
  const values = Object.entries(properties).map(([key, value]) => [
    key,
    readValue(value, `${path}.properties.${key}`, ['string', 'number', 'boolean', 'null']),
  ])
  if (values.length > 0) read.properties = Object.fromEntries(values)
  if (Object.keys(read).length === 0) throw invalid(path, 'at least one field to change')
  return read
}

/** Reads the configuration of each type of step. */
const READ: Record<StepType, (given: Given, path: string) => object> = {
  trigger: (given, path) => ({ event_name: readEvent(given, path) }),
  send_email: readSendEmail,
  delay: (given, path) => ({ duration: readDuration(given.duration, `${path}.duration`) }),
  wait_for_event: (given, path) => ({
    event_name: readEvent(given, path),
    ...(isGiven(given.timeout) && { timeout: readDuration(given.timeout, `${path}.timeout`) }),
    ...(isGiven(given.filter_rule) && {
      filter_rule: parseCondition(given.filter_rule, `${path}.filter_rule`),
    }),
  }),
  condition: parseCondition,
  contact_update: readContactUpdate,
  contact_delete: () => ({}),
  add_to_segment: (given, path) => ({ segment_id: textOf(given.segment_id, `${path}.segment_id`) }),
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function readConnection(
  given: unknown,
  path: string,
  steps: readonly AutomationStep[],
): AutomationConnection {
  if (!isObject(given)) throw invalid(path, 'an object with `from` and `to`')
  const end = (name: 'from' | 'to'): string => {
    const key = given[name]
    if (typeof key !== 'string' || !steps.some((one) => one.key === key))
      throw invalid(`${path}.${name}`, 'the key of a step')
    return key
  }
  const type = CONNECTION_TYPES.find((one) => one === (given.type ?? 'default'))
  if (!type) throw invalid(`${path}.type`, `one of ${CONNECTION_TYPES.join(', ')}`)
  return { from: end('from'), to: end('to'), type }
}

/** Types of connections that may leave a step, besides `default`, by type of step. */
const WAYS: Partial<Record<StepType, readonly ConnectionType[]>> = {
  condition: ['condition_met', 'condition_not_met'],
  wait_for_event: ['event_received', 'timeout'],
}

/**
 * Checks that a step has at most one outgoing connection of each type, that its type allows these connections, and that
 * no connection leads to a trigger.
 */
function checkWays({ steps, connections }: AutomationGraph): void {
  const byKey = new Map(steps.map((step) => [step.key, step]))
  for (const [at, { from, to, type }] of connections.entries()) {
    const source = byKey.get(from)!.type
    if (type !== 'default' && !WAYS[source]?.includes(type))
      throw invalid(`connections[${at}].type`, `\`default\`, as the step \`${from}\` is a ${source}`)
    if (source === 'condition' && type === 'default')
      throw invalid(`connections[${at}].type`, '`condition_met` or `condition_not_met` after a condition')
    if (byKey.get(to)!.type === 'trigger')
      throw invalid(`connections[${at}].to`, `a step that is no trigger; \`${to}\` is one`)
    if (connections.findIndex((one) => one.from === from && one.type === type) !== at)
      throw invalid(`connections[${at}]`, `only one \`${type}\` connection from the step \`${from}\``)
  }
}

/**
 * Checks that each step can be reached from a trigger, that there are no cycles, and that no event has two triggers.
 */
function checkPaths({ steps, connections }: AutomationGraph): void {
  const triggers = steps.filter((step) => step.type === 'trigger')
  if (triggers.length === 0) throw invalid('steps', 'at least one step of the type `trigger`')
  const names = triggers.map(({ config }) => config.event_name)
  if (new Set(names).size < names.length) throw invalid('steps', 'one trigger for each event')
  const done = new Set<string>()
  const visit = (key: string, above: readonly string[]): void => {
    if (above.includes(key))
      throw invalid('connections', `no cycle; the step \`${key}\` leads back to itself`)
    if (done.has(key)) return
    for (const { to } of connections.filter(({ from }) => from === key)) visit(to, [...above, key])
    done.add(key)
  }
  for (const { key } of triggers) visit(key, [])
  // A cycle that no trigger leads to is unreachable as well.
  const lost = steps.findIndex(({ key }) => !done.has(key))
  if (lost !== -1)
    throw invalid(
      `steps[${lost}]`,
      `a step that a trigger leads to; nothing leads to \`${steps[lost]!.key}\``,
    )
}
