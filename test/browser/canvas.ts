import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Helpers for tests that write in the document editor. */

export const canvas = (page: Page) => page.getByRole('textbox', { name: 'Content', exact: true })

/** Reports whether the caret is after all editable text, once the editor has processed the selection. */
const CARET_AT_END = `new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => {
  const { focusNode, focusOffset, isCollapsed } = getSelection()
  const canvas = document.activeElement
  if (!isCollapsed || !canvas.contains(focusNode)) return done(false)
  const rest = document.createRange()
  rest.selectNodeContents(canvas)
  rest.setStart(focusNode, focusOffset)
  const after = rest.cloneContents()
  for (const fixed of after.querySelectorAll('[contenteditable=false]')) fixed.remove()
  done(after.textContent === '')
})), 20))`

/**
 * Puts the caret after all text. ProseMirror sets its own selection 20 ms after it gets the focus, and sees the browser's
 * selection in the next frame.
 */
export async function caretToEnd(page: Page): Promise<void> {
  await canvas(page).focus()
  await page.evaluate(CARET_AT_END)
  const there = async () => {
    await page.keyboard.press('Control+End')
    return page.evaluate(CARET_AT_END)
  }
  await expect.poll(there).toBe(true)
}
