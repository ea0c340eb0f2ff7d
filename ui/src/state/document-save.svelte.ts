/** Saves a document while it is edited, without overwriting other people's changes. */
import { ApiError } from '../api/client.ts'

/** Time without a change before a document is saved, in milliseconds. */
const PAUSE = 800

export type SaveState = 'saved' | 'changed' | 'saving' | 'conflict' | 'failed'

export interface DocumentSave<T> {
  readonly state: SaveState
  /** The error of the last save; empty if it succeeded, or if the latest change can't be stored. */
  readonly refusal: string
  /** Records a change of the document. */
  changed(document: T): void
  /** Records that the latest change can't be stored, until the next valid change. */
  hold(): void
  /** Saves unsaved changes now. */
  flush(): Promise<void>
  /** Discards unsaved changes, to end a conflict. */
  drop(): void
}

/**
 * Creates an automatic save.
 * @param save rejects with the status 409 if another person has changed the document
 */
export function createDocumentSave<T>(save: (document: T) => Promise<void>): DocumentSave<T> {
  let state = $state<SaveState>('saved')
  let refusal = $state('')
  let held = $state(false)
  let waiting: T | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let going: Promise<void> | undefined

  async function write(): Promise<void> {
    while (waiting !== undefined && state !== 'conflict') {
      const document = waiting
      waiting = undefined
      state = 'saving'
      try {
        await save(document)
        state = 'saved'
        refusal = ''
      } catch (error) {
        waiting ??= document
        refusal = error instanceof Error ? error.message : String(error)
        state = error instanceof ApiError && error.status === 409 ? 'conflict' : 'failed'
        return
      }
    }
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    going ??= write().finally(() => (going = undefined))
    return going
  }
  return {
    get state() {
      return held && state !== 'conflict' ? 'failed' : state
    },
    get refusal() {
      return held ? '' : refusal
    },
    changed(document) {
      held = false
      waiting = document
      if (state === 'conflict') return
      if (state !== 'saving') state = 'changed'
      clearTimeout(timer)
      timer = setTimeout(() => void flush(), PAUSE)
    },
    hold() {
      held = true
    },
    flush,
    drop() {
      held = false
      clearTimeout(timer)
      waiting = undefined
      state = 'saved'
    },
  }
}
