import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { faintTexts, namelessControls, sidewaysScroll, still } from './browser.ts'

/** Shows the page wide and narrow, light and dark, and calls `look` each time. Then restores it. */
async function inEachLook(page: Page, look: (which: string) => Promise<void>): Promise<void> {
  for (const width of [1440, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      await still(page)
      await look(`${width}-${colorScheme}`)
    }
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Takes screenshots of the page if `SCREENSHOTS` names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  await inEachLook(page, async (which) => {
    await page.screenshot({ path: join(folder, `${name}-${which}.png`), fullPage: true })
  })
}

/** Checks what must hold for every page, on phones too, and takes its screenshots. */
export async function sound(page: Page, name: string): Promise<void> {
  await picture(page, name)
  await inEachLook(page, async (which) => {
    const seen = { faint: await faintTexts(page), sideways: await sidewaysScroll(page) }
    expect({ page: name, which, ...seen }).toEqual({ page: name, which, faint: [], sideways: 0 })
  })
  expect({ page: name, nameless: await namelessControls(page) }).toEqual({ page: name, nameless: [] })
}
