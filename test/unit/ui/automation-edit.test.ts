import { expect, test } from 'vitest'
import type { AutomationGraph, AutomationStep, ConnectionType } from '../../../appliance/mail/automation.ts'
import { parseGraph } from '../../../appliance/mail/read-automation.ts'
import {
  addTrigger,
  createBlankStep,
  connectSlot,
  findStep,
  canInsert,
  insertStep,
  isRemovable,
  moveStep,
  removeStep,
  replaceStep,
  findStepRefusal,
  listTargets,
  expandDefaultConnections,
} from '../../../ui/src/state/automation-edit.ts'
import { type Flow, buildFlows } from '../../../ui/src/state/automation-flow.ts'

const rule = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' } as const
const trigger = (key: string): AutomationStep => ({ key, type: 'trigger', config: { event_name: key } })
const delay = (key: string): AutomationStep => ({ key, type: 'delay', config: { duration: '1 day' } })
const fork = (key: string): AutomationStep => ({ key, type: 'condition', config: rule })
const wait = (key: string): AutomationStep => ({
  key,
  type: 'wait_for_event',
  config: { event_name: 'paid' },
})
const end = (key: string): AutomationStep => ({ key, type: 'contact_delete', config: {} })
const way = (from: string, to: string, type: ConnectionType = 'default') => ({ from, to, type })

/** Returns the keys of flows: branches in lists, and `>` before a step that is shown elsewhere. */
const keys = ({ steps, next }: Flow): unknown[] => [
  ...steps.flatMap(({ step, branches }) => [step.key, ...branches.map((one) => keys(one.then))]),
  ...(next === null ? [] : [`>${next}`]),
]
/** Returns the shape of a graph that the API accepts. */
const shape = (graph: AutomationGraph | null): unknown[] | null =>
  graph && buildFlows(parseGraph(graph)).map(keys)

/** a, then x, then the condition y: z if it is met, v if not. */
const graph: AutomationGraph = {
  steps: [trigger('a'), delay('x'), fork('y'), delay('z'), delay('v')],
  connections: [
    way('a', 'x'),
    way('x', 'y'),
    way('y', 'z', 'condition_met'),
    way('y', 'v', 'condition_not_met'),
  ],
}
const BEFORE = [['a', 'x', 'y', ['z'], ['v']]]

test('inserts a step between two steps, in a branch or at an end', () => {
  const add = (from: string, type: ConnectionType, step = delay('n')) =>
    shape(insertStep(graph, { from, type }, step))
  expect(add('a', 'default')).toEqual([['a', 'n', 'x', 'y', ['z'], ['v']]])
  expect(add('y', 'condition_not_met')).toEqual([['a', 'x', 'y', ['z'], ['n', 'v']]])
  expect(add('z', 'default')).toEqual([['a', 'x', 'y', ['z', 'n'], ['v']]])
  expect(add('a', 'default', fork('n'))).toEqual([['a', 'n', ['x', 'y', ['z'], ['v']], []]])
  expect(add('a', 'default', wait('n'))).toEqual([['a', 'n', ['x', 'y', ['z'], ['v']], []]])
  expect(add('v', 'default', wait('n'))).toEqual([['a', 'x', 'y', ['z'], ['v', 'n', [], []]]])
  expect(shape(graph)).toEqual(BEFORE)
})

test('a step that deletes the contact can only be inserted at an end', () => {
  expect(canInsert(graph, { from: 'z', type: 'default' }, 'contact_delete')).toBe(true)
  expect(canInsert(graph, { from: 'x', type: 'default' }, 'contact_delete')).toBe(false)
  expect(canInsert(graph, { from: 'z', type: 'default' }, 'trigger')).toBe(false)
})

test('removing a step keeps its first branch and removes the steps of the other', () => {
  expect(shape(removeStep(graph, 'x'))).toEqual([['a', 'y', ['z'], ['v']]])
  expect(shape(removeStep(graph, 'y'))).toEqual([['a', 'x', 'z']])
  expect(shape(removeStep(removeStep(graph, 'z'), 'y'))).toEqual([['a', 'x', 'v']])
  expect(removeStep(graph, 'a')).toBe(graph)
  expect(isRemovable(graph, findStep(graph, 'a')!)).toBe(false)
  const two = addTrigger(graph, trigger('b'))
  expect(shape(two)).toEqual([...BEFORE, ['b', '>x']])
  expect(shape(removeStep(two, 'a'))).toEqual([['b', 'x', 'y', ['z'], ['v']]])
})

