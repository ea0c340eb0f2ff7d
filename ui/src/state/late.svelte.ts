import { toast } from './toasts.svelte.ts'

/** A part that is loaded when it is first wanted: what few people open costs the others nothing. */
export interface Late<Part> {
  /** Undefined until it is there. */
  readonly part: Part | undefined
  /** Loads it unless it is there or on its way. */
  readonly fetch: () => void
}

/** @param load the `import()` of the part */
export function late<Part>(load: () => Promise<{ default: Part }>): Late<Part> {
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
