import { TOAST_WITH_BUTTON_MS, TOAST_MS } from './durations.ts'

/** A short notification about an action whose object is no longer on the page. */
export interface Toast {
  id: number
  text: string
  /** A button for a follow-up action, such as undo. */
  offer: ToastButton | null
}

/** A button of a notification. */
export interface ToastButton {
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

/** Shows `text` for a few seconds, or ten with a button. Screen readers announce it. */
export function toast(text: string, offer: ToastButton | null = null): void {
  const id = ++last
  shown = [...shown.slice(-2), { id, text, offer }]
  setTimeout(() => dismiss(id), offer ? TOAST_WITH_BUTTON_MS : TOAST_MS)
}
