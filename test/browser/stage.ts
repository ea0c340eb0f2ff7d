import type { Browser, Page } from 'playwright-core'
import type { TestAppliance } from '../world/appliance.ts'

/** Shared by the tests of pages: one appliance, one browser, one signed-in page. Use it only while a test runs. */
export interface Stage {
  readonly posthaste: TestAppliance
  readonly browser: Browser
  readonly page: Page
  /** Returns the full URL of a dashboard path. */
  readonly at: (path: string) => string
  /** Returns the list row that links to `id`. */
  readonly row: (id: string) => ReturnType<Page['locator']>
}