test('moving a step up and down reaches every position in reading order', () => {
  const path: unknown[] = []
  let now: AutomationGraph | null = graph
  for (let next = now; next; next = moveStep(next, 'x', 1)!) path.push(...shape((now = next))!)
  expect(path).toEqual([
    ['a', 'x', 'y', ['z'], ['v']],
    ['a', 'y', ['x', 'z'], ['v']],
    ['a', 'y', ['z', 'x'], ['v']],
    ['a', 'y', ['z'], ['x', 'v']],
    ['a', 'y', ['z'], ['v', 'x']],
  ])
  const back = [now]
  for (let next = moveStep(now, 'x', -1); next; next = moveStep(next, 'x', -1)) back.push(next)
  expect(back.map((one) => shape(one)![0]).reverse()).toEqual(path)
})

test('a condition moves up past a step, which then moves into its first branch', () => {
  expect(shape(moveStep(graph, 'y', -1))).toEqual([['a', 'y', ['x', 'z'], ['v']]])
  expect(moveStep(graph, 'y', 1)).toBeNull()
  expect(moveStep(graph, 'a', 1)).toBeNull()
  expect(moveStep(moveStep(graph, 'y', -1)!, 'y', -1)).toBeNull()
  // The deletion of a contact skips places that have steps below.
  const last = insertStep(graph, { from: 'v', type: 'default' }, end('gone'))
  expect(shape(moveStep(last, 'gone', -1))).toEqual([['a', 'x', 'y', ['z', 'gone'], ['v']]])
  expect(moveStep(last, 'gone', 1)).toBeNull()
})

test('a connection can lead to another step, or to the end', () => {
  const slot = { from: 'v', type: 'default' } as const
  expect(listTargets(graph, slot).map(({ key }) => key)).toEqual(['z'])
  const joined = connectSlot(graph, slot, 'z')
  expect(shape(joined)).toEqual([['a', 'x', 'y', ['z'], ['v', '>z']]])
  expect(listTargets(joined, { from: 'z', type: 'default' })).toEqual([])
  expect(shape(connectSlot(joined, { from: 'y', type: 'condition_met' }, null))).toEqual([
    ['a', 'x', 'y', [], ['v', 'z']],
  ])
  expect(shape(connectSlot(graph, { from: 'x', type: 'default' }, null))).toEqual([['a', 'x']])
})

test('a replaced step keeps its connections, even under a new key', () => {
  const changed = replaceStep(graph, 'y', { ...fork('plan'), key: 'plan' })
  expect(shape(changed)).toEqual([['a', 'x', 'plan', ['z'], ['v']]])
  const first = createBlankStep(graph, 'delay')
  const second = createBlankStep({ ...graph, steps: [first] }, 'delay')
  expect([first.key, second.key]).toEqual(['delay', 'delay_2'])
})

test('adding a timeout branch to a wait renames its default branch to event_received', () => {
  const steps = [trigger('a'), wait('w'), delay('x'), delay('y')]
  const given = { steps, connections: [way('a', 'w'), way('w', 'x'), way('w', 'y', 'timeout')] }
  const named = expandDefaultConnections(given)
  expect(named.connections.slice(1)).toEqual([way('w', 'x', 'event_received'), way('w', 'y', 'timeout')])
  const both = { steps: steps.slice(0, 3), connections: [way('a', 'w'), way('w', 'x')] }
  expect(expandDefaultConnections(both)).toEqual(both)
})

test.each([
  ['Invalid `steps[1].config.duration` field: x.', 'x', 'duration'],
  ['Missing `steps[2].config.template.id` field.', 'y', 'template.id'],
  ['Invalid `steps[2].config` field: x.', 'y', ''],
  ['Invalid `steps[1].key` field: x.', 'x', 'key'],
  ['Invalid `connections[1].to` field: x.', 'x', ''],
])('an error message refers to its step and field: %s', (message, key, field) => {
  expect(findStepRefusal(message, graph)).toEqual({ key, field, message })
})

test('an error message about the whole automation refers to no step', () => {
  expect(findStepRefusal('Invalid `steps` field: one trigger for each event.', graph)).toBeNull()
  expect(findStepRefusal('The server does not respond.', graph)).toBeNull()
})
