/** Short notes on what was done, where the thing it was done to is no longer on the page to show it. */
export interface Toast {
  id: number
  text: string
}

/** Long enough to read two short sentences, in milliseconds. */
const SHOWN = 6000

let last = 0
let shown = $state.raw<readonly Toast[]>([])

export const toasts = {
  get all(): readonly Toast[] {
    return shown
  },
}

export const dismiss = (id: number): void => void (shown = shown.filter((toast) => toast.id !== id))

/** Shows `text` for a few seconds; screen readers speak it. */
export function toast(text: string): void {
  const id = ++last
  shown = [...shown.slice(-2), { id, text }]
  setTimeout(() => dismiss(id), SHOWN)
}
