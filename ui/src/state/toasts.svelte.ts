import { NOTE_OFFERED, NOTE_SHOWN } from './moments.ts'

/** Short notes on what was done, where the thing it was done to is no longer on the page to show it. */
export interface Toast {
  id: number
  text: string
  /** What can still be done about it: a button. */
  offer: Offer | null
}

/** A button of a note, while it is shown. */
export interface Offer {
  words: string
  act: () => void
}

let last = 0
let shown = $state.raw<readonly Toast[]>([])

export const toasts = {
  get all(): readonly Toast[] {
    return shown
  },
}

export const dismiss = (id: number): void => void (shown = shown.filter((toast) => toast.id !== id))

/** Shows `text` for a few seconds, with a button for ten where something is offered; screen readers speak it. */
export function toast(text: string, offer: Offer | null = null): void {
  const id = ++last
  shown = [...shown.slice(-2), { id, text, offer }]
  setTimeout(() => dismiss(id), offer ? NOTE_OFFERED : NOTE_SHOWN)
}
