/** Edits the steps of an automation: adds, changes, moves and removes them. Pure: each edit returns a new graph. */
import type {
  AutomationConnection,
  AutomationGraph,
  AutomationStep,
  ConnectionType,
  StepConfig,
  StepType,
} from '../../../appliance/mail/automation.ts'
import { buildFlows, listResults, type Flow } from './automation-flow.ts'

/** A place where a step can be added: after a specific result of a step. */
export interface Slot {
  from: string
  type: ConnectionType
}

/** For steps with several results: the result of a new step after which the following steps continue. */
const FIRST_RESULT: Partial<Record<StepType, ConnectionType>> = {
  condition: 'condition_met',
  wait_for_event: 'event_received',
}

const KEYS: Record<StepType, string> = {
  trigger: 'start',
  send_email: 'email',
  delay: 'delay',
  wait_for_event: 'wait',
  condition: 'condition',
  contact_update: 'update',
  contact_delete: 'delete',
  add_to_segment: 'segment',
}

export const findStep = ({ steps }: AutomationGraph, key: string): AutomationStep | undefined =>
  steps.find((one) => one.key === key)

/** Returns the key of the step that follows a slot; undefined if the run ends there. */
export const getTarget = ({ connections }: AutomationGraph, slot: Slot): string | undefined =>
  connections.find((one) => one.from === slot.from && one.type === slot.type)?.to

/** Returns an unused key for a step of this type, such as `email_2`. */
function newKey(graph: AutomationGraph, type: StepType): string {
  const base = KEYS[type]
  for (let n = 1; ; n++) {
    const key = n === 1 ? base : `${base}_${n}`
    if (!findStep(graph, key)) return key
  }
}

const BLANK: { [T in StepType]: StepConfig<T> } = {
  trigger: { event_name: '' },
  send_email: { template: { id: '' } },
  delay: { duration: '1 day' },
  wait_for_event: { event_name: '', timeout: '3 days' },
  condition: { type: 'rule', field: '', operator: 'eq', value: '' },
  contact_update: {},
  contact_delete: {},
  add_to_segment: { segment_id: '' },
}

/** Returns a new step with initial settings, which the person still has to fill in. */
export const createBlankStep = (graph: AutomationGraph, type: StepType): AutomationStep =>
  ({ key: newKey(graph, type), type, config: BLANK[type] }) as AutomationStep

/**
 * Replaces each `default` connection from a step with several results by a connection per result, so that each result
 * can be edited separately.
 */
export function expandDefaultConnections(graph: AutomationGraph): AutomationGraph {
  const named = graph.connections.flatMap((one): AutomationConnection[] => {
    const step = findStep(graph, one.from)
    if (!step || one.type !== 'default') return [one]
    const free = listResults(graph, step).filter(
      (type) => getTarget(graph, { from: one.from, type }) === undefined,
    )
    return listResults(graph, step).length === 0 ? [one] : free.map((type) => ({ ...one, type }))
  })
  return { ...graph, connections: named }
}

/** Removes steps that no trigger leads to. */
function pruned({ steps, connections }: AutomationGraph): AutomationGraph {
  const reached = new Set(steps.flatMap(({ key, type }) => (type === 'trigger' ? [key] : [])))
  for (const key of reached) for (const { from, to } of connections) if (from === key) reached.add(to)
  return {
    steps: steps.filter(({ key }) => reached.has(key)),
    connections: connections.filter(({ from }) => reached.has(from)),
  }
}

/** Whether a step of this type can be added in a slot. No step can follow the deletion of the contact. */
export const canInsert = (graph: AutomationGraph, slot: Slot, type: StepType): boolean =>
  type !== 'trigger' && (type !== 'contact_delete' || getTarget(graph, slot) === undefined)

/** Adds a step in a slot. The steps that followed the slot then follow the first result of the new step. */
export function insertStep(graph: AutomationGraph, slot: Slot, step: AutomationStep): AutomationGraph {
  const { steps, connections } = graph
  const after = getTarget(graph, slot)
  const others = connections.filter((one) => one.from !== slot.from || one.type !== slot.type)
  const type = FIRST_RESULT[step.type] ?? 'default'
  const at = steps.findIndex(({ key }) => key === slot.from) + 1
  return {
    steps: steps.toSpliced(at, 0, step),
    connections: [
      ...others,
      { ...slot, to: step.key },
      ...(after === undefined ? [] : [{ from: step.key, to: after, type }]),
    ],
  }
}

/** Adds a trigger that leads to the same step as the first one. */
export function addTrigger(graph: AutomationGraph, step: AutomationStep): AutomationGraph {
  const at = graph.steps.findLastIndex(({ type }) => type === 'trigger')
  const first = graph.steps.find(({ type }) => type === 'trigger')
  const to = first && getTarget(graph, { from: first.key, type: 'default' })
  const way: AutomationConnection[] = to === undefined ? [] : [{ from: step.key, to, type: 'default' }]
  return { steps: graph.steps.toSpliced(at + 1, 0, step), connections: [...graph.connections, ...way] }
}

