import { go, getLinkPath } from './router.svelte.ts'

/**
 * Keyboard shortcuts that `?` lists. They are defined beside the code that handles them, so that the list stays
 * correct.
 */
export const KEY_HELP: readonly [keys: string, does: string][] = [
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row, if the list allows it'],
  ['Shift X', 'Select all rows from the last selected one to this one'],
  ['Esc', 'Close, or go back to the list'],
  ['/', 'Search this page, or everything'],
  ['Ctrl K', 'Find a page, email, domain, webhook or key (⌘ K)'],
  ['n', 'New broadcast, in the list of broadcasts'],
  ['e', 'Edit the broadcast of the row'],
  ['Backspace', 'Delete the broadcast of the row, after a confirmation'],
  ['?', 'Show this list'],
]

type Commands = Record<string, () => unknown>
const layers: Commands[] = []

/** Adds commands while the calling component exists. The newest layer takes precedence. */
export function addCommands(layer: Commands): void {
  $effect(() => {
    layers.push(layer)
    return () => void layers.splice(layers.indexOf(layer), 1)
  })
}

/**
 * Moves the focus by `step` rows; the browser handles Enter on a row. If a row is open beside the list, opens the next
 * row instead.
 */
export function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const focused = document.activeElement
  const open = rows.findIndex((row) => row.getAttribute('aria-current') === 'true')
  const own = rows.findIndex((row) => row === focused || row.closest('tr')?.contains(focused))
  const at = own === -1 ? open : own
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step
  const row = rows[Math.min(Math.max(next, 0), rows.length - 1)]
  row?.focus({ preventScroll: true })
  row?.closest('tr')?.scrollIntoView({ block: 'nearest' })
  const to = open === -1 || !row ? null : getLinkPath(row)
  if (to !== null) go(to, { replace: true })
}

/** Returns the `data-row` of the row that has the focus; undefined if none has. */
export function getFocusedRow(): string | undefined {
  const focused = document.activeElement
  const row = [...document.querySelectorAll<HTMLElement>('main [data-row]')].find(
    (one) => one === focused || one.closest('tr')?.contains(focused),
  )
  return row?.dataset.row
}

const typing = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'

/** Focuses the page's search field. Returns whether there is one. */
export function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main [data-search]')
  field?.select()
  return field !== null
}

/** Calls `act` on Ctrl K and ⌘ K, unless a dialog is open. */
export function onPaletteKey(act: () => void): void {
  $effect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (
        event.key.toLowerCase() !== 'k' ||
        event.ctrlKey === event.metaKey ||
        event.altKey ||
        event.shiftKey
      )
        return
      event.preventDefault()
      if (!document.querySelector('dialog[open]')) act()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  })
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
  if (event.target instanceof Element && event.target.closest(typing)) return
  // Checks for an open dialog, because the focus may be outside it after the focused element was removed.
  if (document.querySelector('dialog[open]')) return
  const command = layers.findLast((layer) => event.key in layer)?.[event.key]
  if (!command) return
  event.preventDefault()
  command()
})
