import { afterFrame } from './frames.ts'
import { scrollToRestore } from './router.svelte.ts'

/** Minimum height of a row, in pixels. */
const LEAST = 32
/** Number of rows added per frame. */
const STEP = 30

/** A long list that renders its visible rows first, and adds all others frame by frame. */
export interface Growing<T> {
  readonly shown: readonly T[]
}

/**
 * Renders the rows of a list while the calling component exists: visible ones in the first frame, the others in later
 * ones.
 */
export function growing<T>(rows: () => readonly T[]): Growing<T> {
  let count = $state(Math.ceil((scrollToRestore() + innerHeight) / LEAST))
  $effect(() => (count < rows().length ? afterFrame(() => (count += STEP)) : undefined))
  return {
    get shown() {
      const all = rows()
      return count < all.length ? all.slice(0, count) : all
    },
  }
}
