/** Arranges the steps of an automation as lists with branches. Pure. */
import {
  type AutomationGraph,
  type AutomationStep,
  type ConnectionType,
  findNextStep,
} from '../../../appliance/mail/automation.ts'

/** A sequence of steps. The last one may have branches. */
export interface Flow {
  steps: FlowStep[]
  /**
   * The key of the step that follows the last step and is shown in another flow. Null if the last step has branches, or
   * the run ends.
   */
  next: string | null
}

export interface FlowStep {
  step: AutomationStep
  branches: Branch[]
}

/** The steps that follow one of the results of a step. */
export interface Branch {
  type: ConnectionType
  then: Flow
}

/** Maximum nesting depth of branches. Deeper branches become separate flows, because phone screens are narrow. */
const MOST_DEPTH = 3

/**
 * Returns the results that have their own connections. A wait has none if its single `default` connection covers both
 * results.
 */
export function listResults(
  { connections }: AutomationGraph,
  { key, type }: AutomationStep,
): ConnectionType[] {
  if (type === 'condition') return ['condition_met', 'condition_not_met']
  if (type !== 'wait_for_event') return []
  const ways = connections.filter(({ from }) => from === key)
  return ways.length === 1 && ways[0]!.type === 'default' ? [] : ['event_received', 'timeout']
}

/** Arranges a graph: one flow for each trigger, then deeply nested branches. Each step is shown once. */
export function buildFlows(graph: AutomationGraph): Flow[] {
  const shown = new Set<string>()
  const starts = graph.steps.filter(({ type }) => type === 'trigger')

  const follow = (start: AutomationStep | undefined, depth: number): Flow => {
    const flow: Flow = { steps: [], next: null }
    if (start && depth > MOST_DEPTH && !shown.has(start.key)) {
      starts.push(start)
      return { ...flow, next: start.key }
    }
    for (let step = start; step; step = findNextStep(graph, step.key)) {
      const { key } = step
      if (shown.has(key)) return { ...flow, next: key }
      shown.add(key)
      const results = listResults(graph, step)
      const branches = results.map((type) => ({
        type,
        then: follow(findNextStep(graph, key, type), depth + 1),
      }))
      flow.steps.push({ step, branches })
      if (results.length > 0) return flow
    }
    return flow
  }

  const flows: Flow[] = []
  // Following a flow may add further starts.
  for (const start of starts) if (!shown.has(start.key)) flows.push(follow(start, 0))
  return flows
}
