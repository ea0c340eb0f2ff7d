import { runAfterNextFrame } from './frames.ts'
import { scrollToRestore } from './router.svelte.ts'

/** Minimum height of a row, in pixels. */
const LEAST = 32
/** Number of rows added per frame. */
const STEP = 30

/** The rows to render of a long list: the visible ones first, then all others frame by frame. */
export interface IncrementalList<T> {
  readonly shown: readonly T[]
}

/**
 * Renders the rows of a list while the calling component exists: visible ones in the first frame, the others in later
 * ones.
 */
export function createIncrementalList<T>(rows: () => readonly T[]): IncrementalList<T> {
  let count = $state(Math.ceil((scrollToRestore() + innerHeight) / LEAST))
  $effect(() => (count < rows().length ? runAfterNextFrame(() => (count += STEP)) : undefined))
  return {
    get shown() {
      const all = rows()
      return count < all.length ? all.slice(0, count) : all
    },
  }
}
