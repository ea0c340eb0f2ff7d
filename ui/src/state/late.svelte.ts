import { toast } from './toasts.svelte.ts'

/** A component that is loaded on demand, for features that few people open. */
export interface LazyComponent<Part> {
  /** The component; undefined until it is loaded. */
  readonly part: Part | undefined
  /** Loads the component, unless it is loaded or loading. */
  readonly fetch: () => void
}

/**
 * Creates a component that loads on demand.
 * @param load imports the component
 */
export function createLazyComponent<Part>(load: () => Promise<{ default: Part }>): LazyComponent<Part> {
  let part = $state.raw<Part>()
  let loading = false
  return {
    get part() {
      return part
    },
    fetch() {
      if (part !== undefined || loading) return
      loading = true
      load().then(
        ({ default: made }) => (part = made),
        () => {
          loading = false
          toast('Couldn’t load this part of the page. Reload the page.')
        },
      )
    },
  }
}
