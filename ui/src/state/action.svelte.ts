/** A user action that may fail, such as submitting a form or clicking a button. */
export interface Action<A extends unknown[]> {
  /** Whether the action is running. Calls of `run` do nothing meanwhile. */
  readonly busy: boolean
  /** The server's error for the last run; empty if it succeeded. */
  readonly refusal: string
  /** Runs the action. Resolves to whether it succeeded. */
  run(...args: A): Promise<boolean>
  /** Clears the last error, when the form is shown again. */
  reset(): void
}

/** Wraps `act` so that only one call runs at a time, and its error becomes a message. */
export function action<A extends unknown[]>(act: (...args: A) => Promise<unknown>): Action<A> {
  let busy = $state(false)
  let refusal = $state('')
  return {
    get busy() {
      return busy
    },
    get refusal() {
      return refusal
    },
    async run(...args) {
      if (busy) return false
      busy = true
      refusal = ''
      try {
        await act(...args)
        return true
      } catch (error) {
        refusal = error instanceof Error ? error.message : String(error)
        return false
      } finally {
        busy = false
      }
    },
    reset() {
      refusal = ''
    },
  }
}
