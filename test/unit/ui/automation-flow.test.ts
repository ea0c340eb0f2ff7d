import { expect, test } from 'vitest'
import type { AutomationGraph, AutomationStep } from '../../../appliance/mail/automation.ts'
import { buildFlows, type Flow } from '../../../ui/src/state/automation-flow.ts'
import { NO_NAMES, getStepLink, describeStep } from '../../../ui/src/state/automation-steps.ts'
import {
  getRefusedField,
  parseJson,
  describeRuns,
  describeRunStepResult,
  createSamplePayload,
  describeSchema,
  parseSchema,
  formatSchema,
  describeStepCounts,
} from '../../../ui/src/state/automation-runs.ts'

const rule = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' } as const
const trigger = (key: string): AutomationStep => ({ key, type: 'trigger', config: { event_name: key } })
const delay = (key: string): AutomationStep => ({ key, type: 'delay', config: { duration: '1 day' } })
const fork = (key: string): AutomationStep => ({ key, type: 'condition', config: rule })
const met = (from: string, to: string) => ({ from, to, type: 'condition_met' }) as const
const unmet = (from: string, to: string) => ({ from, to, type: 'condition_not_met' }) as const
const then = (from: string, to: string) => ({ from, to, type: 'default' }) as const

/** Returns the keys of a flow: branches in lists, and `>` before a step that is shown elsewhere. */
const keys = ({ steps, next }: Flow): unknown[] => [
  ...steps.flatMap(({ step, branches }) => [step.key, ...branches.map((one) => keys(one.then))]),
  ...(next === null ? [] : [`>${next}`]),
]
const shape = (graph: AutomationGraph) => buildFlows(graph).map(keys)

test('shows the steps of an automation in order, each once', () => {
  const steps = [trigger('a'), trigger('b'), delay('x'), fork('y'), delay('z')]
  const connections = [then('a', 'x'), then('b', 'x'), then('x', 'y'), met('y', 'z'), unmet('y', 'z')]
  expect(shape({ steps, connections })).toEqual([
    ['a', 'x', 'y', ['z'], ['>z']],
    ['b', '>x'],
  ])
})

test('a wait has branches if its results lead to different steps', () => {
  const wait: AutomationStep = { key: 'w', type: 'wait_for_event', config: { event_name: 'paid' } }
  const steps = [trigger('a'), wait, delay('x')]
  const start = then('a', 'w')
  expect(shape({ steps, connections: [start, then('w', 'x')] })).toEqual([['a', 'w', 'x']])
  const late = { from: 'w', to: 'x', type: 'timeout' } as const
  expect(shape({ steps, connections: [start, late] })).toEqual([['a', 'w', [], ['x']]])
})

test('shows deep branches as separate flows', () => {
  const forks = ['1', '2', '3', '4', '5']
  const steps = [trigger('a'), ...forks.map(fork)]
  const connections = [then('a', '1'), ...forks.slice(1).map((to, at) => unmet(forks[at]!, to))]
  expect(shape({ steps, connections })).toEqual([
    ['a', '1', [], ['2', [], ['3', [], ['4', [], ['>5']]]]],
    ['5', [], []],
  ])
})

test.each<[AutomationStep, string]>([
  [trigger('user.created'), 'Starts when the event user.created arrives.'],
  [delay('x'), 'Waits 1 day.'],
  [fork('x'), 'Checks whether event.plan is “pro”.'],
  [
    {
      key: 'x',
      type: 'condition',
      config: {
        type: 'and',
        rules: [rule, { type: 'or', rules: [rule, { type: 'rule', field: 'event.x', operator: 'exists' }] }],
      },
    },
    'Checks whether event.plan is “pro” and (event.plan is “pro” or event.x has a value).',
  ],
  [
    { key: 'x', type: 'wait_for_event', config: { event_name: 'paid', filter_rule: rule } },
    'Waits for the event paid, if event.plan is “pro”, for at most 30 days.',
  ],
  [
    {
      key: 'x',
      type: 'send_email',
      config: { template: { id: 'hi', variables: { PLAN: { var: 'event.plan' } } }, subject: 'Hi' },
    },
    'Sends the template “Hello”, with the subject “Hi”, with PLAN: event.plan.',
  ],
  [
    { key: 'x', type: 'contact_update', config: { first_name: null, properties: { plan: 7 } } },
    'Sets first name to nothing, plan to 7.',
  ],
  [{ key: 'x', type: 'add_to_segment', config: { segment_id: 's' } }, 'Adds the contact to the segment “s”.'],
])('describes a step: %j', (step, words) => {
  const names = { ...NO_NAMES, templates: [{ id: 't', alias: 'hi', name: 'Hello' }] }
  expect(describeStep(step, names)).toBe(words)
  expect(getStepLink(step, names)?.to).toBe(
    { send_email: '/templates/t', add_to_segment: '/audience/segments/s' }[step.type as 'send_email'],
  )
})

test('describes the result of a step in a run', () => {
  const at = '2026-01-01 00:00:00+00'
  const step = { key: 'x', created_at: at, started_at: at, completed_at: at, output: null, error: null }
  const sent = { to: 'ada@customer.test', email_id: '1' }
  const done = { ...step, status: 'completed' } as const
  const result = (type: 'send_email' | 'condition' | 'add_to_segment', output: Record<string, unknown>) =>
    describeRunStepResult({ ...done, type, output })
  expect(result('send_email', sent)).toMatchObject({ words: 'Sent to ada@customer.test.', email: '1' })
  expect(result('condition', { result: false })).toMatchObject({ words: 'Not met.', json: null })
  expect(result('add_to_segment', { segment_id: 's' })).toMatchObject({
    words: '',
    json: '{\n  "segment_id": "s"\n}',
  })
  expect(
    describeRunStepResult({ ...step, type: 'delay', status: 'failed', error: { message: 'Gone.' } }),
  ).toMatchObject({
    words: 'Gone.',
    failed: true,
  })
})

test('run counts show if they are truncated', () => {
  const counts = { running: 2, completed: 7, failed: 1, cancelled: 0, most: 1000 }
  expect(describeRuns(counts)).toBe('10 in 30 days · 2 running · 1 failed')
  expect(describeRuns({ ...counts, completed: 997 })).toBe(
    '1,000+ in 30 days · 2 running · 1 failed of the newest 1,000',
  )
  const step = { waiting: 3, completed: 0, failed: 1, skipped: 0 }
  expect(describeStepCounts(step)).toBe('3 waiting · 1 failed')
})

test('assigns an error message to its field', () => {
  expect(getRefusedField('Invalid `steps[1].config.duration` field: a duration.')).toBe('steps')
  expect(getRefusedField('Missing `name` field.')).toBe('name')
  expect(getRefusedField('The server does not respond.')).toBeNull()
  expect(() => parseJson('steps', '[')).toThrow(/^Invalid `steps` field: not valid JSON\./)
})

test('formats and parses a schema as lines', () => {
  const schema = { plan: 'string', 'a:b': 'number' } as const
  expect(parseSchema(formatSchema(schema))).toEqual(schema)
  expect(parseSchema(' \n')).toBeNull()
  expect(describeSchema(schema)).toBe('plan: string, a:b: number')
  expect(createSamplePayload(schema)).toEqual({ plan: 'text', 'a:b': 1 })
  expect(() => parseSchema('plan')).toThrow('Invalid `schema` field: “plan” isn’t a name and a type')
  expect(() => parseSchema('plan: string\nplan: date')).toThrow('“plan” is listed twice')
})
