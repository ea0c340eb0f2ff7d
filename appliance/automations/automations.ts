/** The public module of automations that run. What commands need of them is in book.ts. */
import { type AutomationBook, type BookDeps, createAutomationBook } from './book.ts'
import { type AutomationRunnerDeps, createAutomationRunner } from './runner.ts'

export interface Automations extends AutomationBook {
  /** Looks for events and due steps now. */
  wake(): void
  /** Continues runs. Only for the daemon. */
  start(): void
  /** Stops after the current step. */
  close(): Promise<void>
}

/** Creates automations that run. */
export function createAutomations(deps: AutomationRunnerDeps & BookDeps): Automations {
  const runner = createAutomationRunner(deps)
  return {
    ...createAutomationBook(deps, () => runner.wake()),
    wake: () => runner.wake(),
    start: () => runner.start(),
    close: () => runner.stop(),
  }
}
