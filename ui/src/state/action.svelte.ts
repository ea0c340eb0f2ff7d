/** Something that a person asked for and that may be refused: a form's submission, a button's press. */
export interface Action<A extends unknown[]> {
  /** Whether it is under way; a second press meanwhile does nothing. */
  readonly busy: boolean
  /** Why the last try was refused, in the appliance's words; empty when it was not. */
  readonly refusal: string
  /** Does it. Resolves to whether it succeeded. */
  run(...args: A): Promise<boolean>
  /** Forgets the last refusal, when its form is shown anew. */
  reset(): void
}

/** Watches over `act`: one at a time, and its failure becomes a sentence beside the button. */
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
