import { describe, expect, test } from 'vitest'
import {
  type AutomationGraph,
  parseDuration,
  decideErrorStop,
  reachStep,
  findNextStep,
} from '../../../appliance/mail/automation.ts'
import { findFieldValue, evaluateCondition, parseCondition } from '../../../appliance/mail/condition.ts'
import { parseGraph } from '../../../appliance/mail/read-automation.ts'

const trigger = { key: 'start', type: 'trigger', config: { event_name: 'user.created' } }
const delay = (key: string) => ({ key, type: 'delay', config: { duration: '1 day' } })
const way = (from: string, to: string, type?: string) => ({ from, to, type })
const condition = {
  key: 'check',
  type: 'condition',
  config: { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' },
}
const refusal = (steps: unknown, connections: unknown = []): string => {
  try {
    parseGraph({ steps, connections })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test.each([
  ['30 minutes', 1_800_000],
  ['1 hour', 3_600_000],
  ['an hour', 3_600_000],
  ['3 days', 259_200_000],
  ['1 day and 12 hours', 129_600_000],
  ['90s', 90_000],
  ['1.5 hours', 5_400_000],
  ['2w', 1_209_600_000],
  ['soon', undefined],
  ['in 2 days', undefined],
  ['2 moons', undefined],
  ['', undefined],
])('durationMs parses "%s" as %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

describe('invalid automation graphs', () => {
  test.each<[string, unknown, unknown, string]>([
    ['having no step', [], [], 'Invalid `steps` field: 1 to 150 steps.'],
    ['having no trigger', [delay('a')], [], 'at least one step of the type `trigger`'],
    [
      'a duplicate key',
      [trigger, { ...delay('start') }],
      [],
      '`steps[1].key` field: a key of its own; `start` is used twice',
    ],
    [
      'an unknown type',
      [{ ...trigger, type: 'sms' }],
      [],
      '`steps[0].type` field: one of trigger, send_email',
    ],
    ['an unknown step', [trigger], [way('start', 'x')], '`connections[0].to` field: the key of a step'],
    [
      'an unreachable step',
      [trigger, delay('a')],
      [],
      '`steps[1]` field: a step that a trigger leads to; nothing leads to `a`',
    ],
    [
      'a cycle',
      [trigger, delay('a'), delay('b')],
      [way('start', 'a'), way('a', 'b'), way('b', 'a')],
      'no cycle; the step `a` leads back to itself',
    ],
    [
      'a connection to a trigger',
      [trigger, delay('a')],
      [way('start', 'a'), way('a', 'start')],
      'a step that is no trigger',
    ],
    [
      'two connections of one type',
      [trigger, delay('a'), delay('b')],
      [way('start', 'a'), way('start', 'b')],
      'only one `default` connection from the step `start`',
    ],
    [
      'a connection type that does not fit the step',
      [trigger, delay('a')],
      [way('start', 'a', 'timeout')],
      '`default`, as the step `start`',
    ],
    [
      'a default connection from a condition',
      [trigger, condition, delay('a')],
      [way('start', 'check'), way('check', 'a')],
      '`condition_met` or `condition_not_met` after a condition',
    ],
    [
      'a duration that is too long',
      [trigger, { ...delay('a'), config: { duration: '31 days' } }],
      [],
      '`steps[1].config.duration` field',
    ],
    [
      'a missing duration',
      [trigger, { ...delay('a'), config: {} }],
      [],
      '`steps[1].config.duration` field: a string',
    ],
    [
      'a reserved event',
      [{ ...trigger, config: { event_name: 'resend:x' } }],
      [],
      '`steps[0].config.event_name`',
    ],
    [
      'a missing template',
      [trigger, { key: 'a', type: 'send_email', config: {} }],
      [],
      '`steps[1].config.template` field',
    ],
    [
      'an unknown field',
      [trigger, { key: 'a', type: 'contact_update', config: { first_name: { var: 'contact.age' } } }],
      [],
      '`steps[1].config.first_name.var` field',
    ],
  ])('rejects an automation graph for %s', (_, steps, connections, message) => {
    expect(refusal(steps, connections)).toContain(message)
  })
})

test('parses a valid graph, and the next step depends on the result of a step', () => {
  const graph: AutomationGraph = parseGraph({
    steps: [trigger, condition, delay('met'), delay('not')],
    connections: [
      way('start', 'check'),
      way('check', 'met', 'condition_met'),
      way('check', 'not', 'condition_not_met'),
    ],
  })
  expect(findNextStep(graph, 'start')?.key).toBe('check')
  expect(findNextStep(graph, 'check', 'condition_met')?.key).toBe('met')
  expect(findNextStep(graph, 'check', 'condition_not_met')?.key).toBe('not')
  expect(findNextStep(graph, 'met')).toBeUndefined()
  expect(reachStep(graph.steps[2]!, 5)).toMatchObject({ key: 'met', status: 'waiting', dueAt: 86_400_005 })
  expect(reachStep(graph.steps[1]!, 5)).toMatchObject({ key: 'check', status: 'pending', dueAt: 5 })
})

const facts = {
  event: { plan: 'Pro', seats: 5, at: '2026-05-01', tags: ['a', 'b'], address: { city: 'Rome' }, none: null },
  contact: { email: 'ada@example.com', unsubscribed: false, properties: { age: 30 } },
  waits: { 'order.paid': { total: 7 } },
}

test.each<[string, string, unknown, boolean]>([
  ['event.plan', 'eq', 'pro', true],
  ['event.plan', 'neq', 'pro', false],
  ['event.seats', 'eq', '5', true],
  ['event.seats', 'gt', 4, true],
  ['event.seats', 'lte', 4, false],
  ['event.at', 'lt', '2026-06-01', true],
  ['event.plan', 'gt', 1, false],
  ['event.plan', 'contains', 'RO', true],
  ['event.tags', 'contains', 'b', true],
  ['event.plan', 'starts_with', 'pr', true],
  ['event.plan', 'ends_with', 'x', false],
  ['event.address.city', 'eq', 'rome', true],
  ['event.none', 'is_empty', undefined, true],
  ['event.missing', 'exists', undefined, false],
  ['event.missing', 'neq', 'x', true],
  ['event.missing', 'eq', null, true],
  ['contact.unsubscribed', 'eq', false, true],
  ['contact.properties.age', 'gte', 30, true],
  ['wait_events.order.paid.total', 'eq', 7, true],
])('evaluates the condition %s %s %s', (field, operator, value, expected) => {
  expect(evaluateCondition(parseCondition({ type: 'rule', field, operator, value }, 'config'), facts)).toBe(
    expected,
  )
})

test('conditions combine with and/or, and cannot read properties of object prototypes', () => {
  const rule = (value: string) => ({ type: 'rule', field: 'event.plan', operator: 'eq', value })
  expect(
    evaluateCondition(parseCondition({ type: 'and', rules: [rule('pro'), rule('free')] }, 'c'), facts),
  ).toBe(false)
  expect(
    evaluateCondition(parseCondition({ type: 'or', rules: [rule('pro'), rule('free')] }, 'c'), facts),
  ).toBe(true)
  expect(findFieldValue('event.__proto__.x', facts)).toBeUndefined()
  expect(findFieldValue('event.constructor', facts)).toBeUndefined()
})

test('an automation stops when more than half of at least 20 runs failed', () => {
  expect(decideErrorStop({ ended: 19, failed: 19 })).toBeUndefined()
  expect(decideErrorStop({ ended: 20, failed: 10 })).toBeUndefined()
  expect(decideErrorStop({ ended: 50, failed: 26 })).toBe(
    '26 of the last 50 runs failed. Look at the errors of the runs, then enable it again.',
  )
})
