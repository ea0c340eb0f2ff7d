import { ApiError } from '../api/client.ts'
import { type Broadcast, getBroadcast, updateBroadcast } from '../api/broadcasts.ts'
import { changesOf, type DraftForm, editsOf, formOf } from './draft-form.ts'

/** Milliseconds without a change before the draft is stored. */
const PAUSE = 800
/** HTTP status of a draft that somebody else has changed (RFC 9110 §15.5.10). */
const CONFLICT = 409

/** How a draft stands to what is stored. `conflict`: somebody else has changed it; nothing is stored until that is settled. */
export type Saved = 'saved' | 'unsaved' | 'saving' | 'refused' | 'conflict'

/** A draft that is stored while it is edited. */
export interface Draft {
  readonly form: DraftForm
  readonly saved: Saved
  /** Why it was not stored; empty: it was. */
  readonly refusal: string
  /** The edit of the broadcast that is stored. */
  readonly edits: number
  /** Raised when the form is replaced by what somebody else has stored. */
  readonly taken: number
  /** Stores what is not stored yet. Resolves to whether all is. */
  flush(): Promise<boolean>
  /** Ends a conflict: with what somebody else stored, or with what is in the form. */
  settle(keep: 'theirs' | 'mine'): Promise<void>
}

/** Keeps the draft of `broadcast` stored for as long as the calling component lives. @param locked stores nothing */
export function autosaved(
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
  /** What was refused, so that it is not sent again unchanged. */
  #refused = $state('')

  readonly #onsaved: () => void

  constructor(broadcast: Broadcast, onsaved: () => void) {
    this.#id = broadcast.id
    this.#onsaved = onsaved
    this.#take(broadcast)
  }

  #take(broadcast: Broadcast): void {
    this.form = formOf(broadcast)
    this.#stored = formOf(broadcast)
    this.#edits = broadcast.edits
    this.taken += 1
    this.#conflict = false
    this.#refusal = ''
  }

  get edits() {
    return this.#edits
  }
  get refusal() {
    return this.#refusal
  }
  get saved(): Saved {
    if (this.#conflict) return 'conflict'
    if (this.#saving) return 'saving'
    const changes = this.#changes()
    if (changes === null) return 'saved'
    return JSON.stringify(changes) === this.#refused ? 'refused' : 'unsaved'
  }

  #changes = () => changesOf($state.snapshot(this.form), this.#stored)

  /** Whether there is something to store, that was not refused already. Follows each change of the form. */
  changed(): boolean {
    const changes = this.#changes()
    return changes !== null && !this.#conflict && JSON.stringify(changes) !== this.#refused
  }

  async flush(): Promise<boolean> {
    // What is typed while a part is being stored is stored after it.
    while (this.#saving) await this.#saving
    if (this.#conflict) return false
    const changes = this.#changes()
    if (changes === null) return true
    this.#saving = this.#save(changes, $state.snapshot(this.form))
    const done = await this.#saving
    return done && this.#changes() === null
  }

  async #save(changes: ReturnType<typeof changesOf> & object, form: DraftForm): Promise<boolean> {
    try {
      await updateBroadcast(this.#id, { ...changes, edits: this.#edits })
      this.#stored = form
      this.#edits += editsOf(changes)
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
    this.#stored = formOf(theirs)
    this.#edits = theirs.edits
    this.#conflict = false
    await this.flush()
  }
}
