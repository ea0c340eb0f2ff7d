import { ApiError } from '../api/client.ts'
import { type Broadcast, getBroadcast, updateBroadcast } from '../api/broadcasts.ts'
import { getChanges, type DraftForm, countEdits, toDraftForm } from './draft-form.ts'

/** Time without a change before a draft is saved, in milliseconds. */
const PAUSE = 800
/** HTTP status returned if another person has changed the draft (RFC 9110 §15.5.10). */
const CONFLICT = 409

/**
 * The save state of a draft. `conflict`: another person has changed the draft, and nothing is saved until the conflict
 * is resolved.
 */
export type DraftSaveState = 'saved' | 'unsaved' | 'saving' | 'refused' | 'conflict'

/** A draft that is saved while it is edited. */
export interface Draft {
  readonly form: DraftForm
  readonly saved: DraftSaveState
  /** The error of the last save; empty if it succeeded. */
  readonly refusal: string
  /** The number of the last edit that was saved. */
  readonly edits: number
  /** Increases when the form is replaced by another person's version. */
  readonly taken: number
  /**
   * Records why the latest changes can't be stored in the form, such as blocks that are too large; empty if they can.
   */
  readonly report: (problem: string) => void
  /** Saves unsaved changes. Resolves to whether everything is saved. */
  flush(): Promise<boolean>
  /** Resolves a conflict with the other person's version or with the form. */
  settle(keep: 'theirs' | 'mine'): Promise<void>
}

/**
 * Saves the draft of `broadcast` automatically while the calling component exists.
 * @param locked whether saving is disabled
 */
export function createAutosavedDraft(
  broadcast: Broadcast,
  { locked, onsaved }: { locked: boolean; onsaved: () => void },
): Draft {
  const draft = new Autosave(broadcast, onsaved)
  if (locked) return draft
  $effect(() => {
    if (!draft.changed()) return
    const timer = setTimeout(() => void draft.flush(), PAUSE)
    return () => clearTimeout(timer)
  })
  $effect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (draft.saved !== 'saved') event.preventDefault()
    }
    addEventListener('beforeunload', ask)
    return () => {
      removeEventListener('beforeunload', ask)
      void draft.flush()
    }
  })
  return draft
}

class Autosave implements Draft {
  readonly #id: string
  form = $state<DraftForm>()!
  #stored = $state.raw<DraftForm>()!
  #edits = $state(0)
  taken = $state(0)
  #saving = $state.raw<Promise<boolean> | null>(null)
  #refusal = $state('')
  #conflict = $state(false)
  /** The rejected changes, so that they aren't sent again unless they are modified. */
  #refused = $state('')
  #problem = $state('')

  readonly #onsaved: () => void

  constructor(broadcast: Broadcast, onsaved: () => void) {
    this.#id = broadcast.id
    this.#onsaved = onsaved
    this.#take(broadcast)
  }

  #take(broadcast: Broadcast): void {
    this.form = toDraftForm(broadcast)
    this.#stored = toDraftForm(broadcast)
    this.#edits = broadcast.edits
    this.taken += 1
    this.#conflict = false
    this.#refusal = ''
    this.#problem = ''
  }

  readonly report = (problem: string): void => {
    this.#problem = problem
  }

  get edits() {
    return this.#edits
  }
  get refusal() {
    return this.#problem || this.#refusal
  }
  get saved(): DraftSaveState {
    if (this.#conflict) return 'conflict'
    if (this.#saving) return 'saving'
    if (this.#problem !== '') return 'refused'
    const changes = this.#changes()
    if (changes === null) return 'saved'
    return JSON.stringify(changes) === this.#refused ? 'refused' : 'unsaved'
  }

  #changes = () => getChanges($state.snapshot(this.form), this.#stored)

  /** Whether there are unsaved changes that weren't already rejected. Depends on every field of the form. */
  changed(): boolean {
    const changes = this.#changes()
    return changes !== null && !this.#conflict && JSON.stringify(changes) !== this.#refused
  }

  async flush(): Promise<boolean> {
    // Edits that are made during a save are saved after it.
    while (this.#saving) await this.#saving
    if (this.#conflict) return false
    const changes = this.#changes()
    if (changes === null) return this.#problem === ''
    this.#saving = this.#save(changes, $state.snapshot(this.form))
    const done = await this.#saving
    return done && this.#changes() === null && this.#problem === ''
  }

  async #save(changes: ReturnType<typeof getChanges> & object, form: DraftForm): Promise<boolean> {
    try {
      await updateBroadcast(this.#id, { ...changes, edits: this.#edits })
      this.#stored = form
      this.#edits += countEdits(changes)
      this.#refusal = ''
      this.#refused = ''
      this.#onsaved()
      return true
    } catch (error) {
      this.#refusal = error instanceof Error ? error.message : String(error)
      if (error instanceof ApiError && error.status === CONFLICT) this.#conflict = true
      else this.#refused = JSON.stringify(changes)
      return false
    } finally {
      this.#saving = null
    }
  }

  async settle(keep: 'theirs' | 'mine'): Promise<void> {
    const theirs = await getBroadcast(this.#id)
    if (keep === 'theirs') return this.#take(theirs)
    this.#stored = toDraftForm(theirs)
    this.#edits = theirs.edits
    this.#conflict = false
    await this.flush()
  }
}
