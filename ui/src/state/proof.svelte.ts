import type { Factors } from '../api/factors.ts'
import { action } from './action.svelte.ts'
import type { Resource } from './resource.svelte.ts'

/** What is done to an account only by its owner: it waits until that is shown, where it was not shown just now. */
export interface ProofFirst {
  /** The dialog is open: what somebody may show. */
  readonly asked: Factors | null
  /** Why it could not be asked; empty when it could. */
  readonly refusal: string
  /** Does `act`, at once or after the dialog. */
  run(act: () => void): void
  /** It is really they: what waited goes on. */
  proved(): void
  /** They did not show it: nothing is done. */
  cancel(): void
}

/** @param factors one's own, read anew each time: the appliance's clock decides how long a proof is good */
export function proofFirst(factors: Resource<Factors>): ProofFirst {
  let waiting = $state.raw<(() => void) | null>(null)
  const asking = action(async (act: () => void) => {
    await factors.refresh()
    if (factors.error !== null) throw new Error(factors.error)
    if (factors.data?.proved === false) waiting = act
    else act()
  })
  return {
    get asked() {
      return waiting === null ? null : (factors.data ?? null)
    },
    get refusal() {
      return asking.refusal
    },
    run: (act) => void asking.run(act),
    proved() {
      const act = waiting
      waiting = null
      act?.()
    },
    cancel() {
      waiting = null
    },
  }
}
