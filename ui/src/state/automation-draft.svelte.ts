/**
 * The unsaved changes of an automation. They are kept after the person leaves the page, until they are saved or
 * discarded.
 */
import type { Static } from 'typebox'
import type { Automation } from '../../../appliance/api/automations.ts'
import type { AutomationGraph } from '../../../appliance/mail/automation.ts'
import { getAutomation, updateAutomation } from '../api/automations.ts'
import { ApiError } from '../api/client.ts'
import { findStep, type StepRefusal, findStepRefusal, expandDefaultConnections } from './automation-edit.ts'
import { onCacheClear } from './resource.svelte.ts'

type Saved = Static<typeof Automation>

/** HTTP status returned if another person has changed the steps (RFC 9110 §15.5.10). */
const CONFLICT = 409

// Returns the graph of a saved automation. The server has validated the settings of each step.
const graphOf = ({ steps, connections }: Saved): AutomationGraph =>
  expandDefaultConnections({ steps, connections } as AutomationGraph)

/** An automation in the editor. */
export class AutomationDraft {
  readonly id: string
  name = $state('')
  #graph = $state.raw<AutomationGraph>({ steps: [], connections: [] })
  /** The graphs before each change, oldest first. */
  #before = $state.raw<readonly AutomationGraph[]>([])
  #saved = $state.raw<{ name: string; graph: AutomationGraph; revision: string }>()!
  #refused = $state.raw<{ refusal: string; graph: AutomationGraph } | null>(null)
  #conflict = $state(false)

  constructor(saved: Saved) {
    this.id = saved.id
    this.#take(saved)
  }

  #take(saved: Saved): void {
    const graph = graphOf(saved)
    this.name = saved.name
    this.#graph = graph
    this.#before = []
    this.#saved = { name: saved.name, graph, revision: saved.revision }
    this.#conflict = false
    this.#refused = null
  }

  get graph() {
    return this.#graph
  }
  get changed() {
    return this.name !== this.#saved.name || this.#graph !== this.#saved.graph
  }
  get savedName() {
    return this.#saved.name
  }
  get undoable() {
    return this.#before.length > 0
  }
  /** Whether another person has changed the steps meanwhile. */
  get conflict() {
    return this.#conflict
  }
  /**
   * The server's error for the last save, and the step that it concerns; null if there is none. Kept until that step is
   * changed.
   */
  get refused(): { refusal: string; step: StepRefusal | null } | null {
    if (!this.#refused) return null
    const { refusal, graph } = this.#refused
    const step = findStepRefusal(refusal, graph)
    if (!step) return { refusal, step }
    const isUnchanged = findStep(graph, step.key) === findStep(this.#graph, step.key)
    return isUnchanged ? { refusal, step } : null
  }

  /** Replaces the steps; `undo` restores the previous ones. */
  apply(graph: AutomationGraph): void {
    if (graph === this.#graph) return
    this.#before = [...this.#before, this.#graph]
    this.#graph = graph
  }

  undo(): void {
    const before = this.#before.at(-1)
    if (!before) return
    this.#before = this.#before.slice(0, -1)
    this.#graph = before
  }

  /** Saves the changes. Resolves to whether they were saved; `refused` and `conflict` give the reason if not. */
  async save(): Promise<boolean> {
    const [name, graph] = [this.name.trim(), this.#graph]
    const { revision } = this.#saved
    this.#refused = null
    try {
      // The server validates the settings of the steps.
      const steps = graph.steps as unknown as Saved['steps']
      const saved = await updateAutomation(this.id, {
        name,
        steps,
        connections: graph.connections,
        revision,
      })
      this.#saved = { name, graph, revision: saved.revision }
      if (this.name.trim() === name) this.name = name
      return true
    } catch (error) {
      if (error instanceof ApiError && error.status === CONFLICT) this.#conflict = true
      else this.#refused = { refusal: error instanceof Error ? error.message : String(error), graph }
      return false
    }
  }

  /** Resolves a conflict by loading the other version or by saving this one. */
  async settle(keep: 'theirs' | 'mine'): Promise<boolean> {
    const theirs = await getAutomation(this.id)
    if (keep === 'theirs') {
      this.#take(theirs)
      return true
    }
    this.#saved = { name: theirs.name, graph: graphOf(theirs), revision: theirs.revision }
    this.#conflict = false
    return this.save()
  }

  /** Drops the changes. */
  discard(): void {
    const { name, graph } = this.#saved
    this.name = name
    this.#graph = graph
    this.#before = []
    this.#refused = null
  }
}

const kept = new Map<string, AutomationDraft>()
onCacheClear(() => kept.clear())

/** Returns the unsaved changes of an automation, or a draft without changes. */
export function getDraft(saved: Saved): AutomationDraft {
  const draft = kept.get(saved.id) ?? new AutomationDraft(saved)
  kept.set(saved.id, draft)
  return draft
}

/** Drops a draft without changes when the person leaves its page. Returns whether the draft has changes and is kept. */
export function discardUnchangedDraft(draft: AutomationDraft): boolean {
  if (!draft.changed) kept.delete(draft.id)
  return draft.changed
}
