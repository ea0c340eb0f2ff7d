import { afterFrame } from './frames.ts'
import { returningTo } from './router.svelte.ts'

/** Pixels of the lowest rows. */
const LEAST = 32
/** Rows that are added in a frame. */
const STEP = 30

/** A long list that is drawn as far as it is in sight, and then row by row to its end. */
export interface Growing<T> {
  readonly shown: readonly T[]
}

/** The rows of a list for as long as the calling component lives: those in sight in the first frame, the others in the next ones. */
export function growing<T>(rows: () => readonly T[]): Growing<T> {
  let count = $state(Math.ceil((returningTo() + innerHeight) / LEAST))
  $effect(() => (count < rows().length ? afterFrame(() => (count += STEP)) : undefined))
  return {
    get shown() {
      const all = rows()
      return count < all.length ? all.slice(0, count) : all
    },
  }
}