/** Replaces a step. Its key may change. */
export function replaceStep(graph: AutomationGraph, key: string, step: AutomationStep): AutomationGraph {
  const renamed = (one: string) => (one === key ? step.key : one)
  return {
    steps: graph.steps.map((one) => (one.key === key ? step : one)),
    connections: graph.connections.map((one) => ({ ...one, from: renamed(one.from), to: renamed(one.to) })),
  }
}

/** Whether a step can be removed: an automation needs a trigger. */
export const isRemovable = ({ steps }: AutomationGraph, { type }: AutomationStep): boolean =>
  type !== 'trigger' || steps.filter((one) => one.type === 'trigger').length > 1

/**
 * Removes a step. The steps that followed its first result then follow the step before it. Steps that were only
 * reachable through its other result are removed as well.
 */
export function removeStep(graph: AutomationGraph, key: string): AutomationGraph {
  const step = findStep(graph, key)
  if (!step || !isRemovable(graph, step)) return graph
  const types = [...listResults(graph, step), 'default' as const]
  const next = types.map((type) => getTarget(graph, { from: key, type })).find((to) => to !== undefined)
  const connections = graph.connections.flatMap((one) => {
    if (one.from === key) return []
    if (one.to !== key) return [one]
    return next === undefined ? [] : [{ ...one, to: next }]
  })
  return pruned({ steps: graph.steps.filter((one) => one !== step), connections })
}

/** Connects a slot to another step, or ends the run there if `to` is null. */
export function connectSlot(graph: AutomationGraph, slot: Slot, to: string | null): AutomationGraph {
  const others = graph.connections.filter((one) => one.from !== slot.from || one.type !== slot.type)
  return pruned({ ...graph, connections: to === null ? others : [...others, { ...slot, to }] })
}

/** Lists the steps that a slot can lead to without a cycle. */
export function listTargets({ steps, connections }: AutomationGraph, { from }: Slot): AutomationStep[] {
  const before = new Set([from])
  for (const key of before) for (const one of connections) if (one.to === key) before.add(one.from)
  return steps.filter(({ key, type }) => type !== 'trigger' && !before.has(key))
}

/** Lists the slots in reading order. */
function slotsOf(flows: readonly Flow[]): Slot[] {
  return flows.flatMap(({ steps }) =>
    steps.flatMap(({ step: { key, type }, branches }): Slot[] => {
      if (branches.length > 0)
        return branches.flatMap((one) => [{ from: key, type: one.type }, ...slotsOf([one.then])])
      return type === 'contact_delete' ? [] : [{ from: key, type: 'default' }]
    }),
  )
}

/**
 * Moves a step to the slot before or after its own in reading order, which may be in or out of a branch. Returns null
 * if it can't move there. A step with branches can only move up, past a step without branches, which then becomes part
 * of its first branch.
 */
export function moveStep(graph: AutomationGraph, key: string, by: -1 | 1): AutomationGraph | null {
  const step = findStep(graph, key)
  if (!step || step.type === 'trigger') return null
  const own = slotsOf(buildFlows(graph)).find((slot) => getTarget(graph, slot) === key)
  if (!own) return null
  if (listResults(graph, step).length > 0) {
    const above = findStep(graph, own.from)!
    return by === 1 || listResults(graph, above).length > 0 ? null : moveStep(graph, above.key, 1)
  }
  const others = removeStep(graph, key)
  const slots = slotsOf(buildFlows(others))
  const at = slots.findIndex(({ from, type }) => from === own.from && type === own.type)
  if (at === -1) return null
  for (let next = at + by; next >= 0 && next < slots.length; next += by)
    if (canInsert(others, slots[next]!, step.type)) return insertStep(others, slots[next]!, step)
  return null
}

/** The step and the setting that an error of the API concerns. */
export interface StepRefusal {
  key: string
  /** The setting in `config`, such as `template.id`; `key` or empty if the error concerns the step itself. */
  field: string
  message: string
}

/** Finds the step that an API error concerns, such as `steps[1].config.duration`; null if there is none. */
export function findStepRefusal(refusal: string, graph: AutomationGraph): StepRefusal | null {
  const [, list, at, rest = ''] =
    /^(?:Invalid|Missing) `(steps|connections)\[(\d+)\](?:\.([^`]*))?`/.exec(refusal) ?? []
  if (list === undefined) return null
  const key = list === 'steps' ? graph.steps[Number(at)]?.key : graph.connections[Number(at)]?.from
  const field = list === 'steps' ? rest.replace(/^config\.?/, '') : ''
  return key === undefined ? null : { key, field, message: refusal }
}
