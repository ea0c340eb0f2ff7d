import type { Step } from './steps.ts'

/**
 * Takes all steps of a long change (`holdQueue`, `place`, …), and returns how many deliveries it changed. Between two steps
 * others write; what was changed stays changed when a later step fails.
 */
export async function every(step: (after: string | undefined) => Promise<Step>): Promise<number> {
  let changed = 0
  let after: string | undefined
  for (;;) {
    const { count, next } = await step(after)
    changed += count
    if (next === null) return changed
    after = next
  }
}
